"""Layouts of the arrays of a plain NumPy function: they decide if ``reshape`` returns a view.

The layout of a value is an array without elements of its own. It has the value's shape and the
strides that NumPy would give it. A value whose strides are not certain has no layout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from autodiff_compiler.ir.nodes import AnyOperand, Op, Value, type_of
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.indexing import concat_and_pad, indexing
from autodiff_compiler.operators.windows import rearrange

Layout = np.ndarray[Any, Any]
Layouts = MutableMapping[Value, Layout]


def static_shape(value: Any) -> tuple[int, ...] | None:
    """Returns the shape of an array all of whose sizes are known, else None."""
    type_ = getattr(value, "type", None)
    if not isinstance(type_, ArrayType) or type_.shape is None or not type_.has_static_shape:
        return None
    return type_.static_shape


def row_major(shape: tuple[int, ...]) -> Layout:
    """Returns the layout of a new array in C order.

    >>> row_major((2, 3)).strides
    (3, 1)
    """
    strides = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return as_strided(np.empty(1, np.int8), shape, strides, writeable=False)


def has_one_order(shape: tuple[int, ...]) -> bool:
    """True if at most one axis has more than one element: C and F order are then the same."""
    return sum(size != 1 for size in shape) < 2


def layout_in_order(type_: ArrayType, order: Any) -> Layout:
    """Returns the layout of an argument in the order of its ``interface.ArraySlot``.

    >>> layout_in_order(ArrayType("float64", (2, 3)), "F").strides
    (1, 2)
    """
    shape: Any = type_.shape
    if order == "C":
        return row_major(shape)
    if order == "F":
        transposed: Layout = row_major(shape[::-1]).T
        return transposed
    size = np.dtype(type_.dtype).itemsize
    strides = tuple(stride // size for stride in order)
    return as_strided(np.empty(1, np.int8), shape, strides, writeable=False)


def layout_of_array(array: Layout) -> Layout:
    """Returns the layout of a known array, with strides in elements."""
    strides = tuple(stride // max(array.itemsize, 1) for stride in array.strides)
    return as_strided(np.empty(1, np.int8), array.shape, strides, writeable=False)


def reshaped_layout(layout: Layout, shape: tuple[int, ...]) -> Layout | None:
    """Returns the layout of a reshaped view, or None if NumPy has to copy.

    >>> reshaped_layout(row_major((2, 3)), (6,)).strides, reshaped_layout(row_major((2, 3)).T, (6,))
    ((1,), None)
    """
    if layout.size == 0:
        return row_major(shape)
    view: Layout = layout.view()
    try:
        view = view.reshape(shape, copy=False)
        return view
    except TypeError:  # NumPy 2.0 knows no ``copy``
        pass
    except ValueError:
        return None
    try:
        view.shape = shape
    except AttributeError:
        return None
    return view


def _layout_of_index(layout: Layout, op: Op) -> Layout:
    def end(part: Any) -> Any:
        if isinstance(part, tuple) and part[0] == "slice":
            return slice(*map(end, part[1:]))
        if isinstance(part, tuple):
            return 0  # any item of the axis has this layout
        return ... if part == "..." else part

    view: Layout = layout[tuple(map(end, op.attrs["index"]))]
    return view


#: The layout of an operator's result, from that of its operand, for operators that make views.
VIEW_LAYOUTS: dict[OpDef, Callable[[Layout, Op], Layout]] = {
    indexing.index: _layout_of_index,
    concat_and_pad.flip: lambda x, op: np.flip(x, op.attrs["axes"]),
    concat_and_pad.squeeze: lambda x, op: np.squeeze(x, op.attrs["axes"]),
    rearrange.diagonal: lambda x, op: np.diagonal(x, op.attrs["offset"], -2, -1),
    structure.broadcast_to: lambda x, op: np.broadcast_to(x, static_shape(op.results[0]) or ()),
    structure.expand_dims: lambda x, op: np.expand_dims(x, op.attrs["axes"]),
    structure.swap_last_axes: lambda x, op: x.swapaxes(-1, -2),
    structure.transpose: lambda x, op: x.transpose(op.attrs["perm"]),
}
#: Operators besides the elementwise ones whose result has the order of its operands.
_ORDER_PRESERVING = frozenset(("cast", "copy", "full_like", "conj"))
_ELEMENTWISE = ("elementwise", "zero")


def layout_of(op: Op, layouts: Layouts) -> Layout | None:
    """Returns the layout of the result of ``op``, or None if it is not known."""
    shape = static_shape(op.results[0]) if len(op.results) == 1 else None
    if shape is None:
        return None
    first = _known_layout(op.operands[0], layouts) if op.operands else None
    if op.opdef.writes:
        return first
    if op.opdef is structure.full:
        return row_major(shape)
    if op.opdef is structure.reshape or op.opdef in VIEW_LAYOUTS:
        return None if first is None else _layout_of_view(op, first, shape)
    return _layout_of_new_array(op, shape, layouts)


def _known_layout(operand: AnyOperand, layouts: Layouts) -> Layout | None:
    return layouts.get(operand) if isinstance(operand, Value) else None


def _layout_of_view(op: Op, source: Layout, shape: tuple[int, ...]) -> Layout | None:
    """Returns the layout of a view of an array with layout ``source``."""
    if op.opdef is structure.reshape:
        return reshaped_layout(source, shape)
    try:
        view = VIEW_LAYOUTS[op.opdef](source, op)
    except (IndexError, ValueError):
        return None
    return view if view.shape == shape else None


def _layout_of_new_array(op: Op, shape: tuple[int, ...], layouts: Layouts) -> Layout | None:
    """Returns the layout of the result of an operator that makes a new array."""
    keeps_order = op.name in _ORDER_PRESERVING or op.opdef.kind in _ELEMENTWISE
    if not keeps_order and op.name != "matmul":
        return None
    if has_one_order(shape):
        return row_major(shape)  # new memory has no gaps
    if op.name == "matmul":
        return row_major(shape) if len(shape) == 2 else None
    known: list[Layout] = []
    some_unknown = False
    for operand in op.operands:
        type_ = type_of(operand)
        rank = type_.ndim if isinstance(type_, ArrayType) else 0
        layout = _known_layout(operand, layouts)
        if layout is not None:
            known.append(layout)
        elif rank is None or rank == len(shape):
            return None
        else:
            some_unknown |= rank > 1
    result = layout_like_operands(known, shape)
    # If the orders of the operands differ, NumPy takes the C order.
    return (
        None if some_unknown and not (result is not None and result.flags.c_contiguous) else result
    )


def layout_like_operands(layouts: Sequence[Layout], shape: tuple[int, ...]) -> Layout | None:
    """Returns the layout of the array that an elementwise operator makes of such operands.

    >>> layout_like_operands([row_major((3, 2)).T], (2, 3)).strides
    (1, 2)
    """
    if not layouts or 0 in shape or all(each.flags.c_contiguous for each in layouts):
        return row_major(shape)
    flags: Any = [["readonly"]] * len(layouts) + [["writeonly", "allocate"]]
    operands: Any = [*layouts, None]
    iterator = np.nditer(operands, [], flags, order="K", op_dtypes=[np.int8] * len(flags))
    return iterator.operands[-1] if iterator.operands[-1].shape == shape else None
