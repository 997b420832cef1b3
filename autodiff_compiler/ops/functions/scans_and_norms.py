"""Running products and extremes, medians, norms and clipping by norm, under MindSpore's names."""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Sequence
from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.labels import named
from autodiff_compiler.operators.core.index_patterns import FULL
from autodiff_compiler.operators.elementwise import arithmetic, comparisons, powers
from autodiff_compiler.operators.indexing import concat_and_pad, indexing
from autodiff_compiler.operators.linalg import svd
from autodiff_compiler.operators.reductions import axis_functions, reduce, scans
from autodiff_compiler.ops.core.shape_queries import (
    axes_of,
    axis_of,
    dtype_of,
    in_dtype,
    known_rank,
    rank_of,
)
from autodiff_compiler.ops.functions import arrays, rearrange, reductions, sorting

# ---- along an axis


def cumprod(input: Any, dim: int, dtype: Any = None) -> Tensor:
    """Returns running products along an axis."""
    return scans.cumprod(in_dtype(input, dtype), axis=axis_of(dim, rank_of(input)))


def shifted(x: Any, axis: int) -> Any:
    """Shifts the elements by one along an axis: a one comes first, the last is dropped."""
    axis = axis_of(axis, known_rank(x, "an exclusive product"))
    widths = tuple((int(axis == other), 0) for other in range(known_rank(x, "pad")))
    leading = indexing.index(x, index=(*(FULL,) * axis, ("slice", None, -1, None)))
    return concat_and_pad.pad(leading, widths=widths, value=1)


def logcumsumexp(input: Any, axis: int) -> Tensor:
    """Returns log(cumsum(exp(input))) along an axis."""
    return scans.logcumsumexp(input, axis=axis_of(axis, rank_of(input)))


def cummax(input: Any, axis: int) -> tuple[Tensor, Tensor]:
    """Returns the largest elements so far along an axis, and their positions: of equals the
    last."""
    axis = axis_of(axis, rank_of(input))
    place = scans.running_argmax(input, axis=axis)
    return axis_functions.take_along(input, place, axis=axis), place


def cummin(input: Any, axis: int) -> tuple[Tensor, Tensor]:
    """Returns the smallest elements so far along an axis, and their positions: of equals the
    last."""
    axis = axis_of(axis, rank_of(input))
    place = scans.running_argmin(input, axis=axis)
    return axis_functions.take_along(input, place, axis=axis), in_dtype(place, "int32")


