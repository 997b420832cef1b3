"""Builds the statements of loops: carries are variables, stacks are lists, reads are list items.

Before the loop, carries are initialised and lists are created. The order in each iteration is:

- read the items,
- append the carries that are collected on entry,
- run the body,
- append the results that are collected,
- update all carries at the same time,
- leave the loop if its exit test holds.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from autodiff_compiler.emit.statements.merge_tapes import TapeMerges
from autodiff_compiler.emit.statements.nodes import (
    Assign,
    Block,
    Break,
    For,
    SimpleStatement,
    Statement,
    While,
    name_of,
    reads,
    rename_values,
    value_in,
)
from autodiff_compiler.emit.statements.use_counts import Uses
from autodiff_compiler.emit.text.literals import literal
from autodiff_compiler.ir.nodes import AnyOperand, Loop, Op, Region, Value
from autodiff_compiler.ir.types import BOOL
from autodiff_compiler.span import NOWHERE, Span

Port = tuple[Value, AnyOperand]


class StatementBuilderProtocol(Protocol):
    """The interface of ``builder.StatementBuilder`` that a loop needs."""

    uses: Uses
    tapes: TapeMerges
    alias: dict[Value, Value]

    @property
    def pending(self) -> Mapping[Value, PendingProtocol]: ...

    def nested_block(self, work: Callable[[], None]) -> Block: ...

    def ops(self, region: Region) -> None: ...

    def variable_of(self, value: Value) -> Value: ...

    def operand(self, operand: AnyOperand) -> ast.expr: ...

    def emit(self, statement: Statement, op: Op | None = None) -> None: ...

    def materialize(self, operands: Iterable[AnyOperand]) -> None: ...

    def assign_together(self, pairs: Iterable[Port], kind: str, span: Span = NOWHERE) -> None: ...


class PendingProtocol(Protocol):
    """An expression that is not written yet."""

    op: Op
    tree: ast.expr


def build_loop(builder: StatementBuilderProtocol, loop: Loop) -> None:
    """Emits the statements of ``loop``."""
    _Loop(builder, loop).build()


def call(function: str, *arguments: ast.expr) -> ast.Call:
    """Returns the tree of ``function(arguments)``."""
    return ast.Call(ast.Name(function, ast.Load()), list(arguments), [])


class _Loop:
    """The statements of a loop while they are built, and the ports that are needed.

    stacks  the lists that are needed, with the item that each collects.
    reads   the parameters for items, with the list that is read and how many items are before them.
    counts  True if the iterations have to be counted in a variable.
    """

    def __init__(self, builder: StatementBuilderProtocol, loop: Loop):
        self.builder, self.loop, self.op = builder, loop, loop.op
        count = builder.uses.count
        self.stacks = [p for p in zip(loop.stacked, loop.stack_yields) if count[p[0]]]
        shifted = builder.tapes.shifted
        self.reads = [
            (param, *shifted.get(source, (source, 0)))
            for param, source in zip(loop.read_params, loop.reads)
            if count[param]
        ]
        stored_by_position = bool(self.reads) or loop.runs_reversed and bool(self.stacks)
        self.needs_position = count[loop.position] > 0 or stored_by_position
        self.needs_count = count[loop.count] > 0
        self.needs_index = loop.index is not None and count[loop.index] > 0
        self.counts = (
            self.needs_count and loop.has_until
            if loop.is_for
            else self.needs_position or self.needs_count
        )
        self.unify_variables()

    def unify_variables(self) -> None:
        """Gives one variable to the values that always are the same variable."""
        loop, alias = self.loop, self.builder.alias
        tests = (None,) * loop.carries if loop.condition is None else loop.condition.params
        for param, result, test in zip(loop.carry_params, loop.carried, tests):
            stands = result if result.has_user_name and not param.has_user_name else param
            alias.update({param: stands, result: stands})
            if test is not None:
                alias[test] = stands
        if not loop.is_for:
            alias[loop.position] = loop.count
        elif loop.starts_at_zero and loop.index is not None:
            alias[loop.position] = loop.index

    def build(self) -> None:
        builder, loop = self.builder, self.loop
        builder.materialize(operand for _, operand, _ in self.reads)
        if loop.is_for and self.reads_bounds_twice():
            builder.materialize(loop.bounds)
        bounds = [builder.operand(bound) for bound in loop.bounds]
        begin: list[Port] = list(zip(map(builder.variable_of, loop.carry_params), loop.inits))
        if self.counts:
            begin.append((loop.count, 0))
        builder.assign_together(begin, "init", self.op.span)
        if loop.is_for and self.needs_count and not loop.has_until:
            builder.emit(Assign((loop.count,), length(bounds)))
        self.start_lists(bounds)
        if loop.condition is not None:
            self.build_while()
            return
        targets, items = self.iteration(bounds)
        builder.emit(For(targets, items, builder.nested_block(self.body)), self.op)

    def reads_bounds_twice(self) -> bool:
        return (
            self.needs_count
            or self.loop.runs_reversed
            and bool(self.stacks)
            or self.needs_position
            and not self.loop.starts_at_zero
        )

    def build_while(self) -> None:
        builder, condition = self.builder, self.loop.condition
        assert condition is not None
        head = builder.nested_block(lambda: builder.ops(condition))
        test = builder.operand(condition.yields[0])
        body = builder.nested_block(self.body)
        builder.emit(While(head, test, body), self.op)

    def start_lists(self, bounds: list[ast.expr]) -> None:
        """Emits ``h_tape, branch_tape = [], []``. A loop that runs backward fills its lists by
        position."""
        if not self.stacks:
            return
        empty: ast.expr = ast.List([], ast.Load())
        if self.loop.runs_reversed:
            none = ast.List([ast.Constant(None)], ast.Load())
            size = bounds[1] if self.loop.starts_at_zero else length(bounds)
            empty = ast.BinOp(none, ast.Mult(), size)
        heads = self.builder.tapes.first_items
        begun = [
            ast.List([self.head(heads[stacked])], ast.Load()) if stacked in heads else empty
            for stacked, _ in self.stacks
        ]
        self.assign([stacked for stacked, _ in self.stacks], begun)

    def head(self, first: AnyOperand) -> ast.expr:
        """Returns the first item of a list: a carry's initial value, or any other value."""
        for param, init in zip(self.loop.carry_params, self.loop.inits):
            if init is first:
                return name_of(self.builder.variable_of(param))
        return self.builder.operand(first)

    def assign(self, targets: list[Value], trees: list[ast.expr]) -> None:
        """Emits one assignment for all targets."""
        tree = trees[0] if len(trees) == 1 else ast.Tuple(trees, ast.Load())
        self.builder.emit(Assign(tuple(targets), tree))

    def iteration(self, bounds: list[ast.expr]) -> tuple[tuple[Value, ...], ast.expr]:
        """Returns the targets and the iterable of a ``for``."""
        loop = self.loop
        assert loop.index is not None
        items: ast.expr = range_of(bounds)
        targets: tuple[Value, ...] = (loop.index,)
        if self.needs_position and not loop.starts_at_zero:
            if self.counts_from_start():
                # ``reversed(list(enumerate(...)))`` would build a long list of pairs.
                targets, items = (
                    (loop.position,),
                    call("range", _moved(bounds[1], ast.Sub, bounds[0])),
                )
            elif self.needs_index:
                targets, items = (loop.position, loop.index), call("enumerate", items)
                items = call("list", items) if loop.runs_reversed else items
            else:
                targets, items = (loop.position,), call("range", length(bounds))
        return targets, call("reversed", items) if loop.runs_reversed else items

    def counts_from_start(self) -> bool:
        """True if the loop counts the position, and the index is the position plus the start."""
        if not self.loop.is_for or not self.loop.runs_reversed or self.loop.starts_at_zero:
            return False
        start, _, step = self.loop.bounds
        return self.needs_position and self.needs_index and type(start) is int and step == 1

    def body(self) -> None:
        """Emits the statements of an iteration."""
        builder, loop = self.builder, self.loop
        if self.counts_from_start():
            assert loop.index is not None
            start = builder.operand(loop.bounds[0])
            self.assign([loop.index], [_moved(name_of(loop.position), ast.Add, start)])
        if self.reads:
            trees: list[ast.expr] = [self.item(builder.operand(o), n) for _, o, n in self.reads]
            self.assign([param for param, _, _ in self.reads], trees)
        entering = [port for port in self.stacks if port[1] in loop.carry_params]
        for port in entering:
            self.collect(*port)
        builder.ops(loop.body)
        for port in self.stacks:
            if port not in entering:
                self.collect(*port)
        # A pending test is printed at the end of the body, and shows its line there.
        pending = builder.pending.get(loop.until) if isinstance(loop.until, Value) else None
        test = self.exit_test()
        moves = zip(map(builder.variable_of, loop.carry_params), loop.carry_yields)
        builder.assign_together(
            ((token, y) for token, y in moves if self.changes(token, y)), "yield"
        )
        if self.counts:
            one = ast.AugAssign(name_of(loop.count), ast.Add(), literal(1))
            one.target.ctx = ast.Store()
            builder.emit(SimpleStatement(one))
        if test is not None:
            builder.emit(
                Break(test), pending.op if pending and not isinstance(test, ast.Name) else None
            )

    def changes(self, token: Value, operand: AnyOperand) -> bool:
        return not isinstance(operand, Value) or self.builder.variable_of(operand) is not token

    def item(
        self, source: ast.expr, ahead: int = 0, ctx: ast.expr_context | None = None
    ) -> ast.Subscript:
        position: ast.expr = name_of(self.builder.variable_of(self.loop.position))
        if ahead:
            position = ast.BinOp(position, ast.Add(), literal(ahead))
        return ast.Subscript(source, position, ctx or ast.Load())

    def collect(self, stacked: Value, operand: AnyOperand) -> None:
        """Emits the append of an item to its list."""
        item = self.builder.operand(operand)
        if not self.loop.runs_reversed:
            append = ast.Attribute(name_of(stacked), "append", ast.Load())
            self.builder.emit(SimpleStatement(ast.Expr(ast.Call(append, [item], []))))
            return
        target = self.item(name_of(stacked), ctx=ast.Store())
        self.builder.emit(SimpleStatement(ast.Assign([target], item)))

    def exit_test(self) -> ast.expr | None:
        """Returns the test that ends the loop, as it reads after all carries are updated.

        The new value of a carry is then read from the carry. A test that needs a carry's old value
        is computed before the update.
        """
        builder, loop = self.builder, self.loop
        if not loop.has_until or loop.until is False:
            return None
        params = tuple(map(builder.variable_of, loop.carry_params))
        moved = {
            builder.variable_of(y): token
            for token, y in zip(params, loop.carry_yields)
            if isinstance(y, Value)
        }
        entered = set(params) | ({loop.count} if self.counts else set())
        if isinstance(loop.until, Value):
            if builder.variable_of(loop.until) in moved:
                return name_of(moved[builder.variable_of(loop.until)])
            pending = builder.pending.get(loop.until)
            if pending is not None and entered.intersection(reads(pending.tree)):
                builder.materialize([loop.until])
        test = builder.operand(loop.until)
        if value_in(test) in entered:
            stop = Value(BOOL, "stop")
            builder.emit(Assign((stop,), test))
            return name_of(stop)
        return rename_values(test, lambda name: moved.get(name, name))


def range_of(bounds: list[ast.expr]) -> ast.expr:
    """Returns ``range(n)``, without a start of 0 and a step of 1."""
    start, stop, step = bounds
    if _is(step, 1):
        return call("range", stop) if _is(start, 0) else call("range", start, stop)
    return call("range", start, stop, step)


def _moved(tree: ast.expr, sign: type[ast.operator], by: ast.expr) -> ast.expr:
    """Returns the tree of ``tree`` plus or minus ``by``; a number if both are numbers."""
    try:
        one, other = ast.literal_eval(tree), ast.literal_eval(by)
        return literal(one + other if sign is ast.Add else one - other)
    except (ValueError, TypeError):
        return ast.BinOp(tree, sign(), by)


def length(bounds: list[ast.expr]) -> ast.expr:
    """Returns the length of a range; a number if the bounds are numbers."""
    try:
        return literal(len(range(*(ast.literal_eval(bound) for bound in bounds))))
    except (ValueError, TypeError):
        return call("len", range_of(bounds))


def _is(tree: ast.expr, number: int) -> bool:
    return isinstance(tree, ast.Constant) and tree.value == number
