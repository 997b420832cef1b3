"""Arrays made of values."""

from __future__ import annotations

from typing import Any

import numpy as _np

from autodiff_compiler import ops
from autodiff_compiler.common.dtype import of_name
from autodiff_compiler.common.tensor import tensor
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import INT, ScalarType
from autodiff_compiler.operators import structure
from autodiff_compiler.operators.declare import PROMOTION
from autodiff_compiler.ops._shapes import known_sizes

arange, empty, eye, full, identity, ones, zeros = (
    ops.arange, ops.zeros, ops.eye, ops.full, ops.eye, ops.ones, ops.zeros,
)  # fmt: skip


def array(object: Any, dtype: Any = None, copy: bool = True) -> Any:
    """Nested lists with values in them, or a copy."""
    if isinstance(object, (list, tuple)):
        object = ops.stack([_element(array(item)) for item in object])
    return object if dtype is None else structure.cast(object, dtype=_np.dtype(dtype).name)


def _element(item: Any) -> Any:
    """A number as a tensor of one: NumPy's floats are wide, MindSpore's are not."""
    number = item.type if isinstance(item, Value) else item
    if not isinstance(number, (bool, int, float, ScalarType)):
        return item
    if number is INT or isinstance(number, int):
        dtype = "int64"
    else:
        dtype = "float64" if PROMOTION.numpy else "float32"
    if isinstance(item, Value):
        return structure.cast(item, dtype=dtype)
    return ops.full((), item, dtype=of_name(dtype))


def asarray(a: Any, dtype: Any = None) -> Any:
    """As ``array``."""
    return array(a, dtype)


def copy(a: Any) -> Any:
    """The same elements, in memory of their own."""
    return a * 1


def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    """The shape of ``a``, filled with one value."""
    return array(ops.zeros_like(a) + fill_value, dtype)


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Any:
    """So many numbers from start to stop, equally far apart."""
    gaps = num - 1 if endpoint else num
    steps = tensor(_np.arange(num) / max(gaps, 1))
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
