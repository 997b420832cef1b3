"""Builds statements from operations. A value that is used once becomes part of its user's
expression.

The expression is pending until its user comes. It becomes a statement of its own

- if another line of the user's source begins,
- if an effect or a block comes between,
- or if the user's line would get too long or too deep.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cache, cached_property, partial
from string import Formatter
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.emit.statements.loops import build_loop
from autodiff_compiler.emit.statements.merge_tapes import mergeable_tapes
from autodiff_compiler.emit.statements.nodes import (
    Assign,
    Block,
    Branch,
    ParallelAssign,
    Return,
    SimpleStatement,
    Statement,
    TemplateLines,
    name_of,
    rename_values,
    value_in,
    with_local_names,
)
from autodiff_compiler.emit.statements.use_counts import count_uses
from autodiff_compiler.emit.text.expressions import print_expression
from autodiff_compiler.emit.text.literals import literal
from autodiff_compiler.emit.text.templates import fill, fill_statements
from autodiff_compiler.errors import InternalError
from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.ir.aliasing import destination_of
from autodiff_compiler.ir.effects import end_of
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.types import TupleType
from autodiff_compiler.operators.core.declare import as_fraction
from autodiff_compiler.span import NOWHERE, Span

DISPLAYS = ("make_tuple", "make_dict", "undefined")
#: Parameters that are unpacked at once, by the operation that takes an item of each.
OPENERS = {"residuals": "item", "work": "work_buffer"}
COST_FREE_NODES = (
    ast.Tuple,
    ast.Dict,
    ast.Name,
    ast.Constant,
    ast.UnaryOp,
    ast.unaryop,
    ast.expr_context,
)


@dataclass
class PendingExpression:
    """An expression that its user has not taken yet."""

    op: Op
    tree: ast.expr
    depth: int

    @cached_property
    def width(self) -> int:
        return len(
            print_expression(rename_values(self.tree, lambda name: getattr(name, "name", name)))
        )

    @cached_property
    def has_no_cost(self) -> bool:
        """True if it computes nothing, so that it may be evaluated anywhere."""
        return self.op.name in DISPLAYS and all(
            isinstance(node, COST_FREE_NODES) for node in nodes_in(self.tree)
        )

    def statement(self, target: Value) -> Statement:
        return Assign((target,), self.tree, span=self.op.span, role=self.op.role)


class StatementBuilder:
    """Builds the statements of one function.

    alias       from a value to the one that stands for its variable: a loop's carry and its
                result are one variable.
    into_moves  values that may be computed inside the copy at the end of their region.
    movable     values that could be, if their variables cannot be coalesced.
    pending     the expressions that no user has taken yet.
    by_line     those that compute something, by the user's line that they were made from.
    skipped     the operations that are not printed.
    """

    def __init__(self, function: Function, into_moves: Set[Value] = frozenset()):
        self.function = function
        self.uses = count_uses(function.body)
        self.into_moves = into_moves
        self.movable: set[Value] = set()
        self.alias: dict[Value, Value] = {}
        self.pending: dict[Value, PendingExpression] = {}
        self.by_line: dict[tuple[str, int], dict[Value, PendingExpression]] = {}
        self.tapes = mergeable_tapes(function.body, self.uses)
        self.alias.update(self.tapes.merged_into)
        self.skipped: set[Op] = set(self.tapes.ops)
        self.out: Block = []

    def build(self) -> Block:
        """Returns the statements of the whole function."""
        body = self.function.body
        self.open_residuals(body)
        self.ops(body)
        used = [self.pending[value].op for value in body.yields if value in self.pending]
        plain = [op for op in used if op.name not in DISPLAYS]
        values = tuple(self.operand(operand) for operand in body.yields)
        self.flush()
        shown = plain[0] if plain else None
        if end_of(body) is None:
            self.emit(Return(values), shown)
        return self.out

    # Regions

    def nested_block(self, work: Callable[[], None]) -> Block:
        """Returns the statements that ``work`` emits, as a block of their own."""
        outer, self.out = self.out, []
        work()
        inner, self.out = self.out, outer
        return inner

    def ops(self, region: Region) -> None:
        for op in region.ops:
            if op not in self.skipped:
                self.op(op, region)

    def op(self, op: Op, region: Region) -> None:
        self.flush_others(op.span)
        if op.name == "if":
            self.branch(op)
        elif op.name in ("for", "while"):
            build_loop(self, Loop(op))
        elif op.name == "call":
            self.call(op)
        elif op.opdef.kind == "control":
            raise InternalError(f"emit: the operation {op.name} has no text")
        else:
            self.compute(op, region)

    # Plain operations

    def compute(self, op: Op, region: Region) -> None:
        """Emits an operator with a template, or leaves its expression pending."""
        if op.name == "after_write":
            self.materialize(op.operands[1:])
            self.alias[op.result] = self.variable_of(op.value_operand(1))
            return
        if op.name == "require" and op.operands[0] not in self.pending:
            return  # it is a statement already
        template = op.opdef.template(op.types, op.attrs)
        if op.opdef.effect or destination_of(op) is not None:
            self.flush(set(op.operands))
        if not op.results:
            slots, _ = self.slots(op, template)
            self.emit_template(op, template, slots)
            return
        if op.attrs.get("in_place"):
            self.change_in_place(op, template)
            return
        if "{out}" in template:
            slots, _ = self.slots(op, template)
            self.emit_template(op, template, slots | {"out": name_of(self.variable_of(op.result))})
            return
        slots, depth = self.slots(op, template)
        tree = fill(template, slots)
        if op.name == "compute_into" and not self.uses.count[op.result]:
            self.emit(SimpleStatement(ast.Expr(tree)), op)
        elif self.can_defer(op, region):
            self.defer(op.result, PendingExpression(op, tree, depth + 1))
        else:
            self.emit(Assign(self.targets(op), tree), op)

    def change_in_place(self, op: Op, template: str) -> None:
        """Emits the update of a list in place, after all pending expressions: they may read the
        list."""
        slots, _ = self.slots(op, template)
        self.flush()
        out, before = self.variable_of(op.result), slots[op.opdef.operands[0]]
        self.emit(ParallelAssign(((out, before),), "yield"), op)
        old = value_in(before)  # from here on a second name of the list
        slots = {
            k: rename_values(s, lambda name: out if name is old else name) for k, s in slots.items()
        }
        self.emit_template(op, template, slots | {"out": name_of(out)})

    def emit_template(self, op: Op, template: str, slots: Mapping[str, ast.expr]) -> None:
        """Emits the statements of a template."""
        self.emit(TemplateLines(with_local_names(fill_statements(template, slots))), op)

    def can_defer(self, op: Op, region: Region) -> bool:
        """True if the result of ``op`` can be computed inside its user's expression."""
        if op.opdef.effect or destination_of(op) is not None or len(op.results) != 1:
            return False
        value = op.result
        if op.name == "undefined":
            return True
        if (
            not self.uses.only_in(value, region)
            or value.has_user_name
            and value.name != "residuals"
        ):
            return False
        if value in self.uses.moved:
            self.movable.add(value)
            return value in self.into_moves
        return True

    def slots(self, op: Op, template: str) -> tuple[dict[str, ast.expr], int]:
        """Returns the trees for the slots of a template, and how deep they are nested."""
        if op.name not in DISPLAYS:
            self.split_long_expression(op, template)
        depth = max((self.pending[o].depth for o in op.operands if o in self.pending), default=0)
        slots: dict[str, ast.expr] = {}
        for position, operand in enumerate(op.operands):
            tree = self.operand(operand)
            slots[str(position)] = slots[op.opdef.operand_name(position)] = tree
        wanted = _fields(template).keys() - {"out"}
        slots.update((key, literal(op.attrs[key])) for key in wanted - slots.keys())
        return slots, 0 if op.name in DISPLAYS else depth

    def split_long_expression(self, op: Op, template: str) -> None:
        """Emits pending operands as statements until the rest of the line is readable."""
        inner = {o: self.pending[o] for o in op.operands if o in self.pending}
        inner = {value: w for value, w in inner.items() if w.op.name not in DISPLAYS}
        if not inner:
            return
        written = _fields(template)
        first: dict[AnyOperand, int] = {}
        for position, operand in enumerate(op.operands):
            if isinstance(operand, Value):
                first.setdefault(operand, position)
        # Inside a comprehension an operand is computed repeatedly, as is one that is written twice.
        repeated = {
            value
            for value in inner
            if "for " in template or sum(written[slot] for slot in _slots(op, first[value])) != 1
        }
        width = max(map(len, template.splitlines())) + sum(w.width for w in inner.values())
        too_deep = sum(w.depth >= costs().expression_levels for w in inner.values())
        to_split = len(repeated)

        def badness(value: Value) -> tuple[bool, int, int]:
            return value in repeated, inner[value].width, inner[value].depth

        for worst in sorted(inner, key=badness, reverse=True):
            if not (to_split or width > costs().expression_characters or too_deep):
                return
            to_split -= worst in repeated
            width -= inner[worst].width
            too_deep -= inner[worst].depth >= costs().expression_levels
            self.emit_pending(worst)

    # Operands and statements

    def variable_of(self, value: Value) -> Value:
        """Returns the value that stands for ``value``'s variable."""
        return self.alias.get(value, value)

    def operand(self, operand: AnyOperand) -> ast.expr:
        """Returns the tree of an operand. If its expression is pending, takes it."""
        if not isinstance(operand, Value):
            return number(operand)
        expression = self.pending.get(operand)
        if expression is None:
            return name_of(self.variable_of(operand))
        if expression.op.name != "undefined":
            self.take_pending(operand)
        return expression.tree

    def targets(self, op: Op) -> tuple[Value | None, ...]:
        """Returns the variables of an operation's results. The only result has one even if it is
        unused."""
        if len(op.results) == 1:
            return (self.variable_of(op.result),)
        return tuple(self.variable_of(r) if self.uses.count[r] else None for r in op.results)

    def emit(self, statement: Statement, op: Op | None = None) -> None:
        if op is not None:
            statement.span, statement.role = op.span, op.role
        self.out.append(statement)

    # Pending expressions

    def defer(self, value: Value, pending: PendingExpression) -> None:
        """Leaves an expression pending for its user."""
        self.pending[value] = pending
        if not pending.has_no_cost:
            self.by_line.setdefault(_line(pending.op.span), {})[value] = pending

    def take_pending(self, value: Value) -> PendingExpression:
        """Returns the expression of ``value``, which is no longer pending."""
        pending = self.pending.pop(value)
        line = _line(pending.op.span)
        if not pending.has_no_cost:
            del self.by_line[line][value]
            if not self.by_line[line]:
                del self.by_line[line]
        return pending

    def emit_pending(self, value: Value) -> None:
        """Emits the pending expression of ``value`` as a statement."""
        self.out.append(self.take_pending(value).statement(self.variable_of(value)))

    def flush(self, but: Set[AnyOperand] = frozenset()) -> None:
        """Emits all pending expressions but those in ``but``, in the order of creation.

        A tuple or dict display of names alone may stay pending.
        """
        if self.by_line:
            for value, pending in list(self.pending.items()):
                if not pending.has_no_cost and value not in but:
                    self.emit_pending(value)

    def flush_others(self, span: Span) -> None:
        """Emits the pending expressions that were made from other lines than that of ``span``."""
        line = _line(span)
        if self.by_line.keys() - {line}:
            self.flush(self.by_line.get(line, {}).keys())

    def materialize(self, operands: Iterable[AnyOperand]) -> None:
        """Emits those of ``operands`` that are pending, displays too."""
        for operand in operands:
            pending = self.pending.get(operand) if isinstance(operand, Value) else None
            if pending is not None and pending.op.name != "undefined":
                assert isinstance(operand, Value)
                self.emit_pending(operand)

    # Calls, branches, residuals

    def call(self, op: Op) -> None:
        """Emits ``out, residuals = dense_forward(x, w)``."""
        name: ast.expr = ast.Name(op.attrs["callee"].name, ast.Load())
        arguments = [self.operand(operand) for operand in op.operands]
        self.flush()
        tree = ast.Call(name, arguments, [])
        self.emit(
            Assign(self.targets(op), tree) if op.results else SimpleStatement(ast.Expr(tree)), op
        )

    def branch(self, op: Op) -> None:
        """Emits an ``if``. Unused results are not assigned."""
        test = self.operand(op.operands[0])
        self.flush()
        then, orelse = (self.nested_block(partial(self.arm, op, region)) for region in op.regions)
        self.emit(Branch(test, then, orelse), op)

    def arm(self, op: Op, region: Region) -> None:
        self.ops(region)
        live = [
            (self.variable_of(result), operand)
            for result, operand in zip(op.results, region.yields)
            if self.uses.count[result]
        ]
        self.assign_together(live, "branch")

    def assign_together(
        self, pairs: Iterable[tuple[Value, AnyOperand]], kind: str, span: Span = NOWHERE
    ) -> None:
        """Emits assignments at the same time. The next line shows the user's line of ``span``."""
        listed = list(pairs)
        shown = [self.pending[o].op for _, o in listed if o in self.pending]
        shown = [op for op in shown if _line(op.span) != _line(span)]
        trees = tuple((target, self.operand(operand)) for target, operand in listed)
        self.flush()
        if trees:
            self.emit(
                ParallelAssign(trees, kind), next((op for op in shown if op.span != NOWHERE), None)
            )

    def open_residuals(self, body: Region) -> None:
        """Emits ``x, x_1, y = residuals`` in place of an ``item`` for each; likewise for work
        buffers."""
        for param in body.params:
            opener = OPENERS.get(param.name)
            if opener is None or not isinstance(param.type, TupleType):
                continue
            targets: list[Value | None] = [None] * len(param.type.items)
            for op in body.ops:
                opens = op.name == opener and op.operands[0] is param
                if opens and targets[op.attrs["key"]] is None:
                    targets[op.attrs["key"]] = op.result
                    self.skipped.add(op)
            if any(target is not None for target in targets):
                self.emit(Assign(tuple(targets), name_of(param), unpacks=True))


def number(value: Any) -> ast.expr:
    """Returns the tree of a literal; a float with many digits as a quotient, if it is one."""
    fraction = as_fraction(value)
    if fraction is None:
        return literal(value)
    return ast.BinOp(literal(fraction[0]), ast.Div(), literal(fraction[1]))


def _line(span: Span) -> tuple[str, int]:
    return span.file, span.line


def _slots(op: Op, position: int) -> set[str]:
    """Returns the names that an operand may have in a template."""
    return {str(position), op.opdef.operand_name(position)}


@cache
def _fields(template: str) -> Counter[str]:
    """Counts the uses of each slot of a template."""
    return Counter(name for _, name, _, _ in Formatter().parse(template) if name is not None)
