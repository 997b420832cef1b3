"""Reading and writing parts of a tensor at positions, under MindSpore's names.

Everything here is ``index``, ``set_item``, ``add_at`` or a relative of these, with the index that
the name stands for. Negative positions count from the end, also for gradients.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.operators.core.index_patterns import FULL
from autodiff_compiler.operators.indexing import indexing, scatter_reduce
from autodiff_compiler.ops.core.shape_queries import (
    axis_of,
    dtype_of,
    known_rank,
    rank_of,
    setting,
    shape_and_operands,
    shape_of,
)
from autodiff_compiler.ops.functions import arrays, creation, elementwise

_slice = slice


def item_at(x: Any, index: Any) -> Any:
    """Returns ``x[index]`` for ints, slices, None, Ellipsis, and tensors or run-time ints among
    them."""
    items, rest = encode(index)
    return indexing.index(x, *rest, index=items)


def encode(index: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Returns a subscript as operators take it: the pattern, and its run-time operands."""
    rest: list[Any] = []

    def code(part: Any) -> Any:
        if isinstance(part, _slice):
            return ("slice", code(part.start), code(part.stop), code(part.step))
        if hasattr(part, "__apply_operator__"):
            rest.append(part)
            return ("op", len(rest) - 1)
        return "..." if part is Ellipsis else part

    items = tuple(code(part) for part in (index if isinstance(index, tuple) else (index,)))
    return items, tuple(rest)


def along_axis(axis: int, part: Any) -> tuple[Any, ...]:
    """Returns the subscript that takes ``part`` of one axis and all of those before it."""
    return (*(_slice(None),) * axis, part)


def _axis(input: Any, axis: int, what: str) -> int:
    return axis_of(axis, known_rank(input, what) if axis < 0 else rank_of(input))


# ---- one axis


def index_select(input: Any, axis: int, index: Any) -> Tensor:
    """Returns the items along an axis at the given positions."""
    return arrays.gather(input, index, axis)


def index_add(
    x: Any, indices: Any, y: Any, axis: int, use_lock: bool = True, check_index_bound: bool = True
) -> Tensor:
    """Returns x with the items of y added along an axis; a position named twice gets both."""
    place = (*(FULL,) * _axis(x, axis, "index_add"), ("op", 0))
    return indexing.add_at(x, y, indices, index=place)


def index_fill(x: Any, axis: int, index: Any, value: Any) -> Tensor:
    """Returns x with one number written along an axis at the given positions."""
    items, rest = encode(along_axis(_axis(x, axis, "index_fill"), index))
    return indexing.set_item(x, value, *rest, index=items)


def narrow(input: Any, axis: int, start: Any, length: Any) -> Tensor:
    """Returns ``length`` items along an axis, from ``start``."""
    part = _slice(start, start + length)
    return item_at(input, along_axis(_axis(input, axis, "narrow"), part))


def select_scatter(input: Any, src: Any, axis: int, index: int) -> Tensor:
    """Returns input with one item along an axis replaced."""
    items, rest = encode(along_axis(_axis(input, axis, "select_scatter"), index))
    return indexing.set_item(input, src, *rest, index=items)


