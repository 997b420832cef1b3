"""Choosing elements by a condition, under MindSpore's names."""

from __future__ import annotations

__macro__ = True

from typing import Any

import numpy as np

from autodiff_compiler.common.dtype import int32, int64
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.operators.core import scalar_conversion, structure
from autodiff_compiler.operators.elementwise import arithmetic, comparisons, powers
from autodiff_compiler.operators.indexing import indexing
from autodiff_compiler.ops.core.shape_queries import (
    axis_of,
    dtype_of,
    in_dtype,
    known_rank,
    known_sizes,
    shape_of,
)
from autodiff_compiler.ops.functions import arrays, creation, gather_scatter, reductions


def _together(input: Any, mask: Any) -> tuple[Any, Any]:
    """Returns a tensor and its mask, each broadcast to the shape of both.

    If sizes are not known, only the mask is broadcast.
    """
    have, want = shape_of(input), shape_of(mask)
    if have is not None and have == want and None not in have:
        return input, mask
    if have is None or want is None or not all(isinstance(dim, int) for dim in (*have, *want)):
        return input, arrays.broadcast_to(mask, arrays.shape(input))
    both = structure.broadcast_shapes([have, want])
    if both != have:
        input = arrays.broadcast_to(input, both)
    return input, mask if both == want else arrays.broadcast_to(mask, both)


def masked_select(input: Any, mask: Any) -> Tensor:
    """Returns the elements for which the mask holds, in one row."""
    input, mask = _together(input, mask)
    return indexing.index(input, mask, index=(("op", 0),))


def masked_scatter(input: Any, mask: Any, source: Any) -> Tensor:
    """Returns input with the first elements of source, one after another, where the mask holds."""
    input, mask = _together(input, mask)
    count = scalar_conversion.to_number(reductions.sum(mask), kind="int")
    first = gather_scatter.item_at(arrays.ravel(source), slice(None, count))
    return indexing.set_item(input, first, mask, index=(("op", 0),))


def one_hot(
    indices: Any, depth: int, on_value: Any = 1, off_value: Any = 0, axis: int = -1
) -> Tensor:
    """Returns on_value at each index along a new axis of size ``depth``, else off_value.

    An index outside of the range is nowhere on. Plain numbers give int64, or float32.
    """
    rank = known_rank(indices, "one_hot")
    place = axis_of(axis, rank + 1)
    classes = arrays.reshape(creation.arange(depth), (-1, *(1,) * (rank - place)))
    hit = comparisons.equal(arrays.expand_dims(indices, place), classes)
    if dtype_of(on_value) is None and dtype_of(off_value) is None:
        both_integers = isinstance(on_value, int) and isinstance(off_value, int)
        hit = in_dtype(hit, int64 if both_integers else "float32")
        return hit if (on_value, off_value) == (1, 0) else hit * (on_value - off_value) + off_value
    return arithmetic.where(hit, on_value, off_value)


def sequence_mask(lengths: Any, maxlen: Any = None) -> Tensor:
    """Returns a row of ``maxlen`` bools for each length: that many True, then False."""
    if maxlen is None:
        maxlen = scalar_conversion.to_number(reductions.max(lengths)[0], kind="int")
    return comparisons.less(creation.arange(maxlen), arrays.expand_dims(lengths, -1))


def nan_to_num(input: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Tensor:
    """Replaces NaN (by default by 0) and the infinities (by default by the ends of the dtype)."""
    ends = np.finfo(dtype_of(input) or "float32")
    high = ends.max.item() if posinf is None else posinf
    low = ends.min.item() if neginf is None else neginf
    x = arithmetic.where(comparisons.isnan(input), 0.0 if nan is None else nan, input)
    x = arithmetic.where(comparisons.equal(x, float("inf")), high, x)
    return arithmetic.where(comparisons.equal(x, float("-inf")), low, x)


def nansum(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Returns the sum over ``axis`` of all elements that are not NaN."""
    numbers_only = arithmetic.where(comparisons.isnan(input), 0.0, input)
    return reductions.sum(numbers_only, axis, keepdims, dtype=dtype)


def nanmean(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Returns the mean over ``axis`` of all elements that are not NaN."""
    known = comparisons.logical_not(comparisons.isnan(input))
    count = in_dtype(reductions.sum(known, axis, keepdims), dtype_of(input))
    return in_dtype(nansum(input, axis, keepdims) / count, dtype)


def count_nonzero(x: Any, axis: Any = (), keep_dims: bool = False, dtype: Any = int32) -> Tensor:
    """Returns the number of nonzero elements over ``axis``."""
    return in_dtype(reductions.sum(comparisons.not_equal(x, 0), axis, keep_dims), dtype)


def heaviside(input: Any, values: Any) -> Tensor:
    """Returns 0 below zero, 1 above zero, ``values`` at zero."""
    step = in_dtype(comparisons.greater(input, 0), dtype_of(input))
    return arithmetic.where(comparisons.equal(input, 0), values, step)


def renorm(input: Any, p: Any, axis: int, maxnorm: Any) -> Tensor:
    """Returns the slices along an axis, scaled down to a p-norm of at most ``maxnorm``."""
    rank = known_rank(input, "renorm")
    axis = axis_of(axis, rank)
    others = tuple(other for other in range(rank) if other != axis)
    raised = powers.pow(arithmetic.abs(input), p)
    total = reductions.sum(raised, others, True)
    over = comparisons.greater(total, float(maxnorm) ** p)
    size = powers.pow(arithmetic.where(over, total, 1.0), 1.0 / p)
    return input * arithmetic.where(over, maxnorm / (size + 1e-7), 1.0)


def reverse_sequence(x: Any, seq_lengths: Any, seq_dim: int, batch_dim: int = 0) -> Tensor:
    """Returns the first ``seq_lengths[b]`` items of each batch in reverse order, the others as they
    are."""
    rank = known_rank(x, "reverse_sequence")
    seq, batch = axis_of(seq_dim, rank), axis_of(batch_dim, rank)
    order = (batch, seq, *(k for k in range(rank) if k not in (batch, seq)))
    sizes = arrays.shape(x)
    length = arrays.expand_dims(in_dtype(seq_lengths, int64), 1)
    step = creation.arange(sizes[seq])
    place = arithmetic.where(comparisons.less(step, length), length - 1 - step, step)
    rows = arrays.reshape(creation.arange(sizes[batch]), (-1, 1))
    if order == tuple(range(rank)):
        return indexing.index(x, rows, place, index=(("op", 0), ("op", 1)))
    moved = indexing.index(arrays.transpose(x, order), rows, place, index=(("op", 0), ("op", 1)))
    return arrays.transpose(moved, structure.inverse(order))


def fill_diagonal(input: Any, fill_value: Any, wrap: bool = False) -> Tensor:
    """Returns input with a number at the positions whose coordinates are all equal."""
    dims = known_sizes(input, "fill_diagonal")
    if wrap and len(dims) == 2 and dims[0] > dims[1] + 1:
        raise ShapeError("fill_diagonal with wrap=True on a tall matrix is not supported")
    place = creation.arange(min(dims))
    return indexing.set_item(input, fill_value, place, index=(("op", 0),) * len(dims))


__all__ = [
    "count_nonzero",
    "heaviside",
    "masked_select",
    "nan_to_num",
    "nanmean",
    "nansum",
    "one_hot",
    "renorm",
    "reverse_sequence",
    "sequence_mask",
]
