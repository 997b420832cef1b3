"""Reductions over axes, and cumulative sums, products and sorting along an axis."""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable
from typing import Any

import numpy as _np

from autodiff_compiler import ops
from autodiff_compiler.common.dtype import to_numpy_name
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import PROMOTION
from autodiff_compiler.operators.core import declare, structure
from autodiff_compiler.operators.reductions import reduce, sorting
from autodiff_compiler.ops.core.shape_queries import (
    dtype_of,
    holds_complex,
    known_rank,
    known_sizes,
    rank_of,
    shape_of,
)
from autodiff_compiler.ops.functions.gather_scatter import item_at


def _axes(a: Any, axis: Any) -> tuple[int, ...] | None:
    rank = rank_of(a)  # None if it is unknown
    if PROMOTION.numpy and rank == 0 and axis in (0, -1):
        return None  # NumPy accepts an axis of a scalar here
    return declare.normal_axes(axis, rank)


def is_none(axis: Any) -> bool:
    """True if ``axis`` is the empty tuple, which names no axis for NumPy and all for MindSpore."""
    return PROMOTION.numpy and isinstance(axis, (tuple, list)) and not axis


def _over(opdef: OpDef, a: Any, axis: Any, keepdims: Any, **settings: Any) -> Any:
    """Reduces over ``axis``; an empty tuple reduces each element by itself."""
    if is_none(axis):
        a, axis, keepdims = structure.expand_dims(a, axes=(known_rank(a, "this"),)), -1, False
    return opdef(a, axes=_axes(a, axis), keepdims=bool(keepdims), **settings)


def _reduction(opdef: OpDef, combine: Callable[..., Any]) -> Callable[..., Any]:
    def reduction(
        a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None
    ) -> Any:
        kind = None if dtype is None else to_numpy_name(dtype)
        a = _widened(a) if kind is None else structure.cast(a, dtype=kind)
        out = _over(opdef, a, axis, keepdims)
        # The operator accumulates small integers in more bits; the dtype asked for truncates.
        out = out if dtype_of(out) == kind or kind is None else structure.cast(out, dtype=kind)
        if initial is None:
            return out
        return combine(out, _initial_value(initial, dtype_of(out)))

    return reduction


def _initial_value(number: Any, dtype: str | None) -> Any:
    """Returns a number in the dtype of the reduction that it is combined with."""
    if dtype is None or dtype_of(number) == dtype:
        return number
    if isinstance(number, (bool, int, float, complex)):
        return _np.dtype(dtype).type(number).item()  # raises if the number does not fit
    return structure.cast(number, dtype=dtype)


def _widened(a: Any) -> Any:
    """Casts unsigned integers to the 64 bits in which NumPy accumulates them."""
    dtype = dtype_of(a) or ""
    if PROMOTION.numpy and dtype in ("uint8", "uint16", "uint32"):
        return structure.cast(a, dtype="uint64")
    return a


