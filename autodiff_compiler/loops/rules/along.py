"""Positions along one axis: reading and writing there, sorting and searching.

Positions of elements are an array that has the shape of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from autodiff_compiler.ir.nodes import AnyOperand, Op
from autodiff_compiler.ir.types import SHORT
from autodiff_compiler.loop_ir.nodes import Affine, Literal
from autodiff_compiler.loops.core.positions import check_positions, from_start
from autodiff_compiler.loops.core.state import Lowering, array_facts
from autodiff_compiler.loops.core.values import Array, NoNativeText
from autodiff_compiler.loops.rules.indexing import add_to, finish, writable, zeros


def _each(
    low: Lowering,
    x: Array,
    positions: AnyOperand,
    axis: int,
    body: Callable[[list[Affine], Affine], None],
    independent: bool = True,
) -> None:
    """Adds loops over the positions; ``body`` takes their indices and the position in ``x``."""
    axis %= len(x.shape)
    size = x.shape[axis]
    check_positions(low, positions, size, axis)
    array = low.array(positions)
    base = x.with_axes(
        [1 if each == axis else length for each, length in enumerate(x.shape)], x.strides
    )

    def enter(indices: list[Affine]) -> None:
        place = from_start(low, array.load(indices), size)
        body(indices, base.position(indices) + place * x.strides[axis])

    low.nest(array.shape, enter, independent)


def _take_along(low: Lowering, op: Op) -> None:
    x, result = low.array(op.operands[0]), low.result_array(op.result)

    def element(indices: list[Affine], position: Affine) -> None:
        low.store(result, indices, Array(x.buffer, position, (), ()).load(()))

    _each(low, x, op.operands[1], op.attrs["axis"], element)
    low.bind(op.result, result)


def _add(low: Lowering, op: Op, target: Array, value: AnyOperand, positions: AnyOperand) -> None:
    def element(indices: list[Affine], position: Affine) -> None:
        place = Array(target.buffer, position, (), ())
        add_to(low, place, low.element(value, indices), "add")

    axis = op.attrs["axis"]
    is_once = low.array(positions).shape[axis] == 1
    _each(low, target, positions, axis, element, is_once)
    finish(low, op, target)


def _put_along(low: Lowering, op: Op) -> None:
    _add(low, op, zeros(low, op), op.operands[0], op.operands[1])


def _add_along(low: Lowering, op: Op) -> None:
    _add(low, op, writable(low, op), op.operands[1], op.operands[2])


# ---- sorting and searching


def _moved(values: Sequence[int], axis: int, to: int) -> list[int]:
    """Returns sizes or strides with one of them at another place."""
    rest = list(values)
    rest.insert(to, rest.pop(axis))
    return rest


def _order(low: Lowering, x: Array, axis: int, descending: bool, order: Array | None) -> Array:
    """Returns the positions that sort an array along an axis: ``order``, or a new array."""
    last = len(x.shape) - 1
    rows = x.with_axes(_moved(x.shape, axis, last), _moved(x.strides, axis, last))
    rows = low.in_order(rows, "rows")
    if order is None or axis != last:
        order = low.new_array("int64", rows.shape, "order")
    merged = low.new_array("int64", rows.shape[-1:], "merged")
    name, choices = f"argsort_{SHORT[x.dtype]}", (rows.shape[-1], int(descending))
    result = order

    def sort(at: list[Affine]) -> None:
        low.call(name, choices, (result.part(at, 1), merged.part((), 1)), (rows.part(at, 1),))

    if 0 not in rows.shape:
        low.nest(rows.shape[:-1], sort, False)
    return order.with_axes(x.shape, _moved(order.strides, last, axis))


def _argsort(low: Lowering, op: Op) -> None:
    x, result = low.array(op.operands[0]), low.result_array(op.result)
    axis = op.attrs["axis"] % len(x.shape)
    order = _order(low, x, axis, op.attrs["descending"], result)
    low.frames[-1].checked.add((op.result, x.shape[axis]))
    low.bind(op.result, order)


def _argmedian(low: Lowering, op: Op) -> None:
    x = low.array(op.operands[0])
    axis = op.attrs["axis"] % len(x.shape)
    if not x.shape[axis]:
        raise NoNativeText("the median of no elements")
    order, (_, shape) = _order(low, x, axis, False, None), array_facts(op.result.type)
    middle = order.at + order.strides[axis] * ((x.shape[axis] - 1) // 2)
    low.bind(op.result, Array(order.buffer, middle, shape, order.strides))


def _searchsorted(low: Lowering, op: Op) -> None:
    row, values = (low.array(operand) for operand in op.operands)
    dtype = str(np.result_type(row.dtype, values.dtype))
    row, values = low.in_order(row, "row", dtype), low.in_order(values, "values", dtype)
    _, shape = array_facts(op.result.type)
    result = low.result_array(op.result) if shape else low.new_array("int64", (), "places")
    size, places = row.shape[0], result.part((), len(shape))
    if not size:
        low.nest(shape, lambda at: low.store(result, at, Literal(0, "int64")))
    elif places.size:
        choices = (size, places.size, int(op.attrs["side"] == "right"))
        read = (row.part((), 1), values.part((), len(shape)))
        low.call(f"searchsorted_{SHORT[dtype]}", choices, (places,), read)
    finish(low, op, result)


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {
    "take_along": _take_along,
    "put_along": _put_along,
    "add_along": _add_along,
    "argsort": _argsort,
    "argmedian": _argmedian,
    "searchsorted": _searchsorted,
}
