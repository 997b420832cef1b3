"""Elementwise functions. Most are functions of ``ops``."""

from __future__ import annotations

__macro__ = True

import math
from typing import Any

import numpy as _np

from autodiff_compiler import ops
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import BOOL, COMPLEX, FLOAT, INT, PROMOTION
from autodiff_compiler.operators.core import structure
from autodiff_compiler.ops.core.shape_queries import (
    dtype_of,
    holds_complex,
    is_integral,
    known_sizes,
    unaliased,
)
from autodiff_compiler.ops.functions.gather_scatter import item_at

_abs = abs
abs = absolute = fabs = ops.abs
add, subtract, multiply = ops.add, ops.sub, ops.mul
divide = true_divide = ops.div
floor_divide, fmod = ops.floor_divide, ops.fmod
mod = remainder = ops.floor_mod
negative, positive, reciprocal = ops.neg, unaliased(ops.positive), ops.reciprocal
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
hypot, heaviside, copysign = ops.hypot, ops.heaviside, ops.copysign
ceil, floor, trunc = ops.ceil, ops.floor, ops.trunc
rint = ops.round
maximum, minimum, fmax, fmin = ops.maximum, ops.minimum, ops.fmax, ops.fmin
equal, not_equal = ops.equal, ops.not_equal
greater, greater_equal = ops.greater, ops.greater_equal
less, less_equal = ops.less, ops.less_equal
logical_and, logical_or = ops.logical_and, ops.logical_or
logical_not, logical_xor = ops.logical_not, ops.logical_xor
isnan, isinf, isfinite = ops.isnan, ops.isinf, ops.isfinite


def cbrt(x: Any) -> Tensor:
    """Returns the cube root, also of negative numbers; its derivative at 0 is infinite."""
    negative = ops.less(x, 0)
    root = ops.where(negative, -x, x) ** (1.0 / 3.0)
    return ops.where(negative, -root, root)


def clip(
    a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None
) -> Tensor:
    """Clips ``a`` to two bounds, either of which may be None."""
    if (a_min is not None or a_max is not None) and (min is not None or max is not None):
        raise ValueError(
            "Passing `min` or `max` keyword argument when `a_min` or `a_max` is"
            " provided is forbidden."
        )
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    bounds = [bound for bound in (low, high) if bound is not None]
    if PROMOTION.numpy:
        if not bounds:
            if dtype_of(a) == "bool":
                raise TypeError("np.clip of bools without bounds is not supported")
            return ops.positive(a)
        a = in_common(a, *bounds)
    return ops.clip(a, low, high)


def in_common(a: Any, *others: Any) -> Tensor:
    """Casts ``a`` to the dtype of NumPy's arithmetic of it and others."""
    dtype = common_dtype(a, *others)
    return a if dtype is None or dtype_of(a) in (None, dtype) else structure.cast(a, dtype=dtype)


def common_dtype(*things: Any) -> str | None:
    """Returns the dtype of NumPy's arithmetic of arrays and numbers; None if it is unknown."""
    kinds = [_promotion_operand(thing) for thing in things]
    return None if any(kind is None for kind in kinds) else _np.result_type(*kinds).name


def _promotion_operand(thing: Any) -> Any:
    """Returns the dtype or number that stands for ``thing`` in ``result_type``, or None."""
    if dtype_of(thing) is not None:
        return _np.dtype(dtype_of(thing))
    if isinstance(thing, Value):
        numbers: dict[Any, Any] = {INT: 1, FLOAT: 1.0, COMPLEX: 1j, BOOL: True}
        return numbers.get(thing.type)
    return thing if isinstance(thing, (bool, int, float, complex)) else None


def round(a: Any, decimals: int = 0) -> Tensor:
    """Rounds to ``decimals`` decimals, ties to even."""
    if not PROMOTION.numpy:
        return ops.round(a, decimals=decimals)
    is_integer = (dtype_of(a) or "").startswith(("int", "uint"))
    if decimals == 0 or is_integer and decimals > 0:
        return a if is_integer else ops.round(a)
    scale = 10.0 ** _abs(decimals)
    if decimals > 0:
        return ops.round(a * scale) / scale
    rounded = ops.round(a / scale) * scale
    return structure.cast(rounded, dtype=dtype_of(a)) if is_integer else rounded


around = round


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Tensor:
    """Replaces NaN and the infinities by numbers."""
    if copy is not True:
        raise TypeError(
            "np.nan_to_num(copy=False) is not supported here; write x[...] = np.nan_to_num(x)"
        )
    if is_integral(x) and PROMOTION.numpy:
        return x
    return ops.nan_to_num(x, nan, posinf, neginf)


def isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """True if elements are equal but for rounding."""
    return ops.isclose(a, b, rtol, atol, equal_nan)


