"""Loops, branches, and exceptions.

A loop saves an item of each iteration in a list of rows. A loop that ends early, or whose number
of iterations is not known before, counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from autodiff_compiler.ir.nodes import Loop as LoopOp
from autodiff_compiler.ir.nodes import Op, Value, type_of
from autodiff_compiler.ir.types import ListType
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Apply,
    Body,
    Expression,
    If,
    Let,
    Literal,
    Loop,
    Position,
    Read,
    Scalar,
    Statement,
    While,
)
from autodiff_compiler.loops.core import rows as row_memory
from autodiff_compiler.loops.core.places import (
    Place,
    apart,
    assign,
    assign_all,
    carry_place,
    leaves,
    result_place,
    snapshot,
    value_of,
)
from autodiff_compiler.loops.core.positions import bounds_of, fail_outside
from autodiff_compiler.loops.core.rows import affine, as_number, scalar
from autodiff_compiler.loops.core.state import (
    NUMBER_DTYPES,
    Lowering,
    apply,
    array_facts,
    buffers_of,
    cast,
)
from autodiff_compiler.loops.core.values import (
    Array,
    Columns,
    Jagged,
    NoNativeText,
    Representation,
    Rows,
    Text,
    Unset,
)

#: The most numbers in a message.
DETAILS = 4
#: Lowers the operations of a region.
LowerRegion = Callable[..., None]


class ControlFlow:
    """The rules of operations with regions; ``lower_region`` lowers what is inside."""

    def __init__(self, lower_region: LowerRegion) -> None:
        self.lower_region = lower_region

    def rules(self) -> Mapping[str, Callable[[Lowering, Op], None]]:
        return {
            "for": self.loop,
            "while": self.loop,
            "if": self.branch,
            "raise": _raise,
            "text": _text,
            "undefined": _undefined,
            "is_unset": _is_unset,
            "zeros_if_set": _zeros_if_set,
        }

    # ---- branches

    def branch(self, low: Lowering, op: Op) -> None:
        condition = cast(low.number(op.operands[0]), "bool")
        bodies, yields = [], []
        for region in op.regions:
            with low.block() as statements:
                self.lower_region(low, region, True)
                yields.append([low.represent(value) for value in region.yields])
            bodies.append(statements)
        self._note_unset(low, op, bodies)
        results: list[tuple[Value, Representation]] = []
        for result, *sides in zip(op.results, *yields):
            then, orelse = sides
            # Arrays are written in place, or not at all.
            if then == orelse and isinstance(then, (Array, Unset)):
                results.append((result, then))
                continue
            place = result_place(low, result, then, orelse)
            for statements, value in zip(bodies, (then, orelse)):
                with low.block() as more:
                    assign_all(low, place, value)
                statements += more
            results.append((result, value_of(place)))
        low.add(If(condition, tuple(bodies[0]), tuple(bodies[1]), low.span))
        for result, where in results:
            low.bind(result, where)

    def _note_unset(self, low: Lowering, op: Op, bodies: Sequence[list[Statement]]) -> None:
        """Sets a flag for each result that some operation tests, on both ways."""
        for place, result in enumerate(op.results):
            if result in low.tested:
                flag = low.variable("unset", Literal(False, "bool"))
                for region, statements in zip(op.regions, bodies):
                    with low.block() as more:
                        low.set(flag, low.unset_flag(region.yields[place]))
                    statements += more
                low.unset[result] = Read(flag)

    # ---- loops

    def loop(self, low: Lowering, op: Op) -> None:
        loop = LoopOp(op)
        if op.attrs.get("checkpoint") or loop.has_until and loop.runs_reversed:
            raise NoNativeText("a loop that saves some states")
        carries = [
            carry_place(low, op, param, init) for param, init in zip(loop.carry_params, loop.inits)
        ]
        flags = _carried_flags(low, loop)
        start, step, trips = _bounds(low, loop)
        is_counted = loop.is_for and not loop.has_until
        rows = trips if isinstance(trips, int) and is_counted else None
        tapes = [_tape(low, result, rows) for result in loop.stacked]
        if is_counted and rows is None:
            for tape in tapes:
                row_memory.reserve(low, tape, affine(low, as_number(trips)))
        index = Scalar(_index_name(loop, start, step), "int64")
        if is_counted:
            if isinstance(trips, int):
                low.trips[index] = trips
        else:
            index = low.variable("count", Literal(0, "int64"))
        done = low.variable("done", Literal(False, "bool")) if loop.has_until else None
        with low.block() as statements:
            position = Affine.of(index)
            if loop.runs_reversed:
                position = affine(low, as_number(trips)) + -1 + position * -1
            self._enter(low, loop, carries, position, start, step)
            self._iteration(low, loop, carries, tapes, position, done)
            _next_flags(low, loop, flags)
            if not is_counted:
                low.set(index, Literal(1, "int64"), "add")
        body = tuple(statements)
        if is_counted:
            extent = trips if isinstance(trips, int) else scalar(low, trips)
            low.add(Loop(index, extent, body, False, low.span))
        else:
            test, condition = self._test(low, loop, carries, done, Read(index), trips)
            low.add(While(test, condition, body, low.span))
        for result, carry in zip(loop.carried, carries):
            low.bind(result, value_of(carry))
        for place, flag in flags.items():
            low.unset[loop.carried[place]] = Read(flag)
        length = trips if is_counted else Read(index)
        for result, tape in zip(loop.stacked, tapes):
            low.bind(result, Rows(tape, length))
        low.bind(loop.count, as_number(length))

    def _enter(
        self,
        low: Lowering,
        loop: LoopOp,
        carries: Sequence[Place],
        position: Affine,
        start: Affine,
        step: int | Expression,
    ) -> None:
        low.bind(loop.position, Position(position))
        if loop.index is not None and isinstance(step, int):
            low.bind(loop.index, Position(start + position * step))
        elif loop.index is not None:
            distance = apply("mul", "int64", Position(position), step)
            index = apply("add", "int64", Position(start), distance)
            low.bind(loop.index, low.let(loop.index.name, index))
        for param, carry in zip(loop.carry_params, carries):
            low.bind(param, value_of(carry))
        for param, source in zip(loop.read_params, loop.reads):
            given = low.represent(source)
            rows = given.rows if isinstance(given, Rows) else given
            if not isinstance(rows, (Array, Jagged, tuple)):
                raise NoNativeText("a loop over a container")
            if isinstance(given, Array):
                _check_row(low, position, given.shape[0])
            low.bind(param, row_memory.item(low, rows, position))

    def _iteration(
        self,
        low: Lowering,
        loop: LoopOp,
        carries: Sequence[Place],
        tapes: Sequence[Columns],
        position: Affine,
        done: Scalar | None,
    ) -> None:
        self.lower_region(low, loop.body)
        for tape, value in zip(tapes, loop.stack_yields):
            if done is not None or not loop.is_for:
                row_memory.reserve(low, tape, position + 1)
            row_memory.save(low, tape, position, low.represent(value))
        if done is not None:
            low.set(done, cast(low.number(loop.until), "bool"))
        given = [low.represent(value) for value in loop.carry_yields]
        changed = [
            (place, value)
            for carry, yielded in zip(carries, given)
            for place, value in leaves(carry, yielded)
            if not (isinstance(place, Scalar) and value == Read(place))
        ]
        memory: set[object] = {b for carry in carries for b in buffers_of(value_of(carry))}
        memory.update(place for place, _ in changed if isinstance(place, Scalar))
        pairs = [(place, apart(low, place, value, memory)) for place, value in changed]
        for place, ready in pairs:
            assign(low, place, ready)

    def _test(
        self,
        low: Lowering,
        loop: LoopOp,
        carries: Sequence[Place],
        done: Scalar | None,
        count: Expression,
        trips: int | Expression,
    ) -> tuple[Body, Expression]:
        """Returns the statements before the test of a loop, and its condition."""
        region = loop.condition
        if region is None:
            assert done is not None
            more = Apply("less", (count, as_number(trips)), "bool")
            return (), Apply("logical_and", (_not(done), more), "bool")
        with low.block() as statements:
            for param, carry in zip(region.params, carries):
                low.bind(param, value_of(carry))
            self.lower_region(low, region)
            condition = cast(low.number(region.yields[0]), "bool")
            if done is None:
                return tuple(statements), condition
            goes_on = Scalar("goes_on", "bool", mutable=True)
            low.set(goes_on, condition)
        with low.block() as guarded:
            low.add(Let(goes_on, Literal(False, "bool"), low.span))
            low.add(If(_not(done), tuple(statements), (), low.span))
        return tuple(guarded), Read(goes_on)


def _index_name(loop: LoopOp, start: Affine, step: int | Expression) -> str:
    """Returns the user's name for the number of an iteration, if there is one."""
    is_counter = start == Affine() and step == 1 and not loop.runs_reversed
    return loop.index.name if loop.index is not None and is_counter else "k"


