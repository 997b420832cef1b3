"""The items of run-time lists: rows of buffers that grow.

The items of a list have one type. A tuple is stored part by part. A list of lists stores the rows
of all lists one behind the other.
"""

from __future__ import annotations

from collections.abc import Callable

from autodiff_compiler.ir.types import ListType, TupleType, Type
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Apply,
    Buffer,
    Expression,
    Literal,
    Position,
    Read,
    Reserve,
    Scalar,
)
from autodiff_compiler.loops.core.state import Lowering, array_facts, arrays_of, cast
from autodiff_compiler.loops.core.values import (
    Array,
    Columns,
    Items,
    Jagged,
    Joined,
    NoNativeText,
    Representation,
    Rows,
    Text,
    Unset,
    row_major,
)


def new_columns(low: Lowering, item: Type, name: str, rows: int | None = None) -> Columns:
    """Returns memory for items of a type: for a known number of rows, or memory that grows."""
    if isinstance(item, TupleType):
        return tuple(new_columns(low, part, name, rows) for part in item.items)
    if isinstance(item, ListType):
        end = low.variable("end", Literal(0, "int64"))
        first, lengths = (_column(each, "int64", (), rows) for each in ("first", "lengths"))
        return Jagged(new_columns(low, item.item, name), first, lengths, end)
    return _column(name, *array_facts(item), rows)


def _column(name: str, dtype: str, shape: tuple[int, ...], rows: int | None) -> Array:
    size = row_major((1, *shape))[0]
    buffer = Buffer(name, dtype, (rows or 0) * size, grows=rows is None)
    return Array(buffer, Affine(), (rows or 0, *shape), (size, *row_major(shape)))


def reserve(low: Lowering, columns: Columns, rows: Affine) -> None:
    """Makes room for a number of rows in memory that grows."""
    if isinstance(columns, Array):
        if columns.buffer.grows:
            low.add(Reserve(columns.buffer, rows * columns.strides[0], low.span))
    elif isinstance(columns, Jagged):
        reserve(low, columns.first, rows)
        reserve(low, columns.lengths, rows)
    else:
        for column in columns:
            reserve(low, column, rows)


def save(low: Lowering, columns: Columns, place: Affine, value: Representation) -> None:
    """Stores a value as the row at ``place``; there is room for it."""
    if isinstance(value, Unset):
        return
    if isinstance(columns, Jagged):
        _save_list(low, columns, place, value)
    elif isinstance(columns, tuple):
        if not isinstance(value, Items) or len(value.items) != len(columns):
            raise NoNativeText("a tuple in a list")
        for column, part in zip(columns, value.items):
            save(low, column, place, part)
    elif isinstance(value, (Rows, Items, Joined, Text)):
        raise NoNativeText("a container in a list of arrays")
    elif isinstance(value, Array):
        row, array = columns.item(place), value
        low.nest(row.shape, lambda at: low.store(row, at, array.load(at)))
    else:
        row, number = columns.item(place), value
        low.nest(row.shape, lambda at: low.store(row, at, number))


def _save_list(low: Lowering, columns: Jagged, place: Affine, value: Representation) -> None:
    start = low.current(columns.end)
    length = length_of(value)
    count = affine(low, as_number(length))
    reserve(low, columns.rows, affine(low, start) + count)
    copy_rows(low, columns.rows, affine(low, start), value)
    low.store(columns.first, [place], start)
    low.store(columns.lengths, [place], as_number(length))
    low.set(columns.end, as_number(length), "add")


def copy_rows(low: Lowering, columns: Columns, first: Affine, value: Representation) -> None:
    """Stores the items of a list as the rows from ``first`` on; there is room for them."""
    if isinstance(value, Joined):
        copy_rows(low, columns, first, value.first)
        behind = first + affine(low, as_number(length_of(value.first)))
        copy_rows(low, columns, behind, value.second)
    elif isinstance(value, Items):
        for number, each in enumerate(value.items):
            save(low, columns, first + number, each)
    elif isinstance(value, Rows):
        rows = value.rows
        for_each(low, value.length, lambda at: save(low, columns, first + at, item(low, rows, at)))
    else:
        raise NoNativeText("a list")


