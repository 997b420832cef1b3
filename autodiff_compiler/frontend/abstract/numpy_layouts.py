"""How NumPy lays out the arrays of a plain function: that decides whether ``reshape`` and ``ravel``
give a view or a copy.

The layout of a value is an array without elements of its own that has the value's shape and the
strides that NumPy would give it. What is not known for certain has no layout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from autodiff_compiler.ir.nodes import Op, Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.indexing import concat_and_pad, indexing
from autodiff_compiler.operators.windows import rearrange

Layout = np.ndarray[Any, Any]
Layouts = MutableMapping[Value, Layout]


def static_shape(value: Any) -> tuple[int, ...] | None:
    """Return the shape of an array all of whose sizes are known."""
    type_ = getattr(value, "type", None)
    if not isinstance(type_, ArrayType) or type_.shape is None or not type_.has_static_shape:
        return None
    return tuple(type_.shape)  # type: ignore[arg-type]


def row_major(shape: tuple[int, ...]) -> Layout:
    """Return the layout of a new array in C order.

    >>> row_major((2, 3)).strides
    (3, 1)
    """
    strides = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return as_strided(np.empty(1, np.int8), shape, strides, writeable=False)


def has_one_order(shape: tuple[int, ...]) -> bool:
    """Decide whether at most one axis has more than one element: such an array has one order."""
    return sum(size != 1 for size in shape) < 2


def layout_in_order(type_: ArrayType, order: Any) -> Layout:
    """Return the layout of an argument in the order that ``interface.ArraySlot`` has.

    >>> layout_in_order(ArrayType("float64", (2, 3)), "F").strides
    (1, 2)
    """
    shape: Any = type_.shape
    if order == "C":
        return row_major(shape)
    if order == "F":
        return row_major(shape[::-1]).T
    size = np.dtype(type_.dtype).itemsize
    strides = tuple(stride // size for stride in order)
    return as_strided(np.empty(1, np.int8), shape, strides, writeable=False)


def layout_of_array(array: Layout) -> Layout:
    """Return the layout of an array that is known, measured in elements."""
    strides = tuple(stride // max(array.itemsize, 1) for stride in array.strides)
    return as_strided(np.empty(1, np.int8), array.shape, strides, writeable=False)


def reshaped_layout(layout: Layout, shape: tuple[int, ...]) -> Layout | None:
    """Return the layout of a reshaped view; None where NumPy has to take a copy.

    >>> reshaped_layout(row_major((2, 3)), (6,)).strides, reshaped_layout(row_major((2, 3)).T, (6,))
    ((1,), None)
    """
    if layout.size == 0:
        return row_major(shape)
    found = layout.view()
    try:
        return found.reshape(shape, copy=False)
    except TypeError:  # NumPy 2.0 knows no ``copy``
        pass
    except ValueError:
        return None
    try:
        found.shape = shape
    except AttributeError:
        return None
    return found


def _layout_of_index(layout: Layout, op: Op) -> Layout:
    def end(part: Any) -> Any:
        if isinstance(part, tuple) and part[0] == "slice":
            return slice(*map(end, part[1:]))
        if isinstance(part, tuple):
            return 0  # one item of the axis, whichever it is
        return ... if part == "..." else part

    return layout[tuple(map(end, op.attrs["index"]))]


#: What each operator that gives a view makes of the layout of its operand.
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
    """Return the layout of the result of ``op``; None where it is not known."""
    shape = static_shape(op.results[0]) if len(op.results) == 1 else None
    if shape is None:
        return None
    first = layouts.get(op.operands[0]) if op.operands else None  # type: ignore[arg-type]
    if op.opdef.writes:
        return first
    try:
        if op.opdef in VIEW_LAYOUTS:
            found = None if first is None else VIEW_LAYOUTS[op.opdef](first, op)
            return found if found is not None and found.shape == shape else None
    except (IndexError, ValueError):
        return None
    if op.opdef is structure.reshape:
        return None if first is None else reshaped_layout(first, shape)
    if op.opdef is structure.full:
        return row_major(shape)
    if (
        op.name not in _ORDER_PRESERVING
        and op.opdef.kind not in _ELEMENTWISE
        and op.name != "matmul"
    ):
        return None
    if has_one_order(shape):
        return row_major(shape)  # new memory has no gaps
    if op.name == "matmul":
        return row_major(shape) if len(shape) == 2 else None
    known: list[Layout] = []
    partial = False
    for operand in op.operands:
        rank = getattr(getattr(operand, "type", None), "ndim", 0)
        layout = layouts.get(operand)  # type: ignore[arg-type]
        if layout is not None:
            known.append(layout)
        elif rank == len(shape) or rank is None:
            return None
        partial |= layout is None and rank > 1
    made = layout_like_operands(known, shape)
    # Where the orders of operands differ, NumPy takes the C order.
    return None if partial and not (made is not None and made.flags.c_contiguous) else made


def layout_like_operands(layouts: Sequence[Layout], shape: tuple[int, ...]) -> Layout | None:
    """Return the layout of a new array that an elementwise operator makes of such operands.

    >>> layout_like_operands([row_major((3, 2)).T], (2, 3)).strides
    (1, 2)
    """
    if not layouts or 0 in shape or all(each.flags.c_contiguous for each in layouts):
        return row_major(shape)
    flags: Any = [["readonly"]] * len(layouts) + [["writeonly", "allocate"]]
    operands: Any = [*layouts, None]
    made = np.nditer(operands, [], flags, order="K", op_dtypes=[np.int8] * len(flags))
    return made.operands[-1] if made.operands[-1].shape == shape else None
