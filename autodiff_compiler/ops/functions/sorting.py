"""Sorting, searching and counting positions, under MindSpore's names.

Sorted values are picked by their positions, so their gradient goes back to where they came from.
Equal elements keep their order, and of equal elements ``topk`` prefers the first.
"""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.common.dtype import int32, int64
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.operators.core.index_patterns import FULL
from autodiff_compiler.operators.elementwise import comparisons
from autodiff_compiler.operators.indexing import concat_and_pad, indexing
from autodiff_compiler.operators.reductions import axis_functions, sorting
from autodiff_compiler.ops.core.shape_queries import (
    axis_of,
    dtype_of,
    in_dtype,
    known_rank,
    rank_of,
    shape_of,
)
from autodiff_compiler.ops.functions import arrays, reductions


def _order(x: Any, axis: int, descending: bool) -> tuple[Any, int]:
    axis = axis_of(axis, known_rank(x, "sorting"))
    return sorting.argsort(x, axis=axis, descending=bool(descending)), axis


def argsort(input: Any, axis: int = -1, descending: bool = False) -> Tensor:
    """Returns the int32 positions that sort the input along an axis."""
    return in_dtype(_order(input, axis, descending)[0], int32)


def sort(input_x: Any, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """Returns the elements in order along an axis, and the int32 positions they came from."""
    order, axis = _order(input_x, axis, descending)
    return axis_functions.take_along(input_x, order, axis=axis), in_dtype(order, int32)


def msort(input: Any) -> Tensor:
    """Returns the elements in ascending order along the first axis."""
    return sort(input, 0)[0]


def topk(
    input: Any, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    """Returns the k largest (or smallest) elements along an axis, best first, and their int32
    positions."""
    axis = axis_of(-1 if dim is None else dim, known_rank(input, "topk"))
    shape = shape_of(input)
    size = None if shape is None else shape[axis]
    if isinstance(size, int) and not 0 <= k <= size:
        raise ShapeError(
            f"{k} elements are requested along axis {axis}, which has size {size}",
            f"ask for at most {size}",
        )
    order, _ = _order(input, axis, largest)
    order = indexing.index(order, index=(*(FULL,) * axis, ("slice", None, k, None)))
    return axis_functions.take_along(input, order, axis=axis), in_dtype(order, int32)


def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """Returns the k-th smallest elements along an axis (k counts from 1), and their positions."""
    order, axis = _order(input, dim, False)
    order = indexing.index(order, index=(*(FULL,) * axis, ("slice", k - 1, k, None)))
    values = axis_functions.take_along(input, order, axis=axis)
    if keepdim:
        return values, order
    return concat_and_pad.squeeze(values, axes=(axis,)), concat_and_pad.squeeze(order, axes=(axis,))


def searchsorted(
    sorted_sequence: Any, values: Any, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """Returns the position of each value in a sorted row: before its equals, or after (``right``).

    Rows of more than one axis are searched each for the values in the same place.
    """
    dtype = int32 if out_int32 else int64
    if rank_of(sorted_sequence) == 1:
        side = "right" if right else "left"
        return in_dtype(sorting.searchsorted(sorted_sequence, values, side=side), dtype)
    row, each = arrays.expand_dims(sorted_sequence, -2), arrays.expand_dims(values, -1)
    before = comparisons.less_equal(row, each) if right else comparisons.less(row, each)
    return in_dtype(reductions.sum(before, -1), dtype)


def search_sorted(sorted_sequence: Any, values: Any, dtype: Any, right: bool) -> Any:
    """Returns what ``searchsorted`` returns, in the given dtype."""
    return in_dtype(searchsorted(sorted_sequence, values, right=right), dtype)


def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """Returns the positions of the nonzero elements: one row for each, or a tensor for each
    axis."""
    places = sorting.nonzero(input)
    if not as_tuple:
        return places
    rank = known_rank(input, "nonzero")
    return tuple(indexing.index(places, index=(FULL, axis)) for axis in range(rank))


def argwhere(input: Any) -> Tensor:
    """Returns the positions of the nonzero elements, a row for each."""
    return nonzero(input)


def unique(input: Any) -> tuple[Tensor, Tensor]:
    """Returns the distinct elements in order of first occurrence, and the position of each input
    among them."""
    rising = sorting.unique(input)
    first = sorting.first_occurrences(input)  # first positions, in ascending order of the elements
    order = sorting.argsort(first, axis=0, descending=False)
    values = indexing.index(rising, order, index=(("op", 0),))
    place = sorting.searchsorted(rising, input, side="left")
    back = sorting.argsort(order, axis=0, descending=False)
    rank = indexing.index(back, place, index=(("op", 0),))
    return values, in_dtype(rank, int64 if dtype_of(input) == "int64" else int32)


def intopk(x1: Any, x2: Any, k: int) -> Tensor:
    """Returns a bool for each row of x1: True if its element number x2 is among the k largest."""
    chosen = arrays.gather_elements(x1, known_rank(x1, "intopk") - 1, arrays.expand_dims(x2, -1))
    return comparisons.less(reductions.sum(comparisons.greater(x1, chosen), -1), k)


top_k = topk

__all__ = [
    "argsort",
    "argwhere",
    "intopk",
    "msort",
    "nonzero",
    "searchsorted",
    "sort",
    "topk",
    "unique",
]
