"""Operations become statements; what is used once is written inside the expression that uses it.

Such an expression waits until its user comes. It stops waiting, and becomes a statement of its
own, when another line of the user's source begins, when something with an effect or a block comes
between, or when the user's line would get too long or too deep to read.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from functools import cache, cached_property, partial
from string import Formatter
from typing import cast

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
from autodiff_compiler.emit.text.templates import fill, fill_statements, with_constants
from autodiff_compiler.errors import InternalError
from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.ir.aliasing import destination_of
from autodiff_compiler.ir.effects import end_of
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.types import TupleType
from autodiff_compiler.span import NOWHERE, Span

DISPLAYS = ("make_tuple", "make_dict", "undefined")
#: Parameters that are opened at once, and the operation that takes an item of each.
OPENERS = {"residuals": "item", "work": "lent"}
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
    """An expression on its way to its user."""

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
        """Whether it computes nothing, so that its place does not matter."""
        return self.op.name in DISPLAYS and all(
            isinstance(node, COST_FREE_NODES) for node in nodes_in(self.tree)
        )

    def statement(self, target: Value) -> Statement:
        return Assign((target,), self.tree, span=self.op.span, role=self.op.role)


class StatementBuilder:
    """Makes the statements of one function.

    ``alias`` maps the values that are one variable by their nature (a loop's carry and its result)
    to the one that stands for them. ``into_moves`` are values that may be written inside the
    assignment that hands them on at the end of a region.
    """

    def __init__(self, function: Function, into_moves: Set[Value] = frozenset()):
        self.function = function
        self.uses = count_uses(function.body)
        self.into_moves = into_moves
        self.movable: set[Value] = set()
        self.alias: dict[Value, Value] = {}
        self.pending: dict[Value, PendingExpression] = {}
        #: Those that do not wait for ever, by the line of the user's that they are about.
        self.by_line: dict[tuple[str, int], dict[Value, PendingExpression]] = {}
        self.tapes = mergeable_tapes(function.body, self.uses)
        self.alias.update(self.tapes.merged_into)
        self.skipped: set[Op] = set(self.tapes.ops)
        self.out: Block = []

    def build(self) -> Block:
        """The statements of the whole function."""
        body = self.function.body
        self.open_residuals(body)
        self.ops(body)
        used = [self.pending[value].op for value in body.yields if value in self.pending]
        plain = [op for op in used if op.name not in DISPLAYS]
        values = tuple(self.operand(operand) for operand in body.yields)
        self.flush()
        about = plain[0] if plain else None
        if end_of(body) is None:
            self.emit(Return(values), about)
        return self.out

    # Regions

    def nested_block(self, work: Callable[[], None]) -> Block:
        """The statements that ``work`` emits, in a block of their own."""
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
        """An operator with a template."""
        if op.name == "filled":
            self.materialize(op.operands[1:])
            self.alias[op.result] = self.variable_of(cast(Value, op.operands[1]))
            return
        if op.name == "demand" and op.operands[0] not in self.pending:
            return  # it has a line of its own
        template = with_constants(op.opdef.template(op.types, op.attrs))
        if op.opdef.effect or destination_of(op) is not None:
            self.flush(set(op.operands))
        if not op.results:
            slots, _ = self.slots(op, template)
            self.emit(TemplateLines(with_local_names(fill_statements(template, slots, ""))), op)
            return
        if op.attrs.get("in_place"):
            self.change_in_place(op, template)
            return
        if "{out}" in template:
            slots, _ = self.slots(op, template)
            out = cast(str, self.variable_of(op.result))  # a value where text will be
            self.emit(TemplateLines(with_local_names(fill_statements(template, slots, out))), op)
            return
        slots, depth = self.slots(op, template)
        tree = fill(template, slots)
        if op.name == "into" and not self.uses.count[op.result]:
            self.emit(SimpleStatement(ast.Expr(tree)), op)
        elif self.can_defer(op, region):
            self.defer(op.result, PendingExpression(op, tree, depth + 1))
        else:
            self.emit(Assign(self.targets(op), tree), op)

    def change_in_place(self, op: Op, template: str) -> None:
        """A list that is changed where it stands; what reads lists may not wait any longer."""
        slots, _ = self.slots(op, template)
        self.flush()
        out, before = self.variable_of(op.result), slots[op.opdef.operands[0]]
        self.emit(ParallelAssign(((out, before),), "yield"), op)
        old = value_in(before)  # by now another name of the list
        slots = {
            k: rename_values(s, lambda name: out if name is old else name) for k, s in slots.items()
        }
        self.emit(
            TemplateLines(with_local_names(fill_statements(template, slots, cast(str, out)))), op
        )

    def can_defer(self, op: Op, region: Region) -> bool:
        """Whether the result of ``op`` can be written inside its user."""
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
        """What goes into the slots of a template, and how deep that is already."""
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
        """Gives operands that wait a line of their own until what remains is readable."""
        inner = {o: self.pending[o] for o in op.operands if o in self.pending}
        inner = {value: w for value, w in inner.items() if w.op.name not in DISPLAYS}
        if not inner:
            return
        written = _fields(template)
        first: dict[AnyOperand, int] = {}
        for position, operand in enumerate(op.operands):
            if isinstance(operand, Value):
                first.setdefault(operand, position)
        # A row of a comprehension is computed again and again, as an operand written twice is.
        repeated = {
            value
            for value in inner
            if "for " in template or sum(written[slot] for slot in _slots(op, first[value])) != 1
        }
        width = len(template) + sum(w.width for w in inner.values())
        deep = sum(w.depth >= costs().expression_levels for w in inner.values())
        left = len(repeated)

        def badness(value: Value) -> tuple[bool, int, int]:
            return value in repeated, inner[value].width, inner[value].depth

        for worst in sorted(inner, key=badness, reverse=True):
            if not (left or width > costs().expression_characters or deep):
                return
            left -= worst in repeated
            width -= inner[worst].width
            deep -= inner[worst].depth >= costs().expression_levels
            self.emit_pending(worst)

    # Operands and statements

    def variable_of(self, value: Value) -> Value:
        """The value that stands for ``value``'s variable."""
        return self.alias.get(value, value)

    def operand(self, operand: AnyOperand) -> ast.expr:
        """The tree of an operand; an expression that waited for it is taken."""
        if not isinstance(operand, Value):
            return literal(operand)
        found = self.pending.get(operand)
        if found is None:
            return name_of(self.variable_of(operand))
        if found.op.name != "undefined":
            self.take_pending(operand)
        return found.tree

    def targets(self, op: Op) -> tuple[Value | None, ...]:
        """The variables of an operation's results; the only one is there even if unused."""
        if len(op.results) == 1:
            return (self.variable_of(op.result),)
        return tuple(self.variable_of(r) if self.uses.count[r] else None for r in op.results)

    def emit(self, statement: Statement, op: Op | None = None) -> None:
        if op is not None:
            statement.span, statement.role = op.span, op.role
        self.out.append(statement)

    # What waits

    def defer(self, value: Value, pending: PendingExpression) -> None:
        """Keeps an expression for its user."""
        self.pending[value] = pending
        if not pending.has_no_cost:
            self.by_line.setdefault(_line(pending.op.span), {})[value] = pending

    def take_pending(self, value: Value) -> PendingExpression:
        """The expression of ``value``, which waits no longer."""
        pending = self.pending.pop(value)
        line = _line(pending.op.span)
        if not pending.has_no_cost:
            del self.by_line[line][value]
            if not self.by_line[line]:
                del self.by_line[line]
        return pending

    def emit_pending(self, value: Value) -> None:
        """Makes a statement of what waits for the user of ``value``."""
        self.out.append(self.take_pending(value).statement(self.variable_of(value)))

    def flush(self, but: Set[AnyOperand] = frozenset()) -> None:
        """Makes statements of what waits, in the order of birth, ``but`` of some.

        A tuple or dict display of nothing but names may stay pending.
        """
        if self.by_line:
            for value, pending in list(self.pending.items()):
                if not pending.has_no_cost and value not in but:
                    self.emit_pending(value)

    def flush_others(self, span: Span) -> None:
        """As ``flush`` for what is not of the line of ``span``."""
        line = _line(span)
        if self.by_line.keys() - {line}:
            self.flush(self.by_line.get(line, {}).keys())

    def materialize(self, operands: Iterable[AnyOperand]) -> None:
        """Makes statements of the ``operands`` that wait, displays too."""
        for operand in operands:
            pending = self.pending.get(operand) if isinstance(operand, Value) else None
            if pending is not None and pending.op.name != "undefined":
                assert isinstance(operand, Value)
                self.emit_pending(operand)

    # Calls, branches, residuals

    def call(self, op: Op) -> None:
        """``out, residuals = dense_forward(x, w)``."""
        name: ast.expr = ast.Name(op.attrs["callee"].name, ast.Load())
        arguments = [self.operand(operand) for operand in op.operands]
        self.flush()
        tree = ast.Call(name, arguments, [])
        self.emit(
            Assign(self.targets(op), tree) if op.results else SimpleStatement(ast.Expr(tree)), op
        )

    def branch(self, op: Op) -> None:
        """An ``if``; a result that nobody needs is not assigned."""
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
        """Assignments at the same time; what is about ``span`` is told by the line that follows."""
        listed = list(pairs)
        about = [self.pending[o].op for _, o in listed if o in self.pending]
        about = [op for op in about if _line(op.span) != _line(span)]
        trees = tuple((target, self.operand(operand)) for target, operand in listed)
        self.flush()
        if trees:
            self.emit(
                ParallelAssign(trees, kind), next((op for op in about if op.span != NOWHERE), None)
            )

    def open_residuals(self, body: Region) -> None:
        """``x, x_1, y = residuals`` in the place of an ``item`` for each; work arrays likewise."""
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


def _line(span: Span) -> tuple[str, int]:
    return span.file, span.line


def _slots(op: Op, position: int) -> set[str]:
    """The names that an operand may have in a template."""
    return {str(position), op.opdef.operand_name(position)}


@cache
def _fields(template: str) -> Counter[str]:
    """Count the uses of each slot of a template."""
    return Counter(name for _, name, _, _ in Formatter().parse(template) if name is not None)
