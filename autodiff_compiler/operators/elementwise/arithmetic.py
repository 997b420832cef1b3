"""Arithmetic and the elementary functions, element by element.

A rule gives the partial derivative, or the cotangent itself where that reads better
(``ct / y`` rather than ``ct * (1 / y)``). Each one serves both modes, and any order.
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Sequence
from typing import Any

from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import BOOL, FLOAT, ArrayType, ScalarType, Type, is_complex
from autodiff_compiler.operators.core.declare import (
    PROMOTION,
    arithmetic_dtype,
    casts_for,
    same_type,
    zero_gradient,
)
from autodiff_compiler.operators.core.families import (
    boolean,
    elementwise,
    floating,
    integral,
    no_casts,
    real_function,
    signed,
)
from autodiff_compiler.operators.destination_ops import bound_parts, choice_parts
from autodiff_compiler.operators.elementwise.comparisons import equal
from autodiff_compiler.operators.elementwise.complex_parts import conj, real, real_dtype
from autodiff_compiler.operators.elementwise.scalar_choice import bound_text, chosen_text

XY = ("x", "y")

add = elementwise(
    "add",
    "x + y. Broadcasts; two bools give their or.",
    operands=XY,
    numpy="{x} + {y}",
    label="{x}_plus_{y} shifted_{x} shifted_{y} total",
    partials={"x": lambda ct: ct, "y": lambda ct: ct},
)


def _sub_numpy(types: Sequence[Type]) -> str:
    both = all(isinstance(type_, ArrayType) and type_.dtype == "bool" for type_ in types)
    return "{x} ^ {y}" if both else "{x} - {y}"


sub = elementwise(
    "sub",
    "x - y. Broadcasts; of two bools whether they differ.",
    operands=XY,
    numpy=_sub_numpy,
    label="{x}_minus_{y} shifted_{x} difference",
    partials={"x": lambda ct: ct, "y": lambda ct: -ct},
)

mul = elementwise(
    "mul",
    "x * y. Broadcasts; two bools give their and.",
    operands=XY,
    numpy="{x} * {y}",
    label="{x}_times_{y} scaled_{x} scaled_{y} product",
    partials={"x": lambda y: y, "y": lambda x: x},
)

div = elementwise(
    "div",
    "x / y. Broadcasts; integers and bools are divided in float32.",
    operands=XY,
    numpy="{x} / {y}",
    dtype=floating,
    label="{x}_over_{y} scaled_{x} ratio",
    partials={"x": lambda ct, y: ct / y, "y": lambda ct, y, out: -ct * out / y},
)

floor_div = elementwise(
    "floor_div",
    "x / y rounded down, as Python's //. Zero derivative.",
    operands=XY,
    numpy="{x} // {y}",
    dtype=signed,
    label="{x}_floor_{y} quotient",
)

mod = elementwise(
    "mod",
    "x - x // y * y, with the sign of y, as Python's %.",
    operands=XY,
    numpy="{x} % {y}",
    dtype=signed,
    label="{x}_mod_{y} remainder",
    partials={"x": lambda ct: ct, "y": lambda ct, x, y: -ct * (x // y)},
)


#: The dtypes whose powers NumPy computes element by element.
FLOATS = ("float32", "float64")


def _winners_part(ct: Any, x: Any, y: Any, loser: Any) -> Any:
    """Returns the part of ``ct`` for one of two operands: none where it loses, half where both tie.

    Beside a NaN neither is larger, and both get all of it.
    """
    return where(loser, 0.0, where(equal(x, y), 0.5 * ct, ct))


maximum = elementwise(
    "maximum",
    "The larger of x and y; NaN wins. Broadcasts; a tie splits the gradient in half.",
    operands=XY,
    numpy=bound_text(">=", "maximum"),
    label="larger_{x}_{y}",
    partials={
        "x": lambda ct, x, y: _winners_part(ct, x, y, x < y),
        "y": lambda ct, x, y: _winners_part(ct, x, y, y < x),
    },
    decompose=lambda x, y: bound_parts(x, y, math.inf),
)

minimum = elementwise(
    "minimum",
    "The smaller of x and y; NaN wins. Broadcasts; a tie splits the gradient in half.",
    operands=XY,
    numpy=bound_text("<=", "minimum"),
    label="smaller_{x}_{y}",
    partials={
        "x": lambda ct, x, y: _winners_part(ct, x, y, y < x),
        "y": lambda ct, x, y: _winners_part(ct, x, y, x < y),
    },
    decompose=lambda x, y: bound_parts(x, y, -math.inf),
)

hypot: OpDef = elementwise(
    "hypot",
    "sqrt(x² + y²) without overflow. Broadcasts; the slope at (0, 0) is 0.",
    operands=XY,
    numpy="np.hypot({x}, {y})",
    dtype=floating,
    label="hypot_{x}_{y}",
    partials={
        "x": lambda ct, x, out: ct * (x / not_zero(out)),
        "y": lambda ct, y, out: ct * (y / not_zero(out)),
    },
)


def _over_squared_norm(ct: Any, part: Any, x: Any, y: Any) -> Any:
    """Returns ``ct * part / (x² + y²)`` without computing the squares, which may overflow."""
    size = not_zero(hypot(x, y))
    return ct * (part / size) / size


atan2 = elementwise(
    "atan2",
    "The angle of the point (y, x), in (-pi, pi]. Broadcasts; the slope at (0, 0) is 0.",
    operands=("y", "x"),
    numpy="np.arctan2({y}, {x})",
    dtype=floating,
    label="angle_{y}_{x}",
    partials={
        "y": lambda ct, x, y: _over_squared_norm(ct, x, x, y),
        "x": lambda ct, x, y: _over_squared_norm(-ct, y, x, y),
    },
)


def _branch_dtype(types: Sequence[Type]) -> str | None:
    """Returns the dtype of ``where``: that of its two values; two numbers make a tensor of their
    kind."""
    values = types[1:]
    if PROMOTION.numpy or any(isinstance(type_, ArrayType) for type_ in values):
        return arithmetic_dtype(values)
    if FLOAT in values:
        return "float32"
    return "bool" if all(type_ == BOOL for type_ in values) else "int64"


def _where_casts(types: Sequence[Type], **attrs: Any) -> Sequence[str | None]:
    return [None, *casts_for(types[1:], _branch_dtype(types))]


def _where_numpy(types: Sequence[Type]) -> str:
    text = chosen_text(types) or "np.where({c}, {x}, {y})"
    numbers = FLOAT in types[1:] and all(isinstance(type_, ScalarType) for type_ in types[1:])
    return f"{text}.astype(np.float32)" if numbers and not PROMOTION.numpy else text


where: OpDef = elementwise(
    "where",
    "x where c is true, else y. Broadcasts. A NaN in the branch not taken gets through.",
    operands=("c", "x", "y"),
    numpy=_where_numpy,
    dtype=_branch_dtype,
    promote=_where_casts,
    partials={
        "c": lambda ct: None,
        "x": lambda ct, c: where(c, ct, 0.0),
        "y": lambda ct, c: where(c, 0.0, ct),
    },
    decompose=choice_parts,
)


def not_zero(size: Any) -> Any:
    """Returns ``size``, and 1 where it is 0: as a divisor it makes 0 / 0 zero."""
    return where(equal(size, 0.0), 1.0, size)


clip = elementwise(
    "clip",
    "x limited to [low, high]; high where low is above it. At a bound the gradient goes to x.",
    operands=("x", "low", "high"),
    numpy="np.clip({x}, {low}, {high})",
    label="{x}_clipped",
    partials={
        "x": lambda ct, x, low, high: where((x >= low) & (x <= high), ct, 0.0),
        "low": lambda ct, x, low, high: where((x < low) & (low <= high), ct, 0.0),
        "high": lambda ct, x, low, high: where((x > high) | (low > high), ct, 0.0),
    },
)

neg = elementwise(
    "neg",
    "-x.",
    numpy="-{x}",
    dtype=signed,
    label="minus_{x} negated",
    partials={"x": lambda ct: -ct},
)


def _abs_slope(ct: Any, x: Any) -> Any:
    """Returns ``ct`` times the slope of the modulus.

    A complex ``ct`` is the tangent of a complex x: only its component away from 0 counts.
    """
    if is_complex(getattr(ct, "type", None)):
        return real(conj(sign_of(x)) * ct)
    return ct * (sign_of(x) if is_complex(getattr(x, "type", None)) else sign(x))


abs = elementwise(
    "abs",
    "|x|, of complex numbers the modulus; the slope at 0 is 0.",
    label="abs_{x} magnitude",
    numpy=lambda types: "np.abs({x})" if isinstance(types[0], ArrayType) else "abs({x})",
    dtype=lambda types: real_dtype(arithmetic_dtype(types)),
    promote=no_casts,
    partials={"x": _abs_slope},
)


def sign_of(x: Any) -> Any:
    """Returns x / |x|, and 0 at 0."""
    return x / not_zero(abs(x))


square = elementwise(
    "square",
    "x * x.",
    numpy="np.square({x})",
    dtype=signed,
    label="{x}_squared square",
    partials={"x": lambda x: 2.0 * x},
)


def _relu_numpy(types: Sequence[Type]) -> str:
    least = "False" if getattr(types[0], "dtype", None) == "bool" else "0"
    return f"np.maximum({{x}}, {least})"


relu = elementwise(
    "relu",
    "max(x, 0); the slope at 0 is 0.",
    numpy=_relu_numpy,
    label="relu_{x}",
    partials={"x": lambda out: out > 0},
)


exp = real_function("exp", "e to the x.", "np.exp({x})", lambda out: out)
expm1 = real_function("expm1", "exp(x) - 1, exact near 0.", "np.expm1({x})", lambda x: exp(x))
log = real_function("log", "The natural logarithm.", "np.log({x})", lambda ct, x: ct / x)
log1p = real_function(
    "log1p", "log(1 + x), exact near 0.", "np.log1p({x})", lambda ct, x: ct / (1.0 + x)
)
sqrt = real_function("sqrt", "The square root.", "np.sqrt({x})", lambda ct, out: ct * 0.5 / out)
rsqrt = real_function(
    "rsqrt", "1 / sqrt(x).", "1.0 / np.sqrt({x})", lambda ct, out: ct * -0.5 * out * out * out
)
reciprocal = real_function("reciprocal", "1 / x.", "1.0 / {x}", lambda ct, out: -ct * out * out)
sin = real_function("sin", "Sine of x radians.", "np.sin({x})", lambda x: cos(x))
cos: OpDef = real_function("cos", "Cosine of x radians.", "np.cos({x})", lambda ct, x: -ct * sin(x))
tan = real_function("tan", "Tangent of x radians.", "np.tan({x})", lambda out: 1.0 + out * out)
asin = real_function(
    "asin", "Inverse sine.", "np.arcsin({x})", lambda ct, x: ct / sqrt((1.0 - x) * (1.0 + x))
)
acos = real_function(
    "acos", "Inverse cosine.", "np.arccos({x})", lambda ct, x: -ct / sqrt((1.0 - x) * (1.0 + x))
)
atan = real_function("atan", "Inverse tangent.", "np.arctan({x})", lambda ct, x: ct / (1.0 + x * x))
sinh = real_function("sinh", "Hyperbolic sine.", "np.sinh({x})", lambda x: cosh(x))
cosh: OpDef = real_function("cosh", "Hyperbolic cosine.", "np.cosh({x})", lambda x: sinh(x))


def _hypot_one(x: Any) -> Any:
    """Returns sqrt(x² + 1), of real numbers without overflow."""
    return sqrt(x * x + 1.0) if is_complex(getattr(x, "type", None)) else hypot(x, 1.0)


asinh = real_function(
    "asinh", "Inverse hyperbolic sine.", "np.arcsinh({x})", lambda ct, x: ct / _hypot_one(x)
)
acosh = real_function(
    "acosh",
    "Inverse hyperbolic cosine.",
    "np.arccosh({x})",
    lambda ct, x: ct / (sqrt(x - 1.0) * sqrt(x + 1.0)),
)
atanh = real_function(
    "atanh",
    "Inverse hyperbolic tangent.",
    "np.arctanh({x})",
    lambda ct, x: ct / ((1.0 - x) * (1.0 + x)),
)


def _step(name: str, doc: str, numpy: str, label: str = "") -> OpDef:
    label = label or f"{name}_{{x}}"
    return elementwise(name, doc, numpy=numpy, dtype=signed, label=label)


sign: OpDef = _step("sign", "-1, 0 or 1 as x is negative, zero or positive.", "np.sign({x})")
floor = _step("floor", "The largest integer up to x, in the dtype of x.", "np.floor({x})")
ceil = _step("ceil", "The smallest integer from x on, in the dtype of x.", "np.ceil({x})")
round = _step("round", "The nearest integer, ties to even.", "np.round({x})", "rounded_{x}")
trunc = _step("trunc", "x without its fraction.", "np.trunc({x})")


def _bits(name: str, doc: str, mark: str) -> OpDef:
    text = f"{{x}} {mark} {{y}}"
    return elementwise(name, doc, operands=XY, numpy=text, dtype=integral)


bit_and = _bits("bit_and", "Bits set in both; integers or bools. Broadcasts.", "&")
bit_or = _bits("bit_or", "Bits set in one or both; integers or bools. Broadcasts.", "|")
bit_xor = _bits("bit_xor", "Bits set in exactly one; integers or bools. Broadcasts.", "^")
shift_left = _bits("shift_left", "x times two to the y; integers. Broadcasts.", "<<")
shift_right = _bits("shift_right", "x by two to the y, rounded down; integers. Broadcasts.", ">>")


def _divisors(name: str, doc: str) -> OpDef:
    text, label = f"np.{name}({{x}}, {{y}})", f"{name}_{{x}}_{{y}}"
    return elementwise(name, doc, operands=XY, numpy=text, dtype=integral, label=label)


gcd = _divisors("gcd", "The greatest common divisor; integers. Broadcasts.")
lcm = _divisors("lcm", "The least common multiple; integers. Broadcasts.")

invert = elementwise(
    "invert",
    "~x: not x, a bool also for integers.",
    dtype=boolean,
    label="not_{x} negation",
    numpy=lambda types: (
        "~{x}"
        if getattr(types[0], "dtype", None) in ("bool", None) and isinstance(types[0], ArrayType)
        else "np.logical_not({x})"
    ),
)

stop_gradient = zero_gradient(
    "stop_gradient",
    "x itself, as a constant: no gradient flows back through it.",
    numpy="{x}",
    result=same_type,
    label="{x}",
    views=("x",),
    batch="trailing",
)