def median(input: Any, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Returns the medians along an axis, the lower of two, and their positions."""
    axis = axis_of(axis, known_rank(input, "median"))
    place = scans.argmedian(input, axis=axis)
    value = axis_functions.take_along(input, place, axis=axis)
    if keepdims:
        return value, place
    return concat_and_pad.squeeze(value, axes=(axis,)), concat_and_pad.squeeze(place, axes=(axis,))


def nanmedian(input: Any, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Returns the medians of elements that are not NaN along an axis, and their positions."""
    axis = axis_of(axis, known_rank(input, "nanmedian"))
    order = in_dtype(sorting.argsort(input, axis), "int64")  # NaNs come last
    count = reductions.sum(comparisons.logical_not(comparisons.isnan(input)), axis, True)
    rank = arithmetic.maximum(count - 1, 0) // 2
    place = axis_functions.take_along(order, rank, axis=axis)
    value = axis_functions.take_along(input, place, axis=axis)
    if keepdims:
        return value, place
    return concat_and_pad.squeeze(value, axes=(axis,)), concat_and_pad.squeeze(place, axes=(axis,))


# ---- two answers at once


def aminmax(input: Any, *, axis: Any = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Returns the smallest and the largest elements over an axis (None: of all)."""
    if axis is None:
        return reductions.amin(input, None, keepdims), reductions.amax(input, None, keepdims)
    return reductions.min(input, axis, keepdims)[0], reductions.max(input, axis, keepdims)[0]


def var_mean(
    input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False
) -> tuple[Tensor, Tensor]:
    """Returns the variance and the mean over ``axis``."""
    variance = reductions.var(input, axis, ddof, keepdims)
    return variance, reductions.mean(input, axis, keepdims)


def std_mean(
    input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False
) -> tuple[Tensor, Tensor]:
    """Returns the standard deviation and the mean over ``axis``."""
    return reductions.std(input, axis, ddof, keepdims), reductions.mean(input, axis, keepdims)


# ---- norms


def norm(
    A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """Returns a vector's norm over one axis, or of all elements; over two axes a matrix's, as
    NumPy's.

    Without ``ord`` it is the root of the sum of squares, over any axes. Its slope at 0 is 0.
    """
    A = in_dtype(A, dtype)
    if ord is None:
        return _power_norm(A, 2, axes_of(dim, A), keepdim)
    if dim is None and rank_of(A) != 2:
        flat = vector_norm(arrays.ravel(A), ord, 0, False)
        return flat if not keepdim else arrays.reshape(flat, (1,) * known_rank(A, "norm"))
    axes = axes_of(dim, A) or (0, 1)
    if len(axes) == 1:
        return vector_norm(A, ord, axes[0], keepdim)
    return _matrix_norm(A, ord, axes, keepdim, dim)


def _power_norm(x: Any, p: float, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    """Returns the norm of order p. Its slope is 0 where all is 0, and below order 1 at each 0."""
    if p == 2:
        return reduce.norm(x, axes=axes, keepdims=bool(keepdims))
    parts = arithmetic.abs(x)
    if p == 1:
        return reductions.sum(parts, axes, keepdims)
    total = reductions.sum(_guarded(parts, p, p < 1), axes, keepdims)
    return _guarded(total, 1.0 / p, True)


def _guarded(x: Any, power: float, guard: bool) -> Any:
    """Returns x to a power; with ``guard`` 0 stays 0, with slope 0."""
    if not guard or power < 0:
        return powers.pow(x, power)
    zero = arithmetic.equal(x, 0.0)
    return arithmetic.where(zero, 0.0, powers.pow(arithmetic.where(zero, 1.0, x), power))


def vector_norm(x: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    """Returns the norm of order ``ord`` along one axis."""
    if isinstance(ord, str):
        raise ValueError(f"{ord!r} is a norm of matrices; give two axes in dim")
    if ord == math.inf or ord == -math.inf:
        extreme = reduce.max if ord > 0 else reduce.min
        return extreme(arithmetic.abs(x), axes=(axis,), keepdims=bool(keepdims), first=True)
    if ord == 0:
        count = reductions.sum(arithmetic.sign(arithmetic.abs(x)), axis, keepdims)
        return in_dtype(count, dtype_of(x))
    return _power_norm(x, ord, (axis,), keepdims)


def _matrix_norm(x: Any, ord: Any, axes: Sequence[int], keepdims: bool, dim: Any) -> Any:
    if len(axes) != 2:
        raise ShapeError(f"a norm is taken over one or two axes, not {len(axes)}")
    if ord == "fro":
        return _power_norm(x, 2, tuple(axes), keepdims)
    rows, columns = (axis_of(axis, rank_of(x)) for axis in (dim or (0, 1)))
    if ord in (2, -2, "nuc"):
        result = _of_singular_values(rearrange.moveaxis(x, (rows, columns), (-2, -1)), ord)
        return arrays.expand_dims(result, tuple(sorted((rows, columns)))) if keepdims else result
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(f"there is no norm {ord!r} of a matrix")
    inner, outer = (rows, columns) if abs(ord) == 1 else (columns, rows)
    extreme = reduce.max if ord > 0 else reduce.min
    sums = reductions.sum(arithmetic.abs(x), inner, True)
    result = extreme(sums, axes=(outer,), keepdims=True, first=True)
    return (
        result if keepdims else concat_and_pad.squeeze(result, axes=tuple(sorted((rows, columns))))
    )


def _of_singular_values(x: Any, ord: Any) -> Any:
    """Returns the largest (2), the smallest (-2) or the sum ('nuc') of the singular values."""
    values = svd.singular_values(x)  # the largest first
    if ord == "nuc":
        return reductions.sum(values, -1)
    return indexing.index(values, index=("...", 0 if ord == 2 else -1))


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """Returns the cosine of the angle between x1 and x2 along an axis."""
    norms = (named("norm", _power_norm(x, 2, axes_of(dim, x), False)) for x in (x1, x2))
    sizes = named("norms", next(norms) * next(norms))
    return reductions.sum(x1 * x2, dim) / arithmetic.maximum(sizes, eps)


def lp_norm(x: Any, axis: Any, p: int = 2, keep_dims: bool = False, epsilon: float = 1e-12) -> Any:
    """Returns the p-norm over ``axis``, but at least epsilon; there its slope is 0."""
    even = arithmetic.square(x) if p == 2 else powers.pow(arithmetic.abs(x), p)
    total = reductions.sum(even, axes_of(axis, x), keep_dims)
    total = arithmetic.maximum(total, float(epsilon) ** p)
    return arithmetic.sqrt(total) if p == 2 else powers.pow(total, 1.0 / p)


def l2_normalize(x: Any, axis: Any = 0, epsilon: float = 1e-4) -> Any:
    """Returns x / max(norm of x over ``axis``, epsilon)."""
    return x / lp_norm(x, axis, 2, True, epsilon)


# ---- clipping by norm


def clip_by_norm(
    x: Any, max_norm: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Any:
    """Scales tensors down together so that the norm of all their elements is at most max_norm."""
    if error_if_nonfinite:
        raise ValueError(
            "error_if_nonfinite=True is not supported in compiled code; check the norm outside"
        )
    parts = list(x) if isinstance(x, (tuple, list)) else [x]
    if norm_type == math.inf:
        sizes = [reductions.amax(arithmetic.abs(part)) for part in parts]
        total = arrays.stack(sizes)
        total = reductions.amax(total)
    else:
        powers = [_power_norm(part, norm_type, None, False) for part in parts]
        total = powers[0]
        if len(powers) > 1:
            total = _power_norm(arrays.stack(powers), norm_type, None, False)
    scale = arithmetic.minimum(max_norm / (total + 1e-6), 1.0)
    clipped = [part * in_dtype(scale, dtype_of(part)) for part in parts]
    return type(x)(clipped) if isinstance(x, (tuple, list)) else clipped[0]


def clip_by_global_norm(x: Any, clip_norm: float = 1.0, use_norm: Any = None) -> tuple[Tensor, ...]:
    """Returns tensors times clip_norm / max(global norm, clip_norm), the norm of all their
    elements."""
    if use_norm is not None:
        raise ValueError("use_norm must be None")
    if not clip_norm > 0:
        raise ValueError(f"clip_norm must be a positive number, not {clip_norm!r}")
    total: Any = 0.0
    for part in x:
        part = in_dtype(part, "float32") if dtype_of(part) == "float16" else part
        total = total + reductions.sum(arithmetic.square(part))
    size = arithmetic.sqrt(total)
    size = arithmetic.where(size >= clip_norm, size, float(clip_norm))
    return tuple(in_dtype(part * clip_norm / size, dtype_of(part)) for part in x)


__all__ = [
    "aminmax",
    "clip_by_global_norm",
    "clip_by_norm",
    "cosine_similarity",
    "cummax",
    "cummin",
    "cumprod",
    "logcumsumexp",
    "median",
    "nanmedian",
    "norm",
    "std_mean",
    "var_mean",
]