def copied_rows(low: Lowering, like: Columns, value: Representation) -> Rows:
    """Returns a copy of a list in new memory, for rows of the same kind as others."""
    columns, length = _columns_like(low, like, "rows"), as_number(length_of(value))
    reserve(low, columns, affine(low, length))
    copy_rows(low, columns, Affine(), value)
    return Rows(columns, low.let("length", Apply("copy", (length,), "int64")))


def _columns_like(low: Lowering, columns: Columns, name: str) -> Columns:
    """Returns memory that grows, for rows of the same kind."""
    if isinstance(columns, Array):
        return _column(name, columns.dtype, columns.shape[1:], None)
    if isinstance(columns, Jagged):
        end = low.variable("end", Literal(0, "int64"))
        first, lengths = (_column(each, "int64", (), None) for each in ("first", "lengths"))
        return Jagged(_columns_like(low, columns.rows, name), first, lengths, end)
    return tuple(_columns_like(low, column, name) for column in columns)


def for_each(low: Lowering, length: int | Expression, body: Callable[[Affine], None]) -> None:
    """Adds a loop over the rows of a list, one after another."""
    low.loop(length if isinstance(length, int) else scalar(low, length), body, False)


def item_memory(columns: Columns, place: Affine) -> Array:
    """Returns the memory of a row that is an array or a number."""
    if not isinstance(columns, Array):
        raise NoNativeText("a container in a list of arrays")
    return columns.item(place)


def item(low: Lowering, columns: Columns, place: Affine) -> Representation:
    """Returns what is stored in a row."""
    if isinstance(columns, Array):
        row = columns.item(place)
        return row if row.shape else low.let("item", row.load(()))
    if isinstance(columns, Jagged):
        first = affine(low, low.let("first", columns.first.load([place])))
        length = low.let("length", columns.lengths.load([place]))
        return Rows(_shifted(columns.rows, first), length)
    return Items(tuple(item(low, column, place) for column in columns))


def _shifted(columns: Columns, first: Affine) -> Columns:
    """Returns the rows from ``first`` on."""
    if isinstance(columns, Array):
        at = columns.at + first * columns.strides[0]
        return Array(columns.buffer, at, columns.shape, columns.strides)
    if isinstance(columns, Jagged):
        arrays = [_shifted(each, first) for each in (columns.first, columns.lengths)]
        assert isinstance(arrays[0], Array) and isinstance(arrays[1], Array)
        return Jagged(columns.rows, arrays[0], arrays[1], columns.end)
    return tuple(_shifted(column, first) for column in columns)


def length_of(value: Representation) -> int | Expression:
    """Returns the number of items of a list."""
    if isinstance(value, Items):
        return len(value.items)
    if isinstance(value, Rows):
        return value.length
    if isinstance(value, Joined):
        one, other = length_of(value.first), length_of(value.second)
        if isinstance(one, int) and isinstance(other, int):
            return one + other
        return Apply("add", (as_number(one), as_number(other)), "int64")
    raise NoNativeText("the length of a container")


def grows_at_end(rows: Columns) -> bool:
    """True if nothing else stands in the memory of these rows."""
    return all(array.buffer.grows and array.at == Affine() for array in arrays_of(rows))


def has_lists(columns: Columns) -> bool:
    """True if the items of a list contain lists."""
    if isinstance(columns, tuple):
        return any(map(has_lists, columns))
    return isinstance(columns, Jagged)


def as_number(length: int | Expression) -> Expression:
    return Literal(length, "int64") if isinstance(length, int) else length


def affine(low: Lowering, value: Expression) -> Affine:
    """Returns an integer as an affine form."""
    if isinstance(value, Literal):
        return Affine(int(value.value))
    if isinstance(value, Position):
        return value.at
    return Affine.of(scalar(low, value))


def scalar(low: Lowering, value: Expression) -> Scalar:
    """Returns a scalar with the value that an integer has now."""
    if isinstance(value, Read) and not value.scalar.mutable:
        return value.scalar
    read = low.let("length", Apply("copy", (cast(value, "int64"),), "int64"))
    assert isinstance(read, Read)
    return read.scalar