def _test(opdef: OpDef) -> Callable[..., Any]:
    def test(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return _over(opdef, a, axis, keepdims)

    return test


def _extreme(opdef: OpDef, combine: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function for an extreme; its derivative at a tie is shared equally."""

    def extreme(a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None) -> Any:
        if initial is None:
            return _over(opdef, a, axis, keepdims, first=False)
        sizes, axes = known_sizes(a, "'initial'"), _axes(a, axis)
        if is_none(axis) or 0 not in [
            sizes[k] for k in (range(len(sizes)) if axes is None else axes)
        ]:
            out = _over(opdef, a, axis, keepdims, first=False)
        else:  # the reduced axes are empty: the initial number is all there is
            total = structure.sum_(
                structure.cast(a, dtype="bool"), axes=axes, keepdims=bool(keepdims)
            )
            out = structure.cast(ops.zeros_like(total) + initial, dtype=dtype_of(a))
        return combine(out, _initial_value(initial, dtype_of(out)))

    return extreme


def _floating(a: Any, dtype: Any = None) -> Any:
    if dtype is not None:
        return structure.cast(a, dtype=to_numpy_name(dtype))
    exact = (dtype_of(a) or "float64").startswith(("int", "uint", "bool"))
    return structure.cast(a, dtype="float64") if exact else a


def _in_dtype(out: Any, dtype: Any) -> Any:
    wanted = None if dtype is None else to_numpy_name(dtype)
    return out if wanted in (None, dtype_of(out)) else structure.cast(out, dtype=wanted)


sum = _reduction(structure.sum_, ops.add)
prod = _reduction(reduce.prod, ops.mul)
any, all = _test(reduce.any), _test(reduce.all)
max = amax = _extreme(reduce.max, ops.maximum)
min = amin = _extreme(reduce.min, ops.minimum)


def mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Tensor:
    """Returns the mean; that of integers is float64."""
    return _over(reduce.mean, _floating(a, dtype), axis, keepdims)


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: Any = 0,
    keepdims: bool = False,
    correction: Any = None,
) -> Tensor:
    """Returns the variance, divided by count - ddof."""
    return _spread(reduce.var, a, axis, dtype, ddof, keepdims, correction)


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: Any = 0,
    keepdims: bool = False,
    correction: Any = None,
) -> Tensor:
    """Returns the standard deviation; the variance is divided by count - ddof."""
    return _spread(reduce.std, a, axis, dtype, ddof, keepdims, correction)


def _spread(
    opdef: OpDef, a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: bool, correction: Any
) -> Any:
    if correction is not None and ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    ddof = ddof if correction is None else correction
    if dtype is not None and holds_complex(a):
        raise TypeError("np.var and np.std of complex numbers with another dtype are not supported")
    return _over(opdef, _floating(a, dtype), axis, keepdims, ddof=ddof)


def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """Returns the weighted mean; if ``returned``, also the sum of the weights.

    The weights have the shape of ``a``, or of its axes ``axis``.
    """
    if PROMOTION.numpy and 0 in (shape_of(a) or ()) and _count(a, axis) == 0:
        raise ZeroDivisionError("the weights are empty, so their sum is zero")
    if weights is None:
        result = mean(a, axis, keepdims=keepdims)
        if not returned:
            return result
        return result, ops.zeros_like(result) + _count(a, axis)
    ranks = known_rank(weights, "average"), known_rank(a, "average")
    if ranks[0] != ranks[1] or shape_of(weights) != shape_of(a):
        weights = _broadcast_weights(weights, a, axis)
    product = _weighted(a, weights)
    product_dtype = dtype_of(product)
    scale = sum(
        structure.cast(weights, dtype=product_dtype) if product_dtype else weights,
        axis,
        keepdims=keepdims,
    )
    result = sum(product, axis, keepdims=keepdims) / scale
    return (result, scale) if returned else result


def _broadcast_weights(weights: Any, a: Any, axis: Any) -> Any:
    """Broadcasts the weights of the axes ``axis`` to the shape of ``a``."""
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    rank = known_rank(a, "average")
    axes = [k % rank for k in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    if len(axes) != rank_of(weights):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    weights = ops.transpose(weights, tuple(sorted(range(len(axes)), key=axes.__getitem__)))
    sizes = iter(ops.shape(weights))
    weights = ops.reshape(weights, tuple(next(sizes) if k in axes else 1 for k in range(rank)))
    return ops.broadcast_to(weights, ops.shape(a))


def _weighted(a: Any, weights: Any) -> Any:
    """Multiplies by weights, in NumPy's dtype: products of integers are float64 or complex."""
    product = a * weights
    if not PROMOTION.numpy or not (dtype_of(a) or "").startswith(("int", "uint", "bool")):
        return product
    product = _floating(product)
    is_complex = "complex" in (dtype_of(product) or "")
    return product if is_complex else structure.cast(product, dtype="float64")


def _count(a: Any, axis: Any) -> int:
    """Returns the number of elements that a reduction over ``axis`` combines."""
    sizes, axes = known_sizes(a, "the count of elements"), _axes(a, axis)
    if is_none(axis):
        return 1
    return int(_np.prod([sizes[k] for k in (range(len(sizes)) if axes is None else axes)]))


def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """Returns the difference of the largest and the smallest element."""
    return max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims)


def median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """Returns the median: the middle element, or the mean of the middle two."""
    rank = known_rank(a, "median")
    axes = () if is_none(axis) else _axes(a, axis) or tuple(range(rank))
    rest = tuple(k for k in range(rank) if k not in axes)
    sizes = known_sizes(a, "median")
    kept_sizes = tuple(sizes[k] for k in rest)
    count = int(_np.prod([sizes[k] for k in axes], dtype=int))
    if count == 0:
        raise ShapeError(
            "the median of an empty array is NaN", "pass an array with at least one element"
        )
    row, _ = ops.sort(
        ops.reshape(ops.transpose(_floating(a), (*rest, *axes)), (*kept_sizes, count))
    )
    middle = (item_at(row, (..., (count - 1) // 2)) + item_at(row, (..., count // 2))) / 2
    if not keepdims:
        return middle
    return ops.reshape(middle, tuple(1 if k in axes else sizes[k] for k in range(rank)))


def _without_nan(a: Any) -> tuple[Any, Any]:
    """Returns ``a`` with 0 for NaN, and a mask that is True for the other elements."""
    if (dtype_of(a) or "").startswith(("int", "uint", "bool")):
        return a, ops.equal(a, a)
    return ops.where(ops.isnan(a), 0, a), ops.logical_not(ops.isnan(a))


def nansum(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None
) -> Tensor:
    """Returns the sum of the elements that are not NaN."""
    return sum(_without_nan(a)[0], axis, dtype, keepdims=keepdims, initial=initial)


def nanmean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Tensor:
    """Returns the mean of the elements that are not NaN."""
    numbers, present = _without_nan(_floating(a, dtype))
    count = sum(present, axis, keepdims=keepdims)
    total = sum(numbers, axis, keepdims=keepdims)
    total_dtype = dtype_of(total)
    return total / (structure.cast(count, dtype=total_dtype) if total_dtype else count)


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """True if all elements are equal but for rounding."""
    return all(ops.isclose(a, b, rtol, atol, equal_nan))


def argmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Returns the index of the first largest element."""
    return _extreme_index(reduce.argmax, ops.argmax, a, axis, keepdims)


def argmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Returns the index of the first smallest element."""
    return _extreme_index(reduce.argmin, ops.argmin, a, axis, keepdims)


def _extreme_index(
    opdef: OpDef, theirs: Callable[..., Any], a: Any, axis: int | None, keepdims: bool
) -> Any:
    if not PROMOTION.numpy:
        return theirs(a, axis)
    if axis is None or rank_of(a) == 0:
        position = opdef(ops.reshape(a, (-1,)), axis=0, keepdims=False)
        return ops.reshape(position, (1,) * known_rank(a, "keepdims")) if keepdims else position
    (axis,) = declare.normal_axes(axis, known_rank(a, "argmax")) or (axis,)
    return opdef(a, axis=axis, keepdims=bool(keepdims))


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """Returns the number of elements that are not zero."""
    if PROMOTION.numpy:
        return sum(ops.not_equal(a, 0), axis, keepdims=keepdims)
    return sum(ops.where(ops.not_equal(a, 0), 1, 0), axis, keepdims=keepdims)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Returns cumulative sums along an axis, or of all elements."""
    return _running(ops.cumsum, a, axis, dtype)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Returns cumulative products along an axis, or of all elements."""
    return _running(ops.cumprod, a, axis, dtype)


def _running(run: Callable[..., Any], a: Any, axis: int | None, dtype: Any) -> Any:
    a = _widened(a) if dtype is None else _in_dtype(a, dtype)
    if PROMOTION.numpy and dtype is None and dtype_of(a) in ("bool", "int8", "int16", "int32"):
        a = structure.cast(a, dtype="int64")
    if axis is None or rank_of(a) == 0:
        a, axis = ops.reshape(a, (-1,)), 0
    return _in_dtype(run(a, axis), dtype)


def _check_kind(kind: Any) -> None:
    if kind is not None and str(kind)[:1].lower() not in tuple("qhms"):
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")


def sort(a: Any, axis: int | None = -1, kind: Any = None, *, stable: Any = None) -> Tensor:
    """Returns the sorted elements; all sort kinds give the same values."""
    _check_kind(kind)
    return ops.sort(ops.reshape(a, (-1,)) if axis is None else a, -1 if axis is None else axis)[0]


def argsort(a: Any, axis: int | None = -1, kind: Any = None, *, stable: Any = None) -> Tensor:
    """Returns the indices that sort the elements."""
    _check_kind(kind)
    if PROMOTION.numpy and rank_of(a) == 0:
        return sorting.argsort(ops.reshape(a, (1,)), axis=0, descending=False)
    if PROMOTION.numpy:
        a, axis = (ops.reshape(a, (-1,)), 0) if axis is None else (a, axis)
        (axis,) = declare.normal_axes(axis, known_rank(a, "argsort")) or (axis,)
        return sorting.argsort(a, axis=axis, descending=False)
    return ops.argsort(ops.reshape(a, (-1,)) if axis is None else a, -1 if axis is None else axis)


__all__ = [
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "average",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "max",
    "mean",
    "median",
    "min",
    "nanmean",
    "nansum",
    "prod",
    "ptp",
    "sort",
    "std",
    "sum",
    "var",
]
