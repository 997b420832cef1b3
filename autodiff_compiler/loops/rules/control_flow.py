"""Loops, branches, and the lists of rows that loops save.

A carried array lives in one buffer: an iteration computes its next value, and then copies it
there. A carried number is a scalar that may be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from autodiff_compiler.ir.nodes import AnyOperand, Op, Value
from autodiff_compiler.ir.nodes import Loop as LoopOp
from autodiff_compiler.ir.types import ListType
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Apply,
    Body,
    Buffer,
    Expression,
    If,
    Literal,
    Loop,
    Position,
    Read,
    Reserve,
    Scalar,
    While,
)
from autodiff_compiler.loops.core.state import Lowering, array_facts, cast
from autodiff_compiler.loops.core.values import (
    Array,
    Items,
    NoNativeText,
    Representation,
    Rows,
    row_major,
)

#: Lowers the operations of a region.
LowerRegion = Callable[..., None]


class ControlFlow:
    """The rules of operations with regions; ``lower_region`` lowers what is inside."""

    def __init__(self, lower_region: LowerRegion) -> None:
        self.lower_region = lower_region

    def rules(self) -> Mapping[str, Callable[[Lowering, Op], None]]:
        return {"for": self.loop, "while": self.loop, "if": self.branch}

    # ---- branches

    def branch(self, low: Lowering, op: Op) -> None:
        condition = cast(low.number(op.operands[0]), "bool")
        bodies, yields = [], []
        for region in op.regions:
            with low.block() as statements:
                self.lower_region(low, region, True)
                yields.append([low.represent(value) for value in region.yields])
            bodies.append(statements)
        results: list[tuple[Value, Representation]] = []
        for result, then, orelse in zip(op.results, *yields):
            if isinstance(then, Array) and then == orelse:  # written in place, or not at all
                results.append((result, then))
                continue
            place = self._place(low, result)
            for statements, value in zip(bodies, (then, orelse)):
                with low.block() as more:
                    _assign(low, place, value)
                statements += more
            results.append((result, Read(place) if isinstance(place, Scalar) else place))
        low.add(If(condition, tuple(bodies[0]), tuple(bodies[1]), low.span))
        for result, where in results:
            low.bind(result, where)

    def _place(self, low: Lowering, value: Value) -> Array | Scalar:
        dtype, shape = array_facts(value.type)
        if shape:
            return low.result_array(value)
        return low.variable(value.name, Literal(_zero(dtype), dtype))

    # ---- loops

    def loop(self, low: Lowering, op: Op) -> None:
        loop = LoopOp(op)
        if loop.has_until or op.attrs.get("checkpoint"):
            raise NoNativeText("a loop that ends early")
        carries = [
            self._carry(low, op, param, init) for param, init in zip(loop.carry_params, loop.inits)
        ]
        start, step, trips = _bounds(low, loop)
        tapes = [
            _tape(low, value, result, trips)
            for value, result in zip(loop.stack_yields, loop.stacked)
        ]
        if loop.is_for and not isinstance(trips, int):
            for tape in tapes:
                low.add(Reserve(tape.buffer, _affine(low, trips) * tape.strides[0], low.span))
        index = Scalar("k", "int64")
        count: Scalar | None = None
        if not loop.is_for:
            count = low.variable("count", Literal(0, "int64"))
            index = count
        if isinstance(trips, int) and loop.is_for:
            low.trips[index] = trips
        with low.block() as statements:
            position = Affine.of(index)
            if loop.runs_reversed:
                last = _minus_one(low, trips)
                position = last + position * -1
            self._enter(low, loop, carries, position, start, step)
            self._iteration(low, loop, carries, tapes, position)
            if count is not None:
                low.set(count, Literal(1, "int64"), "add")
        body = tuple(statements)
        if count is None:
            extent = trips if isinstance(trips, int) else _scalar(low, trips)
            low.add(Loop(index, extent, body, False, low.span))
        else:
            test, condition = self._test(low, loop, carries)
            low.add(While(test, condition, body, low.span))
        for result, carry in zip(loop.carried, carries):
            low.bind(result, Read(carry) if isinstance(carry, Scalar) else carry)
        length = Read(count) if count is not None else trips
        for result, tape in zip(loop.stacked, tapes):
            low.bind(result, Rows(tape, length))
        low.bind(loop.count, Literal(length, "int64") if isinstance(length, int) else length)

    def _carry(self, low: Lowering, op: Op, param: Value, init: AnyOperand) -> Array | Scalar:
        dtype, shape = array_facts(param.type)
        if not shape:
            return low.variable(param.name, cast(low.number(init), dtype))
        start = low.represent(init)
        if isinstance(start, Array) and low.may_overwrite(op, init):
            low.take_over(start)
            return start
        carry = low.new_array(dtype, shape, param.name)
        _copy(low, carry, low.array(init))
        return carry

    def _enter(
        self,
        low: Lowering,
        loop: LoopOp,
        carries: Sequence[Array | Scalar],
        position: Affine,
        start: Affine,
        step: int,
    ) -> None:
        low.bind(loop.position, Position(position))
        if loop.index is not None:
            low.bind(loop.index, Position(start + position * step))
        for param, carry in zip(loop.carry_params, carries):
            low.bind(param, Read(carry) if isinstance(carry, Scalar) else carry)
        for param, source in zip(loop.read_params, loop.reads):
            rows = low.represent(source)
            rows = rows.rows if isinstance(rows, Rows) else rows
            if not isinstance(rows, Array):
                raise NoNativeText("a loop over a container")
            item = rows.item(position)
            low.bind(param, item if item.shape else low.let(param.name, item.load(())))

    def _iteration(
        self,
        low: Lowering,
        loop: LoopOp,
        carries: Sequence[Array | Scalar],
        tapes: Sequence[Array],
        position: Affine,
    ) -> None:
        self.lower_region(low, loop.body)
        for tape, value in zip(tapes, loop.stack_yields):
            row = tape.item(position)
            if tape.buffer.grows and not loop.is_for:
                low.add(Reserve(tape.buffer, (position + 1) * tape.strides[0], low.span))
            _save(low, row, value)
        given = [low.represent(value) for value in loop.carry_yields]
        buffers = {carry.buffer for carry in carries if isinstance(carry, Array)}
        pairs = [
            (carry, _apart(low, carry, value, buffers)) for carry, value in zip(carries, given)
        ]
        for carry, ready in pairs:
            _assign(low, carry, ready)

    def _test(
        self, low: Lowering, loop: LoopOp, carries: Sequence[Array | Scalar]
    ) -> tuple[Body, Expression]:
        region = loop.condition
        assert region is not None
        with low.block() as statements:
            for param, carry in zip(region.params, carries):
                low.bind(param, Read(carry) if isinstance(carry, Scalar) else carry)
            self.lower_region(low, region)
            condition = cast(low.number(region.yields[0]), "bool")
        return tuple(statements), condition


def _apart(
    low: Lowering, carry: Array | Scalar, value: Representation, buffers: Collection[Buffer]
) -> Representation:
    """Returns the next value of a carry in a place that the other carries do not write to."""
    if isinstance(value, Array):
        moves = value.buffer in buffers and value != carry
        return low.copied(value, "next") if moves else value
    if isinstance(carry, Scalar) and not isinstance(value, (Rows, Items)):
        return low.let(carry.name, _snapshot(value))
    return value


def _save(low: Lowering, row: Array, value: AnyOperand) -> None:
    low.nest(row.shape, lambda at: low.store(row, at, low.element(value, at)))


def _snapshot(value: Expression) -> Expression:
    """Returns an expression that ``Lowering.let`` defines anew: its scalars may change."""
    mutable = isinstance(value, Read) and value.scalar.mutable
    return Apply("copy", (value,), value.dtype) if mutable else value


def _zero(dtype: str) -> int | float | bool:
    return False if dtype == "bool" else 0.0 if dtype.startswith("float") else 0


def _bounds(low: Lowering, loop: LoopOp) -> tuple[Affine, int, int | Expression]:
    """Returns start, step and the number of iterations."""
    if not loop.is_for:
        return Affine(), 1, Literal(0, "int64")
    start, stop, step = loop.int_bounds
    if isinstance(step, Value):
        raise NoNativeText("a loop with a run-time step")
    if isinstance(start, int) and isinstance(stop, int):
        return Affine(start), step, len(range(start, stop, step))
    if step not in (1, -1):
        raise NoNativeText("a run-time range with a step")
    first, last = low.number(start), low.number(stop)
    span = Apply("sub", (last, first) if step == 1 else (first, last), "int64")
    count = Apply("maximum", (span, Literal(0, "int64")), "int64")
    return _affine(low, first), step, low.let("trips", count)


def _affine(low: Lowering, value: Expression) -> Affine:
    """Returns an integer as an affine form."""
    if isinstance(value, Literal):
        return Affine(int(value.value))
    if isinstance(value, Position):
        return value.at
    return Affine.of(_scalar(low, value))


def _scalar(low: Lowering, value: Expression) -> Scalar:
    if isinstance(value, Read) and not value.scalar.mutable:
        return value.scalar
    read = low.let("length", Apply("copy", (value,), value.dtype))
    assert isinstance(read, Read)
    return read.scalar


def _minus_one(low: Lowering, trips: int | Expression) -> Affine:
    return Affine(trips - 1) if isinstance(trips, int) else _affine(low, trips) + -1


def _tape(low: Lowering, value: AnyOperand, result: Value, trips: int | Expression) -> Array:
    """Returns the rows in which a loop saves an item of each iteration."""
    assert isinstance(result.type, ListType)
    dtype, shape = array_facts(result.type.item)
    known = isinstance(trips, int)
    rows = trips if isinstance(trips, int) else 0
    size = row_major((rows, *shape))[0]
    buffer = Buffer(result.name, dtype, rows * size if known else 0, grows=not known)
    return Array(buffer, Affine(), (rows, *shape), (size, *row_major(shape)))


def _copy(low: Lowering, to: Array, value: Array) -> None:
    if to != value:
        low.nest(to.shape, lambda at: low.store(to, at, value.load(at)))


def _assign(low: Lowering, place: Array | Scalar, value: Representation) -> None:
    """Sets a place to a value."""
    if isinstance(value, (Rows, Items)):
        raise NoNativeText("a container that is carried or chosen")
    if isinstance(place, Scalar):
        number = value.load(()) if isinstance(value, Array) else value
        low.set(place, cast(number, place.dtype))
    elif isinstance(value, Array):
        _copy(low, place, value)
    else:
        _fill(low, place, value)


def _fill(low: Lowering, place: Array, value: Expression) -> None:
    low.nest(place.shape, lambda at: low.store(place, at, value))