def _not(flag: Scalar) -> Expression:
    return Apply("logical_not", (Read(flag),), "bool")


def _check_row(low: Lowering, position: Affine, size: int) -> None:
    """Checks that an array has a row for an iteration, unless the number of iterations is known."""
    last = bounds_of(low, position)[1]
    if last is None or last >= size:
        fail_outside(low, Position(position), size, 0)


def _carried_flags(low: Lowering, loop: LoopOp) -> dict[int, Scalar]:
    """Returns the flags of the carries that some operation tests, by the place of the carry."""
    flags = {}
    conditions = loop.condition.params if loop.condition is not None else loop.carry_params
    for place, values in enumerate(zip(loop.carry_params, loop.carried, conditions)):
        if any(value in low.tested for value in values):
            flag = flags[place] = low.variable("unset", low.unset_flag(loop.inits[place]))
            low.unset.update(dict.fromkeys(values, Read(flag)))
    return flags


def _next_flags(low: Lowering, loop: LoopOp, flags: Mapping[int, Scalar]) -> None:
    following = [
        low.let("unset", Apply("copy", (low.unset_flag(loop.carry_yields[place]),), "bool"))
        for place in flags
    ]
    for flag, value in zip(flags.values(), following):
        low.set(flag, value)


def _is_unset(low: Lowering, op: Op) -> None:
    value = op.operands[0]
    if isinstance(value, Value) and value not in low.tested:
        raise NoNativeText("a test whether an item is set")
    low.bind(op.result, low.unset_flag(value))


