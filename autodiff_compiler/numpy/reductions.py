"""Sums, extremes and statistics over axes, and what runs along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common.dtype import to_numpy_name
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.operators import declare, reduce, structure
from autodiff_compiler.ops._shapes import dtype_of, known_sizes, rank_of
from autodiff_compiler.ops.parts import item_at


def _axes(a: Any, axis: Any) -> tuple[int, ...] | None:
    return declare.normal_axes(axis, rank_of(a) or 0)


def _reduction(record: OpDef, **fixed: Any) -> Callable[..., Any]:
    def reduction(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        kind = None if dtype is None else to_numpy_name(dtype)
        a = a if kind is None else structure.cast(a, dtype=kind)
        out = record(a, axes=_axes(a, axis), keepdims=bool(keepdims), **fixed)
        # Small whole numbers are added up in more bits, and cut off afterwards.
        return out if dtype_of(out) == kind or kind is None else structure.cast(out, dtype=kind)

    return reduction


def _extreme(record: OpDef) -> Callable[..., Any]:
    """A tie is shared, as over several axes."""

    def extreme(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return record(a, axes=_axes(a, axis), keepdims=bool(keepdims), first=False)

    return extreme


def _floating(a: Any) -> Any:
    exact = (dtype_of(a) or "float64").startswith(("int", "uint", "bool"))
    return structure.cast(a, dtype="float64") if exact else a


sum = _reduction(structure.sum_)
prod = _reduction(reduce.prod)
any, all = _reduction(reduce.any), _reduction(reduce.all)
max = amax = _extreme(reduce.max)
min = amin = _extreme(reduce.min)


def mean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The mean; of whole numbers as float64."""
    return reduce.mean(_floating(a), axes=_axes(a, axis), keepdims=bool(keepdims))


def var(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    """The variance, divided by count - ddof."""
    return reduce.var(_floating(a), axes=_axes(a, axis), keepdims=bool(keepdims), ddof=ddof)


def std(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    """The standard deviation, by count - ddof."""
    return reduce.std(_floating(a), axes=_axes(a, axis), keepdims=bool(keepdims), ddof=ddof)


def average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    """The mean with weights, which have the shape of ``a`` or are one per place of the axis."""
    if weights is None:
        return mean(a, axis, keepdims=keepdims)
    if rank_of(weights) == 1 and rank_of(a) != 1:
        rank = rank_of(a) or 0
        shape = tuple(-1 if k == axis % rank else 1 for k in range(rank))
        weights = ops.zeros_like(a) + ops.reshape(weights, shape)
    return sum(a * weights, axis, keepdims=keepdims) / sum(weights, axis, keepdims=keepdims)


def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """From the smallest to the largest."""
    return max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims)


def median(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The element in the middle, or the mean of the two that are."""
    rank = rank_of(a) or 0
    row = ops.reshape(a, (-1,)) if axis is None else ops.moveaxis(a, axis, -1)
    row, _ = ops.sort(row)
    size = known_sizes(row, "median")[-1]
    middle = (item_at(row, (..., (size - 1) // 2)) + item_at(row, (..., size // 2))) / 2
    if not keepdims:
        return middle
    return ops.reshape(middle, (1,) * rank) if axis is None else ops.expand_dims(middle, axis)


def nansum(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The sum without NaN."""
    return sum(ops.where(ops.isnan(a), 0.0, a), axis, keepdims=keepdims)


def nanmean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The mean without NaN."""
    count = sum(ops.where(ops.isnan(a), 0.0, 1.0), axis, keepdims=keepdims)
    return nansum(a, axis, keepdims=keepdims) / count


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Any:
    """Whether all elements are equal but for rounding."""
    return all(ops.isclose(a, b, rtol, atol))


def argmax(a: Any, axis: int | None = None) -> Any:
    """The position of the first largest."""
    return ops.argmax(a, axis)


def argmin(a: Any, axis: int | None = None) -> Any:
    """The position of the first smallest."""
    return ops.argmin(a, axis)


def count_nonzero(a: Any, axis: Any = None) -> Any:
    """How many are not zero."""
    return sum(ops.where(ops.not_equal(a, 0), 1, 0), axis)


def cumsum(a: Any, axis: int | None = None) -> Any:
    """Running sums, of all in one row or along an axis."""
    return ops.cumsum(ops.reshape(a, (-1,)) if axis is None else a, axis or 0)


def cumprod(a: Any, axis: int | None = None) -> Any:
    """Running products, of all in one row or along an axis."""
    return ops.cumprod(ops.reshape(a, (-1,)) if axis is None else a, axis or 0)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours, n times over."""
    return ops.diff(a, n, axis, prepend, append)


def gradient(f: Any, *spacing: float, axis: Any = None) -> Any:
    """Slopes by central differences inside and by one-sided ones at the ends."""
    rank = rank_of(f) or 0
    axes = range(rank) if axis is None else declare.normal_axes(axis, rank) or ()
    steps = spacing * len(axes) if len(spacing) == 1 else spacing or (1.0,) * len(axes)
    found = [_slope(f, place, step) for place, step in zip(axes, steps, strict=True)]
    return found[0] if len(found) == 1 else found


def _slope(f: Any, axis: int, step: float) -> Any:
    row = ops.moveaxis(f, axis, 0)
    steps = ops.diff(row, 1, 0)
    inside = (item_at(steps, slice(1, None)) + item_at(steps, slice(None, -1))) / 2.0
    ends = item_at(steps, slice(0, 1)), item_at(steps, slice(-1, None))
    return ops.moveaxis(ops.concat((ends[0], inside, ends[1])) / step, 0, axis)


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """The area under straight lines through the points."""
    row = ops.moveaxis(y, axis, -1)
    width = dx if x is None else ops.diff(x)
    both = item_at(row, (..., slice(1, None))) + item_at(row, (..., slice(None, -1)))
    return sum(both * width, -1) / 2.0


def sort(a: Any, axis: int | None = -1) -> Any:
    """The elements in order."""
    return ops.sort(ops.reshape(a, (-1,)) if axis is None else a, -1 if axis is None else axis)[0]


def argsort(a: Any, axis: int | None = -1) -> Any:
    """The positions of the elements in order."""
    return ops.argsort(ops.reshape(a, (-1,)) if axis is None else a, -1 if axis is None else axis)


__all__ = [
    "all", "allclose", "amax", "amin", "any", "argmax", "argmin", "argsort", "average",
    "count_nonzero", "cumprod", "cumsum", "diff", "gradient", "max", "mean", "median", "min",
    "nanmean", "nansum", "prod", "ptp", "sort", "std", "sum", "trapezoid", "var",
]  # fmt: skip
