"""Creation of arrays from values."""

from __future__ import annotations

__macro__ = True

from operator import index as _index
from typing import Any

import numpy as _np

from autodiff_compiler import ops
from autodiff_compiler.common.dtype import int32, of_name, to_numpy_name
from autodiff_compiler.common.tensor import Tensor, tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import BOOL, COMPLEX, INT, PROMOTION, ScalarType
from autodiff_compiler.numpy.elementwise import common_dtype, in_known_dtype
from autodiff_compiler.operators.core import structure
from autodiff_compiler.ops.core.shape_queries import (
    dtype_of,
    in_dtype,
    known_rank,
    known_sizes,
    unaliased,
)

ones = ops.ones


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    """Returns the numbers from start up to stop: int32 if all arguments are ints, else float32."""
    all_ints = all(_is_int(bound) for bound in (start, stop, step))
    dtype = int32 if dtype is None and all_ints else dtype
    return ops.arange(start, stop, step, dtype=dtype)


def zeros(shape: Any, dtype: Any = None) -> Tensor:
    """Returns zeros, in float32 unless a dtype is given."""
    return ops.zeros(shape, dtype)


def empty(shape: Any, dtype: Any = None) -> Tensor:
    """Returns zeros: compiled code never shows uninitialized memory."""
    return ops.zeros(shape, dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """Returns an array filled with a value: an int as int32, a float as float32."""
    dtype = int32 if dtype is None and _is_int(fill_value) else dtype
    return ops.full(shape, fill_value, dtype=dtype)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:
    """Returns ones on the k-th diagonal, zeros elsewhere, in float32 unless a dtype is given."""
    return tensor(_np.eye(N, M, k, dtype="float32" if dtype is None else to_numpy_name(dtype)))


def _is_int(number: Any) -> bool:
    kind = number.type if isinstance(number, Value) else number
    return kind is None or kind is INT or isinstance(kind, int) and not isinstance(kind, bool)


def identity(n: int, dtype: Any = None) -> Tensor:
    """Returns the identity matrix."""
    return ops.eye(n, n, dtype)


def array(object: Any, dtype: Any = None, copy: bool = True, *, ndmin: int = 0) -> Tensor:
    """Returns nested lists or an array as a new array, with ``ndmin`` axes at least."""
    result = unaliased(asarray)(object, dtype) if copy else asarray(object, dtype)
    if ndmin and (missing := ndmin - known_rank(result, "array")) > 0:
        result = ops.expand_dims(result, tuple(range(missing)))
    return result


def _is_known(thing: Any) -> bool:
    """True if nested lists hold numbers only."""
    if isinstance(thing, (list, tuple)):
        return all(map(_is_known, thing))
    return isinstance(thing, (bool, int, float, complex, _np.generic))


def _element(item: Any) -> Any:
    """Returns a number as a tensor of shape (), in the dtype that NumPy or MindSpore gives it."""
    number = item.type if isinstance(item, Value) else item
    if isinstance(item, _np.generic) and PROMOTION.numpy:
        return ops.full((), item.item(), dtype=of_name(item.dtype.name))
    if not isinstance(number, (bool, int, float, complex, ScalarType)):
        return item
    if PROMOTION.numpy and (number is BOOL or isinstance(number, bool)):
        dtype = "bool"
    elif number is COMPLEX or isinstance(number, complex):
        dtype = "complex128" if PROMOTION.numpy else "complex64"
    elif number is INT or isinstance(number, int):
        dtype = "int64" if PROMOTION.numpy else "int32"
    else:
        dtype = _default_float()
    if isinstance(item, Value):
        return structure.cast(item, dtype=dtype)
    return ops.full((), item, dtype=of_name(dtype))


def _default_float() -> str:
    """Returns the dtype of a Python float."""
    return "float64" if PROMOTION.numpy else "float32"


def asarray(a: Any, dtype: Any = None) -> Tensor:
    """Returns nested lists as an array; an array of the dtype is returned itself."""
    if isinstance(a, (list, tuple)):
        if _is_known(a) and PROMOTION.numpy:
            a = tensor(_np.array(a))
        else:
            a = ops.stack([_element(asarray(item)) for item in a])
    elif PROMOTION.numpy:
        a = _element(a)
    return in_dtype(a, dtype)


def copy(a: Any) -> Tensor:
    """Returns a copy."""
    is_bool = getattr(a, "dtype_name", None) == "bool"
    return structure.cast(a, dtype="bool") if is_bool else a * 1


def full_like(a: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None) -> Tensor:
    """Returns an array of the shape of ``a``, filled with a value."""
    if not PROMOTION.numpy:
        return array(ops.zeros_like(a) + fill_value, dtype)
    wanted = dtype_of(a) if dtype is None else to_numpy_name(dtype)
    if wanted is None:
        raise ShapeError(
            "np.full_like needs a dtype here: that of its argument is not known",
            "pass the dtype: dtype=np.float64",
        )
    sizes = ops.shape(a) if shape is None else shape
    if isinstance(fill_value, (bool, int, float, complex)):
        return ops.full(sizes, _np.asarray(fill_value).astype(wanted).item(), dtype=wanted)
    return ops.broadcast_to(structure.cast(array(fill_value), dtype=wanted), sizes)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Returns ``num`` equidistant numbers from start to stop; if ``retstep``, also the step.

    ``num`` may be a run-time value.
    """
    num = num if isinstance(num, Value) else _index(num)
    if not isinstance(num, Value) and num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    gaps = num - 1 if endpoint else num
    start, stop = (array(end) if isinstance(end, (list, tuple)) else end for end in (start, stop))
    kind = common_dtype(start, stop, 1.0) if PROMOTION.numpy else None
    fractions = _fractions(num, gaps, kind or _default_float())
    if PROMOTION.numpy:
        start, stop = start * 1.0, stop * 1.0
    width = in_known_dtype(stop - start, kind)
    if rank := known_rank(width, "linspace"):
        fractions = ops.reshape(fractions, (-1, *(1,) * rank))
    numbers = in_known_dtype(start + width * fractions, kind)
    if axis:
        numbers = ops.moveaxis(numbers, 0, axis)
    if dtype is not None:
        wanted = to_numpy_name(dtype)
        numbers = structure.cast(ops.floor(numbers) if "int" in wanted else numbers, dtype=wanted)
    return (numbers, _step(width, gaps)) if retstep else numbers


def _fractions(num: Any, gaps: Any, dtype: str) -> Tensor:
    """Returns 0, 1 / gaps, 2 / gaps, ...: ``num`` numbers."""
    if isinstance(num, Value):
        numbers = ops.arange(0, num, 1, dtype=dtype)
        return numbers / structure.cast(ops.maximum(gaps, 1), dtype=dtype)
    return tensor((_np.arange(num) / max(gaps, 1)).astype(dtype))


def _step(width: Any, gaps: Any) -> Any:
    """Returns the distance of neighbours, NaN if there are no gaps."""
    if isinstance(gaps, Value):
        return width / ops.where(gaps > 0, gaps, float("nan"))
    return width / gaps if gaps > 0 else float("nan")


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    """Returns the Vandermonde matrix: powers of ``x`` as columns."""
    count = known_sizes(x, "vander")[0] if N is None else N
    dtype_in = dtype_of(x)
    if PROMOTION.numpy and dtype_in is not None:
        wanted = _np.promote_types(dtype_in, int).name
        x = x if wanted == dtype_of(x) else structure.cast(x, dtype=wanted)
    if not count:
        return ops.full((*ops.shape(x), 0), 0, dtype=dtype_of(x))
    powers = [ops.ones_like(x) if k == 0 else x**k for k in range(count)]
    return ops.stack(powers if increasing else powers[::-1], -1)


__all__ = [
    "arange",
    "array",
    "asarray",
    "copy",
    "empty",
    "eye",
    "full",
    "full_like",
    "identity",
    "linspace",
    "ones",
    "vander",
    "zeros",
]
