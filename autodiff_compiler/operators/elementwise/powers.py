"""Powers. Their derivatives are right wherever they are finite.

No factor of a derivative overflows or underflows unless the product does.
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Sequence
from typing import Any

from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import FLOAT, ArrayType, Type, is_complex
from autodiff_compiler.operators.core.declare import arithmetic_dtype, casts_for
from autodiff_compiler.operators.core.families import elementwise, signed
from autodiff_compiler.operators.core.structure import cast, full_like
from autodiff_compiler.operators.elementwise.arithmetic import FLOATS, XY, log, square, where
from autodiff_compiler.operators.elementwise.comparisons import equal
from autodiff_compiler.operators.elementwise.complex_parts import real_dtype


def _slope_of_base(ct: Any, x: Any, y: Any, out: Any) -> Any:
    """Returns ``ct * y * x ** (y - 1)``, but 0 at x = y = 0: the slope of the constant 1."""
    if isinstance(y, Value):
        return ct * _any_slope(x, y)
    if y == 0:
        return None
    if y == 1:
        return ct
    if y == 2:
        return ct * (2.0 * x)
    if y < 0:  # the slope overflows first, and out is known
        return ct * (float(y) * out / x)
    if y < 1:  # x ** (y - 1) would overflow where y times it does not
        return ct * (float(y) / x ** (1.0 - y))
    return ct * (float(y) * x ** (y - 1))


def _any_slope(x: Any, y: Any) -> Any:
    """Returns the slope in x for a run-time ``y``.

    The power of a positive x is two equal factors, which multiply y one after the other. It neither
    overflows nor underflows where the slope does not. For a negative x only 1 / x can overflow, and
    for y = 0 nothing is left of it.
    """
    level, less = _near_zero(x) & equal(y, 0.0), y - 1.0
    if x.dtype_name is not None and y.dtype_name is None:
        less = cast(less, dtype=real_dtype(x.dtype_name))  # a Python number adapts to x
    less = where(level, 1.0, less)
    if x.type != FLOAT and x.dtype_name not in FLOATS:
        return y * x**less
    positive = x > 0.0
    half = x ** where(positive, 0.5 * less, less)
    return y * half * where(positive, half, 1.0)


def _near_zero(x: Any) -> Any:
    """Finds the items of x that are 0, or negative and above -1."""
    return equal(x, 0.0) if is_complex(x.type) else (x <= 0.0) & (x > -1.0)


def _slope_of_exponent(ct: Any, x: Any, y: Any, out: Any) -> Any:
    """Returns ``ct * out * log(x)``, but 0 at x = 0 for y >= 0, where powers do not depend on y."""
    if isinstance(x, Value):
        level = equal(x, 0.0) if is_complex(y.type) else equal(x, 0.0) & (y >= 0.0)
        return ct * out * log(where(level, 1.0, x))
    if x == 0:
        return None if is_complex(y.type) else ct * where(y < 0.0, -math.inf, 0.0)
    return ct * out * (math.log(x) if x > 0 else log(full_like(out, value=float(x))))


def _casts(types: Sequence[Type], **attrs: Any) -> Sequence[str | None]:
    """Returns the casts of arithmetic, but casts bools too: NumPy's powers of bools are int8."""
    if not any(isinstance(type_, ArrayType) for type_ in types):
        return [None, None]
    dtype = arithmetic_dtype(types)
    plain = casts_for(types, dtype)
    return [dtype if getattr(t, "dtype", "") == "bool" else c for t, c in zip(types, plain)]


def _parts(x: Any, y: Any) -> Any:
    """Decomposes small powers into products, which take a hundredth of the time of ``np.power``."""
    if isinstance(y, Value) or y not in (3, 4, -1, -2) or x.dtype_name not in FLOATS:
        return None
    return {
        3: lambda: square(x) * x,
        4: lambda: square(square(x)),
        -1: lambda: 1.0 / x,
        -2: lambda: square(1.0 / x),
    }[y]()


pow = elementwise(
    "pow",
    "x ** y. Broadcasts; a literal exponent gives the plain power rule.",
    operands=XY,
    numpy="{x} ** {y}",
    dtype=signed,
    promote=_casts,
    label="{x}_to_{y} power",
    partials={"x": _slope_of_base, "y": _slope_of_exponent},
    decompose=_parts,
)