def where(condition: Any, x: Any = None, y: Any = None) -> Tensor:
    """Selects x where the condition holds, else y."""
    if x is None or y is None:
        raise TypeError(
            "np.where needs a condition and two choices here: the number of True elements is not a "
            "compile-time constant"
        )
    return ops.where(condition, x, y)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    """Selects the choice of the first condition that holds, else ``default``."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    if PROMOTION.numpy:
        dtype = common_dtype(*choicelist, default)
        if dtype is None or not any(dtype_of(choice) for choice in (*choicelist, default)):
            dtype = None
        for condition, choice in reversed(list(zip(condlist, choicelist))):
            chosen = ops.where(condition, in_known_dtype(choice, dtype), default)
            default = in_known_dtype(chosen, dtype)
        return default
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        default = ops.where(condition, choice, default)
    return default


def in_known_dtype(x: Any, dtype: str | None) -> Any:
    """Casts an array to a dtype, if both dtypes are known; a number is returned unchanged."""
    return x if dtype is None or dtype_of(x) in (None, dtype) else structure.cast(x, dtype=dtype)


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Tensor:
    """Interpolates linearly between the points ``(xp, fp)``.

    Beyond the outer points the result is constant, or ``left`` and ``right``, or periodic.
    """
    if PROMOTION.numpy:
        x, xp, fp = (_float64(thing) for thing in (x, xp, fp))
    count = known_sizes(xp, "interp")[0]
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        period, left, right = _abs(period), None, None
        x, xp = ops.floor_mod(x, period), ops.floor_mod(xp, period)
        order = ops.argsort(xp)
        xp, fp = item_at(xp, order), item_at(fp, order)
        xp = ops.concat(
            (item_at(xp, slice(-1, None)) - period, xp, item_at(xp, slice(0, 1)) + period)
        )
        fp = ops.concat((item_at(fp, slice(-1, None)), fp, item_at(fp, slice(0, 1))))
        count += 2
    first, last = item_at(xp, 0), item_at(xp, -1)
    if count == 1:
        result = ops.where(ops.isnan(x), x, item_at(fp, 0))
    else:
        right_end = ops.clip(ops.searchsorted(xp, x), 1, count - 1)
        ends = (right_end - 1, right_end)
        x0, x1, y0, y1 = (item_at(row, end) for row in (xp, fp) for end in ends)
        inside = ops.clip(x, first, last)
        result = y0 + (y1 - y0) * ((inside - x0) / (x1 - x0))
    if left is not None:
        result = ops.where(x < first, left, result)
    return result if right is None else ops.where(x > last, right, result)


def _float64(x: Any) -> Any:
    return x if dtype_of(x) in ("float64", "complex128") else structure.cast(x, dtype="float64")


def conj(x: Any) -> Tensor:
    """Returns the complex conjugate; a real array is returned unchanged."""
    return ops.conj(x) if holds_complex(x) else x


conjugate = conj


def real(val: Any) -> Tensor:
    """Returns the real part; a real array is returned unchanged."""
    return ops.real(val) if holds_complex(val) else val


def imag(val: Any) -> Tensor:
    """Returns the imaginary part."""
    return ops.imag(val)


def angle(z: Any, deg: bool = False) -> Tensor:
    """Returns the angle from the positive real axis, in radians or degrees."""
    if holds_complex(z):
        result = ops.angle(z)
    else:
        if is_integral(z) and PROMOTION.numpy:
            arctan2: Any = _np.arctan2  # the stubs of NumPy 2.0 do not declare resolve_dtypes
            loop = arctan2.resolve_dtypes((int, _np.dtype(dtype_of(z)), None))
            z = structure.cast(z, dtype=loop[-1].name)
        zero = ops.zeros_like(z)
        result = ops.where(z < 0, zero + math.pi, zero)
    return result * (180 / math.pi) if deg else result


def sinc(x: Any) -> Tensor:
    """Returns sin(pi x) / (pi x), and 1 at 0."""
    if is_integral(x) and PROMOTION.numpy:
        x = structure.cast(x, dtype="float64")
    return ops.sinc(x)


def fix(x: Any) -> Tensor:
    """Rounds towards zero."""
    return x if is_integral(x) and PROMOTION.numpy else ops.trunc(x)


__all__ = [
    "abs",
    "absolute",
    "add",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "around",
    "cbrt",
    "ceil",
    "clip",
    "conj",
    "conjugate",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "divide",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fix",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "greater",
    "greater_equal",
    "heaviside",
    "hypot",
    "imag",
    "interp",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "nan_to_num",
    "negative",
    "not_equal",
    "positive",
    "power",
    "rad2deg",
    "radians",
    "real",
    "reciprocal",
    "remainder",
    "rint",
    "round",
    "select",
    "sign",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
    "where",
]
