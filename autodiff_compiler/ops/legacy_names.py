"""Names from before MindSpore 2 that it still has, and that public networks still use."""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.ops.core.primitive_base import primitive
from autodiff_compiler.ops.functions import arrays, elementwise, special
from autodiff_compiler.ops.primitives import general
from autodiff_compiler.ops.primitives.functions import Add, FastGeLU, GeLU

shape_, identity = arrays.shape, special.positive
tensor_add, tensor_sub, tensor_mul = elementwise.add, elementwise.sub, elementwise.mul
tensor_div, tensor_floordiv = elementwise.div, elementwise.floor_div
tensor_mod, tensor_pow, tensor_exp = elementwise.floor_mod, elementwise.pow, elementwise.exp
tensor_gt, tensor_ge = elementwise.gt, elementwise.ge
tensor_lt, tensor_le = elementwise.lt, elementwise.le

TensorAdd, Pack, Unpack, Gelu, FastGelu = Add, general.Stack, general.Unstack, GeLU, FastGeLU
TupleToArray = primitive("TupleToArray", special.tuple_to_array)


def make_range(start: int, stop: int | None = None, step: int = 1) -> tuple[int, ...]:
    """Returns the numbers of ``range`` as a tuple.

    >>> make_range(3), make_range(1, 7, 2)
    ((0, 1, 2), (1, 3, 5))
    """
    return tuple(range(start) if stop is None else range(start, stop, step))


def make_tuple(*items: Any) -> tuple[Any, ...]:
    """Returns the arguments as a tuple."""
    return items


__all__ = [
    "identity",
    "make_range",
    "make_tuple",
    "shape_",
    "tensor_add",
    "tensor_div",
    "tensor_exp",
    "tensor_floordiv",
    "tensor_ge",
    "tensor_gt",
    "tensor_le",
    "tensor_lt",
    "tensor_mod",
    "tensor_mul",
    "tensor_pow",
    "tensor_sub",
]
