"""Arrays made of values."""

from __future__ import annotations

from typing import Any

import numpy as _np

from autodiff_compiler import ops
from autodiff_compiler.common.dtype import int32, of_name, to_numpy_name
from autodiff_compiler.common.tensor import tensor
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import INT, PROMOTION, ScalarType
from autodiff_compiler.operators import structure
from autodiff_compiler.ops._shapes import apart, in_dtype, known_sizes

ones = ops.ones


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """Numbers from start up to stop, in steps: int32 if all are ints, else float32."""
    whole = all(_is_int(bound) for bound in (start, stop, step))
    dtype = int32 if dtype is None and whole else dtype
    return ops.arange(start, stop, step, dtype=dtype)


def zeros(shape: Any, dtype: Any = None) -> Any:
    """Zeros, in float32 unless a dtype is given."""
    return ops.zeros(shape, dtype)


def empty(shape: Any, dtype: Any = None) -> Any:
    """As ``zeros``: what memory held is nobody's business."""
    return ops.zeros(shape, dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """One value everywhere: an int in int32, a float in float32."""
    dtype = int32 if dtype is None and _is_int(fill_value) else dtype
    return ops.full(shape, fill_value, dtype=dtype)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Ones on the k-th diagonal, zeros elsewhere, in float32 unless a dtype is given."""
    return tensor(_np.eye(N, M, k, dtype="float32" if dtype is None else to_numpy_name(dtype)))


def _is_int(number: Any) -> bool:
    kind = number.type if isinstance(number, Value) else number
    return kind is None or kind is INT or isinstance(kind, int) and not isinstance(kind, bool)


def identity(n: int, dtype: Any = None) -> Any:
    """The identity matrix."""
    return ops.eye(n, n, dtype)


def array(object: Any, dtype: Any = None, copy: bool = True) -> Any:
    """Nested lists with values in them, or a copy."""
    return apart(asarray)(object, dtype) if copy else asarray(object, dtype)


def _element(item: Any) -> Any:
    """A number as a tensor of one: NumPy's floats are wide, MindSpore's are not."""
    number = item.type if isinstance(item, Value) else item
    if not isinstance(number, (bool, int, float, ScalarType)):
        return item
    if number is INT or isinstance(number, int):
        dtype = "int64" if PROMOTION.numpy else "int32"
    else:
        dtype = _wide()
    if isinstance(item, Value):
        return structure.cast(item, dtype=dtype)
    return ops.full((), item, dtype=of_name(dtype))


def _wide() -> str:
    """The dtype of a float."""
    return "float64" if PROMOTION.numpy else "float32"


def asarray(a: Any, dtype: Any = None) -> Any:
    """Nested lists with values in them; an array of that dtype is its own."""
    if isinstance(a, (list, tuple)):
        a = ops.stack([_element(asarray(item)) for item in a])
    return in_dtype(a, dtype)


def copy(a: Any) -> Any:
    """The same elements, in memory of their own."""
    is_bool = getattr(a, "dtype_name", None) == "bool"
    return structure.cast(a, dtype="bool") if is_bool else a * 1


def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    """The shape of ``a``, filled with one value."""
    return array(ops.zeros_like(a) + fill_value, dtype)


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Any:
    """So many numbers from start to stop, equally far apart."""
    gaps = num - 1 if endpoint else num
    steps = tensor((_np.arange(num) / max(gaps, 1)).astype(_wide()))
    return start + (stop - start) * steps


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of ``x`` as columns."""
    count = known_sizes(x, "vander")[0] if N is None else N
    powers = [ops.ones_like(x) if k == 0 else x**k for k in range(count)]
    return ops.stack(powers if increasing else powers[::-1], -1)


__all__ = [
    "arange", "array", "asarray", "copy", "empty", "eye", "full", "full_like", "identity",
    "linspace", "ones", "vander", "zeros",
]  # fmt: skip
