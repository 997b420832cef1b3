"""Places of values that change: what a loop carries, and what a branch results in.

An array has one buffer; the next value is copied there. A number is a scalar that may be changed.
A list has rows that grow, and a scalar for the number of its items.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeAlias

from autodiff_compiler.ir.nodes import AnyOperand, Op, Value
from autodiff_compiler.ir.types import ListType, TupleType, Type
from autodiff_compiler.loop_ir.nodes import Affine, Apply, Expression, Literal, Read, Scalar
from autodiff_compiler.loops.core import rows as row_memory
from autodiff_compiler.loops.core.rows import affine, as_number
from autodiff_compiler.loops.core.state import Lowering, array_facts, buffers_of, cast
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

#: Memory for a value that changes.
Place: TypeAlias = "Array | Scalar | Rows | tuple[Place, ...]"


def value_of(place: Place) -> Representation:
    if isinstance(place, Scalar):
        return Read(place)
    return Items(tuple(map(value_of, place))) if isinstance(place, tuple) else place


def list_place(low: Lowering, rows: Columns, length: Expression) -> Rows:
    return Rows(rows, Read(low.variable("length", length)))


def result_place(
    low: Lowering, result: Value, then: Representation, orelse: Representation
) -> Place:
    """Returns the place of the result of a branch."""
    if isinstance(then, Rows) and isinstance(orelse, Rows) and then.rows == orelse.rows:
        return list_place(low, then.rows, Literal(0, "int64"))
    if not isinstance(result.type, (TupleType, ListType)):
        dtype, shape = array_facts(result.type)
        if shape:
            return low.result_array(result)
        return low.variable(result.name, Literal(_zero(dtype), dtype))
    return _new_place(low, result.type, result.name)


def _new_place(low: Lowering, type_: Type, name: str) -> Place:
    """Returns a place for any value of a type."""
    if isinstance(type_, TupleType):
        return tuple(_new_place(low, part, name) for part in type_.items)
    if isinstance(type_, ListType):
        columns = row_memory.new_columns(low, type_.item, name)
        return list_place(low, columns, Literal(0, "int64"))
    dtype, shape = array_facts(type_)
    if shape:
        return low.new_array(dtype, shape, name)
    return low.variable(name, Literal(_zero(dtype), dtype))


def carry_place(low: Lowering, op: Op, param: Value, init: AnyOperand) -> Place:
    """Returns the place of a carried value, with its first value."""
    start = low.represent(init)
    if isinstance(start, (Array, Rows)) and low.may_overwrite(op, init):
        if isinstance(start, Array) and start.shape:
            low.take_over(start)
            return start
        if isinstance(start, Rows) and row_memory.grows_at_end(start.rows):
            low.take_over(start)
            return list_place(low, start.rows, as_number(start.length))
    if not isinstance(start, (Rows, Items, Joined, Text, Unset)):
        dtype, shape = array_facts(param.type)
        if not shape:
            return low.variable(param.name, cast(low.number(init), dtype))
    place = _new_place(low, param.type, param.name)
    assign_all(low, place, start)
    return place


def leaves(place: Place, value: Representation) -> Iterator[tuple[Place, Representation]]:
    """Yields the places of single arrays, numbers and lists, with the values for them."""
    if not isinstance(place, tuple):
        yield place, value
    elif isinstance(value, Items) and len(value.items) == len(place):
        for part, each in zip(place, value.items):
            yield from leaves(part, each)
    elif not isinstance(value, Unset):
        raise NoNativeText("a container that is carried or chosen")


def assign_all(low: Lowering, place: Place, value: Representation) -> None:
    for part, each in leaves(place, value):
        assign(low, part, each)


def apart(
    low: Lowering, place: Place, value: Representation, memory: Collection[object]
) -> Representation:
    """Returns the next value of a carry in a place that the other carries do not write to.

    ``memory`` are the buffers and scalars of all carries.
    """
    if isinstance(value, Array) and value.shape:
        moves = value.buffer in memory and value != place
        return low.copied(value, "next") if moves else value
    if isinstance(place, Scalar) and not isinstance(
        value, (Array, Rows, Items, Joined, Text, Unset)
    ):
        is_apart = isinstance(value, Read) and value.scalar not in memory
        return value if is_apart else low.let(place.name, snapshot(value))
    if isinstance(place, Scalar) and isinstance(value, Array):
        return low.let(place.name, value.load(()))
    if isinstance(place, Rows):
        if isinstance(value, Rows) and value.rows == place.rows:
            return Rows(value.rows, low.let("length", snapshot(as_number(value.length))))
        if any(buffer in memory for buffer in buffers_of(value)):
            return row_memory.copied_rows(low, place.rows, value)
    return value


def assign(low: Lowering, place: Place, value: Representation) -> None:
    """Sets a place to a value. A value that is not set leaves it as it is."""
    if isinstance(value, Unset):
        return
    if isinstance(place, Rows):
        _assign_list(low, place, value)
    elif isinstance(value, (Rows, Items, Joined, Text)) or isinstance(place, tuple):
        raise NoNativeText("a container that is carried or chosen")
    elif isinstance(place, Scalar):
        number = value.load(()) if isinstance(value, Array) else value
        low.set(place, cast(number, place.dtype))
    elif isinstance(value, Array):
        _copy(low, place, value)
    else:
        number = value
        low.nest(place.shape, lambda at: low.store(place, at, number))


def _assign_list(low: Lowering, place: Rows, value: Representation) -> None:
    length = row_memory.length_of(value)
    if not (isinstance(value, Rows) and value.rows == place.rows):
        row_memory.reserve(low, place.rows, affine(low, as_number(length)))
        row_memory.copy_rows(low, place.rows, Affine(), value)
    assert isinstance(place.length, Read), place
    low.set(place.length.scalar, as_number(length))


def snapshot(value: Expression) -> Expression:
    """Returns an expression that ``Lowering.let`` defines anew: its scalars may change."""
    mutable = isinstance(value, Read) and value.scalar.mutable
    return Apply("copy", (value,), value.dtype) if mutable else value


def _zero(dtype: str) -> int | float | bool:
    return False if dtype == "bool" else 0.0 if dtype.startswith("float") else 0


def _copy(low: Lowering, to: Array, value: Array) -> None:
    if to != value:
        low.nest(to.shape, lambda at: low.store(to, at, value.load(at)))