def _zeros_if_set(low: Lowering, op: Op) -> None:
    dtype, _ = array_facts(op.result.type)
    low.map(op.result, lambda at: cast(Literal(0, "int64"), dtype))


def _raise(low: Lowering, op: Op) -> None:
    message = op.operands[0] if len(op.operands) == 1 else ""
    if isinstance(message, Value):
        text = low.represent(message)
        if not isinstance(text, Text):
            raise NoNativeText("an exception with a value")
        low.fail(op.attrs["error"], text)
    elif isinstance(message, str) and len(op.operands) < 2:
        low.fail(op.attrs["error"], message)
    else:
        raise NoNativeText("an exception with several values")


def _text(low: Lowering, op: Op) -> None:
    """Notes the numbers in a message. A message with an array or a string has no text in C."""
    numbers, kinds = [], []
    for operand in op.operands:
        type_ = type_of(operand)
        if type_ not in NUMBER_DTYPES:
            raise NoNativeText(f"a message with a value of type {type_}")
        numbers.append(low.let("number", snapshot(low.number(operand))))
        kinds.append(str(type_))
    if len(numbers) > DETAILS:
        raise NoNativeText(f"a message with more than {DETAILS} numbers")
    pattern, sign = op.attrs["pattern"], op.attrs["sign"]
    if numbers:
        low.bind(op.result, Text(pattern, tuple(numbers), tuple(kinds), sign))
    else:
        low.bind(op.result, Text(pattern.format(), (), ()))


def _undefined(low: Lowering, op: Op) -> None:
    low.bind(op.result, Unset())


# ---- bounds and tapes


def _bounds(low: Lowering, loop: LoopOp) -> tuple[Affine, int | Expression, int | Expression]:
    """Returns start, step and the number of iterations."""
    if not loop.is_for:
        return Affine(), 1, 0
    start, stop, step = loop.int_bounds
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        return Affine(start), step, len(range(start, stop, step))
    first, last = low.number(start), low.number(stop)
    if isinstance(step, int):
        from_zero = step > 0 and first == Literal(0, "int64")
        ends = (last, first) if step > 0 else (first, last)
        span = last if from_zero else Apply("sub", ends, "int64")
        trips = _steps(span, Literal(abs(step), "int64")) if abs(step) > 1 else span
        count = Apply("maximum", (trips, Literal(0, "int64")), "int64")
        return affine(low, first), step, low.let("trips", count)
    size = low.let("step", low.number(step))
    zero = Literal(0, "int64")
    low.fail_if(Apply("equal", (size, zero), "bool"), "ValueError", _range_error())
    rises = Apply("greater", (size, zero), "bool")
    up = _steps(apply("sub", "int64", last, first), size)
    down = _steps(apply("sub", "int64", first, last), apply("neg", "int64", size))
    count = Apply("maximum", (Apply("select", (rises, up, down), "int64"), zero), "int64")
    return affine(low, first), size, low.let("trips", count)


def _steps(span: Expression, step: Expression) -> Expression:
    """Returns the number of steps that a span needs, rounded up."""
    last = apply("sub", "int64", apply("add", "int64", span, step), 1)
    return apply("floor_div", "int64", last, step)


def _range_error() -> str:
    try:
        range(0, 1, 0)
    except ValueError as error:
        return str(error)
    raise AssertionError


def _tape(low: Lowering, result: Value, rows: int | None) -> Columns:
    """Returns the rows in which a loop saves an item of each iteration."""
    assert isinstance(result.type, ListType)
    return row_memory.new_columns(low, result.type.item, result.name, rows)
