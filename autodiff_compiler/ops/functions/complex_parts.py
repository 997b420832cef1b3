"""The parts of complex numbers, under MindSpore's names."""

from __future__ import annotations

__macro__ = True

import math
from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.operators.elementwise import arithmetic, comparisons
from autodiff_compiler.operators.elementwise import complex_parts as parts
from autodiff_compiler.ops.core.shape_queries import dtype_of, holds_complex, is_integral, unaliased
from autodiff_compiler.ops.functions import arrays, creation


@unaliased
def conj(input: Any) -> Tensor:
    """Returns the complex conjugate."""
    return parts.conj(input) if holds_complex(input) else input


@unaliased
def real(input: Any) -> Tensor:
    """Returns the real part."""
    return parts.real(input) if holds_complex(input) else input


def imag(input: Any) -> Tensor:
    """Returns the imaginary part, of a real tensor zeros."""
    if holds_complex(input):
        return parts.imag(input)
    return creation.zeros_like(input)


def angle(input: Any) -> Tensor:
    """Returns the angle of a complex number in radians; of a negative number pi, else 0."""
    if holds_complex(input):
        return arithmetic.atan2(imag(input), real(input))
    zero = creation.zeros_like(input, dtype="float32" if is_integral(input) else None)
    return arithmetic.where(input < 0, math.pi, zero)


def view_as_real(input: Any) -> Tensor:
    """Returns the real and imaginary parts of complex numbers along a new last axis."""
    if dtype_of(input) not in (None, "complex64", "complex128"):
        raise TypeError(
            f"view_as_real takes complex numbers, but got a Tensor of {dtype_of(input)}"
        )
    return arrays.stack((real(input), imag(input)), -1)


def isreal(input: Any) -> Tensor:
    """Returns True where the imaginary part is 0."""
    return comparisons.equal(imag(input), 0.0)


__all__ = ["angle", "conj", "imag", "isreal", "real", "view_as_real"]