def slice_scatter(
    input: Any, src: Any, axis: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Tensor:
    """Returns input with a slice along an axis replaced."""
    part = _slice(start, end, None if step == 1 else step)
    items, rest = encode(along_axis(_axis(input, axis, "slice_scatter"), part))
    return indexing.set_item(input, src, *rest, index=items)


def slice(input_x: Any, begin: Sequence[Any], size: Sequence[Any]) -> Tensor:
    """Returns the block of the given size (-1: the rest) that begins at a position."""
    pairs = zip(_numbers(begin), _numbers(size))
    return item_at(
        input_x,
        tuple(_slice(b, None if isinstance(s, int) and s == -1 else b + s) for b, s in pairs),
    )


def _numbers(given: Any) -> list[Any]:
    return list(setting(given))


def strided_slice(
    input_x: Any,
    begin: Any,
    end: Any,
    strides: Any,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    """Returns ``input_x[begin:end:strides]`` for each axis; bit k of a mask speaks of axis k."""
    index: list[Any] = []
    for k, (low, high, step) in enumerate(zip(*map(_numbers, (begin, end, strides)))):
        bit = 1 << k
        if ellipsis_mask & bit:
            index.append(Ellipsis)
        elif new_axis_mask & bit:
            index.append(None)
        elif shrink_axis_mask & bit:
            index.append(low)
        else:
            low, high = (None if begin_mask & bit else low), (None if end_mask & bit else high)
            index.append(_slice(low, high, None if step == 1 else step))
    return item_at(input_x, tuple(index))


# ---- positions of several axes: the last axis of ``indices`` holds a position's coordinates


def _coordinates(indices: Any, what: str) -> tuple[list[Any], tuple[Any, ...]]:
    shape = shape_of(indices)
    count = shape[-1] if shape else None
    if not isinstance(count, int):
        raise ShapeError(
            f"{what} needs the size of the last dimension of the indices at compile time",
            "give the shape of the indices in the signature",
        )
    columns = [item_at(indices, (Ellipsis, k)) for k in range(count)]
    return columns, tuple(("op", k) for k in range(count))


def gather_nd(input_x: Any, indices: Any) -> Tensor:
    """Returns the items at positions, each of which is a row of coordinates."""
    columns, index = _coordinates(indices, "gather_nd")
    return indexing.index(input_x, *columns, index=index)


def scatter_nd(indices: Any, updates: Any, shape: Any) -> Tensor:
    """Returns zeros with the updates added at positions."""
    columns, index = _coordinates(indices, "scatter_nd")
    known, operands = shape_and_operands(shape)
    return indexing.scatter(updates, *columns, *operands, index=index, shape=known)


def tensor_scatter_update(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Returns input_x with the updates written at positions; of two for one position the last
    stays."""
    columns, index = _coordinates(indices, "tensor_scatter_update")
    return indexing.set_item(input_x, updates, *columns, index=index)


def tensor_scatter_add(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Returns input_x with the updates added at positions."""
    columns, index = _coordinates(indices, "tensor_scatter_add")
    return indexing.add_at(input_x, updates, *columns, index=index)


def tensor_scatter_sub(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Returns input_x with the updates subtracted at positions."""
    return tensor_scatter_add(input_x, indices, -updates)


def tensor_scatter_mul(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Returns input_x multiplied by the updates at positions."""
    columns, index = _coordinates(indices, "tensor_scatter_mul")
    return scatter_reduce.multiply_at(input_x, updates, *columns, index=index)


def tensor_scatter_div(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Returns input_x divided by the updates at positions."""
    return input_x / tensor_scatter_mul(creation.ones_like(input_x), indices, updates)


def tensor_scatter_max(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Returns the larger of input_x and the updates at positions; a tie shares the gradient."""
    columns, index = _coordinates(indices, "tensor_scatter_max")
    return scatter_reduce.maximum_at(input_x, updates, *columns, index=index)


def tensor_scatter_min(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Returns the smaller of input_x and the updates at positions; a tie shares the gradient."""
    columns, index = _coordinates(indices, "tensor_scatter_min")
    return scatter_reduce.minimum_at(input_x, updates, *columns, index=index)


# ---- positions along one axis, a different one for each place


def _elements(indices: Any, axis: int, what: str) -> tuple[list[Any], tuple[Any, ...]]:
    """Returns the index of each place of ``indices``, with the entry of ``indices`` along one
    axis."""
    rank = known_rank(indices, what)
    sizes = arrays.shape(indices)
    columns = [
        indices
        if k == axis
        else arrays.reshape(creation.arange(sizes[k]), (-1, *(1,) * (rank - 1 - k)))
        for k in range(rank)
    ]
    return columns, tuple(("op", k) for k in range(rank))


def tensor_scatter_elements(
    input_x: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "none"
) -> Tensor:
    """Returns input_x with each update written (or added) where ``indices`` points along an
    axis."""
    axis = _axis(indices, axis, "tensor_scatter_elements")
    columns, index = _elements(indices, axis, "tensor_scatter_elements")
    if reduction == "add":
        return indexing.add_at(input_x, updates, *columns, index=index)
    if reduction != "none":
        raise ValueError(f"reduction must be 'none' or 'add', not {reduction!r}")
    return indexing.set_item(input_x, updates, *columns, index=index)


def scatter(input: Any, axis: int, index: Any, src: Any) -> Tensor:
    """Returns input with the elements of src written where ``index`` points along an axis."""
    return tensor_scatter_elements(input, index, _cut(src, index), axis)


def scatter_add_elements(input: Any, axis: int, index: Any, src: Any) -> Tensor:
    """Returns input with the elements of src added where ``index`` points along an axis."""
    return tensor_scatter_elements(input, index, _cut(src, index), axis, "add")


def _cut(src: Any, index: Any) -> Any:
    """Returns the part of src that has positions."""
    have, want = shape_of(src), shape_of(index)
    if not have or want is None or have == want and None not in have:
        return src
    return item_at(src, tuple(_slice(None, size) for size in arrays.shape(index)))


def gather_d(x: Any, dim: int, index: Any) -> Tensor:
    """Is equivalent to ``gather_elements``."""
    return arrays.gather_elements(x, dim, index)


# ---- segments


def _segments(input_x: Any, segment_ids: Any, num_segments: Any) -> tuple[Any, Any]:
    """Returns positions and shape of the segments, with one more at the end for ignored items."""
    tail = arrays.shape(input_x)[known_rank(segment_ids, "a sum over segments") :]
    return elementwise.maximum(segment_ids, -1), (num_segments + 1, *tail)


def unsorted_segment_sum(input_x: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    """Returns the sums of the items with equal ids; items with a negative id are ignored."""
    ids, shape = _segments(input_x, segment_ids, num_segments)
    known, operands = shape_and_operands(shape)
    total = indexing.scatter(input_x, ids, *operands, index=(("op", 0),), shape=known)
    return item_at(total, _slice(None, num_segments))


def _gathered(opdef: Any, start: Any, input_x: Any, segment_ids: Any, num_segments: Any) -> Any:
    ids, shape = _segments(input_x, segment_ids, num_segments)
    begin = creation.full(shape, start, dtype=dtype_of(input_x))
    return item_at(opdef(begin, input_x, ids, index=(("op", 0),)), _slice(None, num_segments))


def unsorted_segment_prod(input_x: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    """Returns the products of the items with equal ids; 1 where an id is missing."""
    return _gathered(scatter_reduce.multiply_at, 1, input_x, segment_ids, num_segments)


def _bound(input_x: Any, side: str) -> Any:
    """Returns the smallest or the largest number of a tensor's dtype."""
    name = dtype_of(input_x) or "float32"
    info = np.finfo(name) if "float" in name else np.iinfo(name)
    return getattr(info, side).item() if "float" in name else getattr(info, side)


def unsorted_segment_max(input_x: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    """Returns the largest of the items with equal ids; the least number there is where an id is
    missing."""
    start = _bound(input_x, "min")
    return _gathered(scatter_reduce.maximum_at, start, input_x, segment_ids, num_segments)


def unsorted_segment_min(input_x: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    """Returns the smallest of the items with equal ids; the largest number where an id is
    missing."""
    start = _bound(input_x, "max")
    return _gathered(scatter_reduce.minimum_at, start, input_x, segment_ids, num_segments)


__all__ = [
    "gather_d",
    "gather_nd",
    "index_add",
    "index_fill",
    "index_select",
    "narrow",
    "scatter",
    "scatter_nd",
    "select_scatter",
    "slice",
    "slice_scatter",
    "strided_slice",
    "tensor_scatter_add",
    "tensor_scatter_div",
    "tensor_scatter_elements",
    "tensor_scatter_max",
    "tensor_scatter_min",
    "tensor_scatter_mul",
    "tensor_scatter_sub",
    "tensor_scatter_update",
    "unsorted_segment_max",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sum",
]
