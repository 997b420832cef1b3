"""Functions of each element by itself. Most are functions of ``ops`` as they stand."""

from __future__ import annotations

import math
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.ops._shapes import apart, holds_complex, known_sizes
from autodiff_compiler.ops.parts import item_at

abs = absolute = fabs = ops.abs
add, subtract, multiply = ops.add, ops.sub, ops.mul
divide = true_divide = ops.div
floor_divide, fmod = ops.floor_divide, ops.fmod
mod = remainder = ops.floor_mod
negative, positive, reciprocal = ops.neg, apart(ops.positive), ops.reciprocal
power = float_power = ops.pow
square, sqrt, sign = ops.square, ops.sqrt, ops.sign
exp, exp2, expm1 = ops.exp, ops.exp2, ops.expm1
log, log2, log10, log1p = ops.log, ops.log2, ops.log10, ops.log1p
logaddexp, logaddexp2 = ops.logaddexp, ops.logaddexp2
sin, cos, tan = ops.sin, ops.cos, ops.tan
arcsin, arccos, arctan, arctan2 = ops.asin, ops.acos, ops.atan, ops.atan2
sinh, cosh, tanh = ops.sinh, ops.cosh, ops.tanh
arcsinh, arccosh, arctanh = ops.asinh, ops.acosh, ops.atanh
deg2rad = radians = ops.deg2rad
rad2deg = degrees = ops.rad2deg
hypot, sinc, heaviside, copysign = ops.hypot, ops.sinc, ops.heaviside, ops.copysign
ceil, floor, trunc = ops.ceil, ops.floor, ops.trunc
fix, rint = ops.trunc, ops.round
maximum, minimum, fmax, fmin = ops.maximum, ops.minimum, ops.fmax, ops.fmin
equal, not_equal = ops.equal, ops.not_equal
greater, greater_equal = ops.greater, ops.greater_equal
less, less_equal = ops.less, ops.less_equal
logical_and, logical_or = ops.logical_and, ops.logical_or
logical_not, logical_xor = ops.logical_not, ops.logical_xor
isnan, isinf, isfinite = ops.isnan, ops.isinf, ops.isfinite


def cbrt(x: Any) -> Any:
    """The cube root, of negative numbers too; its slope at 0 is infinite, as that of a root is."""
    negative = ops.less(x, 0)
    root = ops.where(negative, -x, x) ** (1.0 / 3.0)
    return ops.where(negative, -root, root)


def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """``a`` held between two bounds, either of which may be None."""
    return ops.clip(a, a_min if min is None else min, a_max if max is None else max)


def round(a: Any, decimals: int = 0) -> Any:
    """Rounded to so many decimals, halves to the even neighbour."""
    return ops.round(a, decimals=decimals)


around = round


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None,
               neginf: Any = None) -> Any:  # fmt: skip
    """Numbers in the place of NaN and the infinities."""
    if copy is not True:
        raise TypeError("nan_to_num makes a new array here; leave out copy=False")
    return ops.nan_to_num(x, nan, posinf, neginf)


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether elements are equal but for rounding."""
    return ops.isclose(a, b, rtol, atol, equal_nan)


def where(condition: Any, *choices: Any) -> Any:
    """``where(condition, x, y)``: x where the condition holds, else y."""
    if len(choices) != 2:
        raise TypeError("where needs a condition and two choices: how many places hold is not known"
                        " while compiling")  # fmt: skip
    return ops.where(condition, *choices)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The choice of the first condition that holds, else ``default``."""
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        default = ops.where(condition, choice, default)
    return default


def interp(x: Any, xp: Any, fp: Any) -> Any:
    """Piecewise linear through the points ``(xp, fp)``, constant beyond the outer ones."""
    place = ops.clip(ops.searchsorted(xp, x), 1, known_sizes(xp, "interp")[0] - 1)
    x0, x1, y0, y1 = (item_at(row, at) for row in (xp, fp) for at in (place - 1, place))
    inside = ops.clip(x, item_at(xp, 0), item_at(xp, -1))
    return y0 + (y1 - y0) * ((inside - x0) / (x1 - x0))


def conj(x: Any) -> Any:
    """The complex conjugate; a real array is its own."""
    return ops.conj(x) if holds_complex(x) else x


conjugate = conj


def real(val: Any) -> Any:
    """The real part; a real array is its own."""
    return ops.real(val) if holds_complex(val) else val


def imag(val: Any) -> Any:
    """The imaginary part."""
    return ops.imag(val)


def angle(z: Any) -> Any:
    """The angle from the positive real axis."""
    if holds_complex(z):
        return ops.angle(z)
    zero = ops.zeros_like(z)
    return ops.where(z < 0, zero + math.pi, zero)


__all__ = [
    "abs", "absolute", "add", "angle", "arccos", "arccosh", "arcsin", "arcsinh", "arctan",
    "arctan2", "arctanh", "around", "cbrt", "ceil", "clip", "conj", "conjugate", "copysign", "cos",
    "cosh", "deg2rad", "degrees", "divide", "equal", "exp", "exp2", "expm1", "fabs", "fix",
    "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "greater", "greater_equal",
    "heaviside", "hypot", "imag", "interp", "isclose", "isfinite", "isinf", "isnan", "less",
    "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "mod", "multiply",
    "nan_to_num", "negative", "not_equal", "positive", "power", "rad2deg", "radians", "real",
    "reciprocal", "remainder", "rint", "round", "select", "sign", "sin", "sinc", "sinh", "sqrt",
    "square", "subtract", "tan", "tanh", "true_divide", "trunc", "where",
]  # fmt: skip
