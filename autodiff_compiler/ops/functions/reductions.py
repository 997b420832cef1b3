"""Reductions and functions along an axis under MindSpore's names."""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.indexing import concat_and_pad
from autodiff_compiler.operators.reductions import axis_functions, reduce
from autodiff_compiler.ops.core.argument_aliases import also
from autodiff_compiler.ops.core.shape_queries import (
    axes_of,
    axis_of,
    dtype_of,
    in_dtype,
    rank_of,
    unaliased,
)


def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Returns the sum over ``dim`` (None: all); ints and bools in int64."""
    input = in_dtype(input, dtype)
    return in_dtype(structure.sum_(input, axes=axes_of(dim, input), keepdims=bool(keepdim)), dtype)


def mean(x: Any, axis: Any = None, keep_dims: bool = False) -> Tensor:
    """Returns the mean over ``axis`` (None: all)."""
    return reduce.mean(x, axes=axes_of(axis, x), keepdims=bool(keep_dims))


def prod(input: Any, axis: Any = None, keep_dims: bool = False, dtype: Any = None) -> Tensor:
    """Returns the product over ``axis`` (None: all)."""
    input = in_dtype(input, dtype)
    return in_dtype(reduce.prod(input, axes=axes_of(axis, input), keepdims=bool(keep_dims)), dtype)


def amax(input: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Returns the largest element over ``axis``; a tie shares the gradient evenly."""
    return reduce.max(input, axes=axes_of(axis, input), keepdims=bool(keepdims), first=False)


def amin(input: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Returns the smallest element over ``axis``; a tie shares the gradient evenly."""
    return reduce.min(input, axes=axes_of(axis, input), keepdims=bool(keepdims), first=False)


def _extreme(value_of: Any, place_of: Any, input: Any, axis: Any, keepdims: bool) -> Any:
    if axis is None or rank_of(input) == 0:
        value = value_of(input, axes=None, keepdims=False, first=False)
        return value, place_of(input, axis=None, keepdims=False) * 0
    axis = axis_of(axis, rank_of(input))
    value = value_of(input, axes=(axis,), keepdims=bool(keepdims), first=True)
    return value, place_of(input, axis=axis, keepdims=bool(keepdims))


def max(input: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the largest elements along an axis and their positions; a tie goes to the first."""
    return _extreme(reduce.max, reduce.argmax, input, axis, keepdims)


def min(input: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the smallest elements along an axis and their positions; a tie goes to the first."""
    return _extreme(reduce.min, reduce.argmin, input, axis, keepdims)


def argmax(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Returns the int64 position of the first largest element along ``dim`` (None: of all,
    flattened)."""
    dim = None if dim is None else axis_of(dim, rank_of(input))
    return reduce.argmax(input, axis=dim, keepdims=bool(keepdim) and dim is not None)


def argmin(input: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Returns the int32 position of the first smallest element along ``axis`` (None: of all)."""
    axis = None if axis is None else axis_of(axis, rank_of(input))
    place = reduce.argmin(input, axis=axis, keepdims=bool(keepdims) and axis is not None)
    return in_dtype(place, "int32")


def all(input: Any, axis: Any = None, keep_dims: bool = False) -> Tensor:
    """Returns True where every element over ``axis`` is nonzero."""
    return reduce.all(input, axes=axes_of(axis, input), keepdims=bool(keep_dims))


def any(input: Any, axis: Any = None, keep_dims: bool = False) -> Tensor:
    """Returns True where some element over ``axis`` is nonzero."""
    return reduce.any(input, axes=axes_of(axis, input), keepdims=bool(keep_dims))


def var(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Returns the variance over ``axis``, divided by count - ddof."""
    axes = axes_of(axis, input)
    return reduce.var(input, axes=axes, keepdims=bool(keepdims), ddof=int(ddof))


def std(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Returns the standard deviation over ``axis``."""
    axes = axes_of(axis, input)
    return reduce.std(input, axes=axes, keepdims=bool(keepdims), ddof=int(ddof))


@also(dim="axis", keepdim="keep_dims")
def logsumexp(input: Any, axis: Any, keep_dims: bool = False) -> Tensor:
    """Returns log(sum(exp(input))) over ``axis``."""
    return reduce.logsumexp(input, axes=axes_of(axis, input), keepdims=bool(keep_dims))


def softmax(input: Any, axis: int = -1, *, dtype: Any = None) -> Tensor:
    """Returns exp(input) / sum(exp(input)) along an axis."""
    return axis_functions.softmax(in_dtype(input, dtype), axis=axis_of(axis, rank_of(input)))


def log_softmax(logits: Any, axis: int = -1) -> Tensor:
    """Returns log(softmax(logits)) along an axis."""
    return axis_functions.log_softmax(logits, axis=axis_of(axis, rank_of(logits)))


def cumsum(x: Any, axis: int, dtype: Any = None) -> Tensor:
    """Returns running sums along an axis, in ``dtype`` or that of x; bools in int64."""
    total = axis_functions.cumsum(in_dtype(x, dtype), axis=axis_of(axis, rank_of(x)))
    own_dtype = None if dtype_of(x) == "bool" else dtype_of(x)
    return in_dtype(total, own_dtype if dtype is None else dtype)


@unaliased
def flip(input: Any, dims: Any) -> Tensor:
    """Reverses the elements along ``dims``; without axes there is nothing to reverse."""
    if isinstance(dims, (tuple, list)) and not dims:
        return input
    return concat_and_pad.flip(input, axes=axes_of(dims, input))


def reduce_sum(x: Any, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Is equivalent to ``sum``."""
    return sum(x, axis, keep_dims)


def reduce_mean(x: Any, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Is equivalent to ``mean``."""
    return mean(x, axis, keep_dims)


def reduce_max(x: Any, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Is equivalent to ``amax``."""
    return amax(x, axis, keep_dims)


def reduce_min(x: Any, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Is equivalent to ``amin``."""
    return amin(x, axis, keep_dims)


def reduce_prod(x: Any, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Is equivalent to ``prod``."""
    return prod(x, axis, keep_dims)


def reduce_all(x: Any, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Is equivalent to ``all``."""
    return all(x, axis, keep_dims)


def reduce_any(x: Any, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Is equivalent to ``any``."""
    return any(x, axis, keep_dims)


__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "cumsum",
    "flip",
    "log_softmax",
    "logsumexp",
    "max",
    "mean",
    "min",
    "prod",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "softmax",
    "std",
    "sum",
    "var",
]
