"""Tuples and lists.

A list of run-time length has rows. An operator that changes one works in place where nothing reads
the list afterwards; otherwise it copies the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autodiff_compiler.ir.nodes import AnyOperand, Op
from autodiff_compiler.ir.types import ListType, Type
from autodiff_compiler.loop_ir.nodes import Affine, Apply, Expression, Literal, Position
from autodiff_compiler.loops.core import rows as row_memory
from autodiff_compiler.loops.core.positions import bounds_of
from autodiff_compiler.loops.core.rows import affine, as_number
from autodiff_compiler.loops.core.state import Lowering, apply, array_facts, arrays_of, cast
from autodiff_compiler.loops.core.values import (
    Array,
    Columns,
    Items,
    Joined,
    NoNativeText,
    Representation,
    Rows,
    Text,
    Unset,
)


def _make_items(low: Lowering, op: Op) -> None:
    low.bind(op.result, Items(tuple(low.represent(operand) for operand in op.operands)))


def _item(low: Lowering, op: Op) -> None:
    items = low.represent(op.operands[0])
    if not isinstance(items, Items):
        raise NoNativeText("an item of a container")
    low.bind(op.result, items.items[op.attrs["key"]])


def _list_join(low: Lowering, op: Op) -> None:
    first, second = (low.represent(operand) for operand in op.operands)
    if isinstance(first, Items) and isinstance(second, Items):
        low.bind(op.result, Items((*first.items, *second.items)))
    else:
        low.bind(op.result, Joined(first, second))


def _stack_rows(low: Lowering, op: Op) -> None:
    rows = low.represent(op.operands[0])
    _, shape = array_facts(op.result.type)
    length = row_memory.length_of(rows)
    if length != shape[0]:
        wrong = Apply("not_equal", (as_number(length), Literal(shape[0], "int64")), "bool")
        low.fail_if(wrong, "ValueError", f"a list of {shape[0]} items is needed for an array")
    if isinstance(rows, Rows) and isinstance(rows.rows, Array):
        low.bind(op.result, rows.rows.with_axes(shape, rows.rows.strides))
        return
    result = low.result_array(op.result)
    row_memory.copy_rows(low, result, Affine(), rows)
    low.bind(op.result, result)


# ---- lists of run-time length


def _copied(low: Lowering, item: Type, value: Representation) -> Rows:
    """Returns rows that nothing else reads, with the items of a list."""
    columns = row_memory.new_columns(low, item, "rows")
    length = as_number(row_memory.length_of(value))
    row_memory.reserve(low, columns, affine(low, length))
    row_memory.copy_rows(low, columns, Affine(), value)
    return Rows(columns, low.let("length", length))


def _changeable(low: Lowering, op: Op) -> Rows:
    """Returns the rows of the first operand; ``op`` may change them and add others."""
    value = low.represent(op.operands[0])
    is_free = isinstance(value, Rows) and row_memory.grows_at_end(value.rows)
    # Numbers that are appended may widen the type of the items.
    is_same = op.result.type == op.types[0]
    if isinstance(value, Rows) and is_free and is_same and low.may_overwrite(op, op.operands[0]):
        return value
    assert isinstance(op.result.type, ListType), op
    return _copied(low, op.result.type.item, value)


def _place(
    low: Lowering, rows: Rows, at: AnyOperand, message: str = "list index out of range"
) -> Affine:
    """Returns the row of an item. A position outside the list is an IndexError."""
    position = low.number(at)
    if isinstance(position, Position) and isinstance(rows.length, int):
        first, last = bounds_of(low, position.at)
        if first is not None and last is not None and first >= 0 and last < rows.length:
            return position.at
    length = as_number(rows.length)
    negative = Apply("less", (position, Literal(0, "int64")), "bool")
    behind = apply("add", "int64", position, length)
    if isinstance(position, Literal):
        place = low.let("place", behind if position.value < 0 else position)
    else:
        place = low.let("place", Apply("select", (negative, behind, position), "int64"))
    outside = Apply(
        "logical_or",
        (
            Apply("less", (place, Literal(0, "int64")), "bool"),
            Apply("greater_equal", (place, length), "bool"),
        ),
        "bool",
    )
    low.fail_if(outside, "IndexError", message)
    return affine(low, place)


def _list_item(low: Lowering, op: Op) -> None:
    value, at = low.represent(op.operands[0]), op.operands[1]
    if isinstance(value, Items) and isinstance(at, int):
        if not -len(value.items) <= at < len(value.items):
            raise NoNativeText("an index that is out of bounds")
        low.bind(op.result, value.items[at])
        return
    rows = _rows_of(low, op)
    low.bind(op.result, row_memory.item(low, rows.rows, _place(low, rows, at)))


def _rows_of(low: Lowering, op: Op) -> Rows:
    """Returns the first operand as rows. Items of a list of known length are copied to rows."""
    value, type_ = low.represent(op.operands[0]), op.types[0]
    if isinstance(value, Rows):
        return value
    if not isinstance(type_, ListType):
        raise NoNativeText("a list")
    return _copied(low, type_.item, value)


def _list_append(low: Lowering, op: Op) -> None:
    rows = _changeable(low, op)
    length = affine(low, as_number(rows.length))
    row_memory.reserve(low, rows.rows, length + 1)
    row_memory.save(low, rows.rows, length, low.represent(op.operands[1]))
    low.bind(op.result, Rows(rows.rows, low.let("length", Position(length + 1))))


def _list_head(low: Lowering, op: Op) -> None:
    value = low.represent(op.operands[0])
    if isinstance(value, Items) and value.items:
        low.bind(op.result, Items(value.items[:-1]))
        return
    rows = _rows_of(low, op)
    length = affine(low, as_number(rows.length))
    most = apply("maximum", "int64", Position(length + -1), 0)
    low.bind(op.result, Rows(rows.rows, low.let("length", most)))


def _list_write(combine: str) -> Callable[[Lowering, Op], None]:
    def rule(low: Lowering, op: Op) -> None:
        rows = _changeable(low, op)
        if combine:
            place = _place(low, rows, op.operands[2])
            _combine(low, rows.rows, place, low.represent(op.operands[1]), combine)
        else:
            message = "list assignment index out of range"
            place = _place(low, rows, op.operands[2], message)
            row_memory.save(low, rows.rows, place, low.represent(op.operands[1]))
        low.bind(op.result, rows)

    return rule


def _combine(
    low: Lowering, columns: Columns, place: Affine, value: Representation, combine: str
) -> None:
    """Combines the item in a row with a value of its type."""
    if isinstance(columns, tuple) and isinstance(value, Items):
        for column, part in zip(columns, value.items, strict=True):
            _combine(low, column, place, part, combine)
        return
    target = row_memory.item_memory(columns, place)
    if isinstance(value, Array):
        array = value
        low.nest(target.shape, lambda at: low.store(target, at, array.load(at), combine))
    elif isinstance(value, (Items, Joined, Rows, Text, Unset)):
        raise NoNativeText("a container in a list of arrays")
    else:
        number = value
        low.nest(target.shape, lambda at: low.store(target, at, number, combine))


def _list_filled(number: float) -> Callable[[Lowering, Op], None]:
    """Returns the rule of a list of equal items, as many as the operand has."""

    def rule(low: Lowering, op: Op) -> None:
        assert isinstance(op.result.type, ListType), op
        length = as_number(row_memory.length_of(low.represent(op.operands[0])))
        columns = row_memory.new_columns(low, op.result.type.item, op.result.name)
        if any(array.buffer.dtype == "bool" for array in arrays_of(columns)):
            raise NoNativeText(f"{op.name} of bools")
        row_memory.reserve(low, columns, affine(low, length))
        row_memory.for_each(low, length, lambda at: _fill(low, columns, at, number))
        low.bind(op.result, Rows(columns, low.let("length", length)))

    return rule


def _fill(low: Lowering, columns: object, place: Affine, number: float) -> None:
    if isinstance(columns, tuple):
        for column in columns:
            _fill(low, column, place, number)
        return
    if not isinstance(columns, Array):
        raise NoNativeText("zeros for a list of lists")
    row = columns.item(place)
    value: Expression = cast(Literal(number, "float64"), row.dtype)
    low.nest(row.shape, lambda at: low.store(row, at, value))


def _list_rows(low: Lowering, op: Op) -> None:
    array = low.array(op.operands[0])
    low.bind(op.result, Rows(array, array.shape[0]))


def _list_copy(low: Lowering, op: Op) -> None:
    low.bind(op.result, low.represent(op.operands[0]))


def _list_sum(low: Lowering, op: Op) -> None:
    value = _rows_of(low, op)
    rows, (dtype, shape) = value.rows, array_facts(op.result.type)
    if not isinstance(rows, Array) or rows.shape[1:] != shape or rows.dtype != dtype:
        raise NoNativeText(f"{op.name} of items of another type")
    array, zero = rows, cast(Literal(0, "int64"), dtype)
    if op.name == "list_sum_from":
        start = op.operands[1]
        total = low.mapped(op.result.name, dtype, shape, lambda at: low.element(start, at))
    else:
        total = low.mapped(op.result.name, dtype, shape, lambda at: zero)

    def add(place: Affine) -> None:
        row = array.item(place)
        _add_row(low, total, row)

    row_memory.for_each(low, value.length, add)
    low.bind(op.result, total if shape else low.let(op.result.name, total.load(())))


def _list_repeat(low: Lowering, op: Op) -> None:
    rows, times = _rows_of(low, op), low.number(op.operands[1])
    assert isinstance(op.result.type, ListType), op
    columns, length = row_memory.new_columns(low, op.result.type.item, "rows"), rows.length
    count = low.let("times", apply("maximum", "int64", times, 0))
    total = low.let("length", apply("mul", "int64", count, length))
    row_memory.reserve(low, columns, affine(low, total))

    def copy(number: Affine) -> None:
        start = apply("mul", "int64", Position(number), length)
        row_memory.copy_rows(low, columns, affine(low, start), rows)

    row_memory.for_each(low, count, copy)
    low.bind(op.result, Rows(columns, total))


def _list_unrepeat(low: Lowering, op: Op) -> None:
    """Adds the pieces of a list, each as long as another list."""
    rows, like = _rows_of(low, op), low.represent(op.operands[1])
    assert isinstance(op.result.type, ListType), op
    columns = row_memory.new_columns(low, op.result.type.item, op.result.name)
    length = low.let("length", as_number(row_memory.length_of(like)))
    if row_memory.has_lists(columns):
        raise NoNativeText("a sum of lists of lists")
    row_memory.reserve(low, columns, affine(low, length))
    row_memory.for_each(low, length, lambda at: _fill(low, columns, at, 0.0))
    least = apply("maximum", "int64", length, 1)
    count = low.let("times", apply("floor_div", "int64", as_number(rows.length), least))
    pairs = list(zip(arrays_of(columns), arrays_of(rows.rows), strict=True))

    def add(number: Affine) -> None:
        start = affine(low, apply("mul", "int64", Position(number), length))
        row_memory.for_each(low, length, lambda at: add_rows(at, start + at))

    def add_rows(to: Affine, place: Affine) -> None:
        for target, addend in pairs:
            _add_row(low, target.item(to), addend.item(place))

    row_memory.for_each(low, count, add)
    low.bind(op.result, Rows(columns, length))


def _list_as(low: Lowering, op: Op) -> None:
    rows = _rows_of(low, op)
    assert isinstance(op.result.type, ListType), op
    source, columns = rows.rows, row_memory.new_columns(low, op.result.type.item, op.result.name)
    if not isinstance(source, Array) or not isinstance(columns, Array):
        raise NoNativeText("a conversion of containers in a list")
    array, result, length = source, columns, as_number(rows.length)
    row_memory.reserve(low, result, affine(low, length))

    def convert(place: Affine) -> None:
        row, given = result.item(place), array.item(place)
        low.nest(row.shape, lambda at: low.store(row, at, cast(given.load(at), row.dtype)))

    row_memory.for_each(low, length, convert)
    low.bind(op.result, Rows(result, rows.length))


def _list_broadcast(low: Lowering, op: Op) -> None:
    assert isinstance(op.result.type, ListType), op
    length = as_number(row_memory.length_of(low.represent(op.operands[1])))
    columns = row_memory.new_columns(low, op.result.type.item, op.result.name)
    row_memory.reserve(low, columns, affine(low, length))
    value = low.represent(op.operands[0])
    row_memory.for_each(low, length, lambda at: row_memory.save(low, columns, at, value))
    low.bind(op.result, Rows(columns, low.let("length", length)))


def _list_pad(low: Lowering, op: Op) -> None:
    """Extends a list with zeros to the length of a list or an array."""
    value, like = (low.represent(operand) for operand in op.operands)
    assert isinstance(op.result.type, ListType), op
    length = row_memory.length_of(value)
    if isinstance(like, Array):
        columns = row_memory.new_columns(low, op.result.type.item, op.result.name, like.shape[0])
        full: int | Expression = like.shape[0]
    else:
        columns = row_memory.new_columns(low, op.result.type.item, op.result.name)
        longest = apply(
            "maximum", "int64", as_number(length), as_number(row_memory.length_of(like))
        )
        full = low.let("length", longest)
        row_memory.reserve(low, columns, affine(low, full))
    row_memory.for_each(low, full, lambda at: _fill(low, columns, at, 0.0))
    if isinstance(full, int):
        _check_length(low, length, full)
    row_memory.copy_rows(low, columns, Affine(), value)
    low.bind(op.result, Rows(columns, full))


def _check_length(low: Lowering, length: int | Expression, most: int) -> None:
    """Fails if a list has more items than an array has rows."""
    if isinstance(length, int):
        assert length <= most, (length, most)
        return
    longer = Apply("greater", (length, Literal(most, "int64")), "bool")
    low.fail_if(longer, "IndexError", f"index {most} is out of bounds for axis 0 with size {most}")


def _list_trim(low: Lowering, op: Op) -> None:
    rows, length = _rows_of(low, op), row_memory.length_of(low.represent(op.operands[1]))
    low.bind(op.result, Rows(rows.rows, length))


def _sliced(low: Lowering, op: Op, rows: Rows) -> tuple[Affine, int, Expression]:
    """Returns the first place of a slice, its step, and the number of its items."""
    start, stop, step = op.operands[-3:]
    step = 1 if step is None else step
    if not isinstance(step, int) or step == 0:
        raise NoNativeText("a slice with a run-time step")
    length = as_number(rows.length)
    low_end, high_end = (0, length) if step > 0 else (-1, apply("sub", "int64", length, 1))

    def bound(given: AnyOperand, default: int | Expression) -> Expression:
        if given is None:
            return as_number(default)
        number = low.number(given)
        behind = apply("add", "int64", number, length)
        negative = Apply("less", (number, Literal(0, "int64")), "bool")
        counted = low.let("bound", Apply("select", (negative, behind, number), "int64"))
        return apply("minimum", "int64", apply("maximum", "int64", counted, low_end), high_end)

    first = bound(start, low_end if step > 0 else high_end)
    last = bound(stop, high_end if step > 0 else low_end)
    span = apply("sub", "int64", last, first) if step > 0 else apply("sub", "int64", first, last)
    if abs(step) > 1:
        span = apply("floor_div", "int64", apply("add", "int64", span, abs(step) - 1), abs(step))
    count = low.let("count", apply("maximum", "int64", span, 0))
    return affine(low, first), step, count


def _list_slice(low: Lowering, op: Op) -> None:
    rows = _rows_of(low, op)
    assert isinstance(op.result.type, ListType), op
    first, step, count = _sliced(low, op, rows)
    columns = row_memory.new_columns(low, op.result.type.item, op.result.name)
    row_memory.reserve(low, columns, affine(low, count))
    row_memory.for_each(
        low,
        count,
        lambda at: row_memory.save(
            low, columns, at, row_memory.item(low, rows.rows, first + at * step)
        ),
    )
    low.bind(op.result, Rows(columns, count))


def _list_unslice(low: Lowering, op: Op) -> None:
    value, like = (low.represent(operand) for operand in op.operands[:2])
    assert isinstance(op.result.type, ListType), op
    length = low.let("length", as_number(row_memory.length_of(like)))
    columns = row_memory.new_columns(low, op.result.type.item, op.result.name)
    result = Rows(columns, length)
    row_memory.reserve(low, columns, affine(low, length))
    row_memory.for_each(low, length, lambda at: _fill(low, columns, at, 0.0))
    first, step, count = _sliced(low, op, result)
    given = as_number(row_memory.length_of(value))
    fewest = low.let("count", apply("minimum", "int64", count, given))
    rows = value if isinstance(value, Rows) else _copied(low, op.result.type.item, value)
    row_memory.for_each(
        low,
        fewest,
        lambda at: row_memory.save(
            low, columns, first + at * step, row_memory.item(low, rows.rows, at)
        ),
    )
    low.bind(op.result, result)


def _add_row(low: Lowering, target: Array, row: Array) -> None:
    low.nest(target.shape, lambda at: low.store(target, at, row.load(at), "add"))


def _list_add(low: Lowering, op: Op) -> None:
    """Adds the items of two lists of one length."""
    rows = _changeable(low, op)
    other = low.represent(op.operands[1])
    assert isinstance(op.result.type, ListType), op
    more = other if isinstance(other, Rows) else _copied(low, op.result.type.item, other)
    lengths = as_number(rows.length), as_number(more.length)
    count = low.let("count", apply("minimum", "int64", *lengths))
    pairs = list(zip(arrays_of(rows.rows), arrays_of(more.rows), strict=True))
    if row_memory.has_lists(rows.rows):
        raise NoNativeText("a sum of lists of lists")

    def add(place: Affine) -> None:
        for array, addend in pairs:
            target, row = array.item(place), addend.item(place)
            _add_row(low, target, row)

    row_memory.for_each(low, count, add)
    low.bind(op.result, Rows(rows.rows, count))


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {
    "make_tuple": _make_items,
    "make_list": _make_items,
    "item": _item,
    "list_join": _list_join,
    "stack_rows": _stack_rows,
    "list_item": _list_item,
    "list_append": _list_append,
    "list_head": _list_head,
    "list_set": _list_write(""),
    "list_add_at": _list_write("add"),
    "list_zeros": _list_filled(0.0),
    "list_ones": _list_filled(1.0),
    "list_rows": _list_rows,
    "list_repeat": _list_repeat,
    "list_unrepeat": _list_unrepeat,
    "list_as": _list_as,
    "list_copy": _list_copy,
    "list_own": _list_copy,
    "list_sum": _list_sum,
    "list_sum_from": _list_sum,
    "list_sum_items": _list_sum,
    "list_broadcast": _list_broadcast,
    "list_pad": _list_pad,
    "list_trim": _list_trim,
    "list_slice": _list_slice,
    "list_unslice": _list_unslice,
    "list_add": _list_add,
}
