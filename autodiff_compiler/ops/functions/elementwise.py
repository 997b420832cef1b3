"""Arithmetic, elementary functions and comparisons under MindSpore's names."""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import DTypeError
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.elementwise import activation, arithmetic, comparisons, powers
from autodiff_compiler.ops.core.shape_queries import dtype_of, in_dtype


def add(input: Any, other: Any) -> Tensor:
    """Returns input + other."""
    return arithmetic.add(input, other)


def sub(input: Any, other: Any) -> Tensor:
    """Returns input - other."""
    return arithmetic.sub(input, other)


def mul(input: Any, other: Any) -> Tensor:
    """Returns input * other."""
    return arithmetic.mul(input, other)


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """Returns input / other, then rounded 'floor' or 'trunc' if asked for."""
    if rounding_mode not in ("floor", "trunc", None):
        raise ValueError(f"rounding_mode must be 'floor', 'trunc' or None, not {rounding_mode!r}")
    quotient = arithmetic.div(input, other)
    if rounding_mode is None:
        return quotient
    return arithmetic.floor(quotient) if rounding_mode == "floor" else arithmetic.trunc(quotient)


def floor_divide(input: Any, other: Any) -> Tensor:
    """Returns input // other."""
    return arithmetic.floor_div(input, other)


def floor_mod(x: Any, y: Any) -> Tensor:
    """Returns x % y, with the sign of y."""
    return arithmetic.mod(x, y)


def pow(input: Any, exponent: Any) -> Tensor:
    """Returns input ** exponent."""
    return powers.pow(input, exponent)


def neg(input: Any) -> Tensor:
    """Returns -input."""
    return arithmetic.neg(input)


def abs(input: Any) -> Tensor:
    """Returns the absolute value."""
    return arithmetic.abs(input)


def square(input: Any) -> Tensor:
    """Returns input * input."""
    return arithmetic.square(input)


def sqrt(x: Any) -> Tensor:
    """Returns the square root."""
    return arithmetic.sqrt(x)


def rsqrt(input: Any) -> Tensor:
    """Returns 1 / sqrt(input)."""
    return arithmetic.rsqrt(input)


def reciprocal(input: Any) -> Tensor:
    """Returns 1 / input."""
    return arithmetic.reciprocal(input)


def exp(input: Any) -> Tensor:
    """Returns e to the input."""
    return arithmetic.exp(input)


def expm1(input: Any) -> Tensor:
    """Returns exp(input) - 1."""
    return arithmetic.expm1(input)


def log(input: Any) -> Tensor:
    """Returns the natural logarithm."""
    return arithmetic.log(input)


def log1p(input: Any) -> Tensor:
    """Returns log(1 + input)."""
    return arithmetic.log1p(input)


def sin(input: Any) -> Tensor:
    """Returns the sine."""
    return arithmetic.sin(input)


def cos(input: Any) -> Tensor:
    """Returns the cosine."""
    return arithmetic.cos(input)


def tan(input: Any) -> Tensor:
    """Returns the tangent."""
    return arithmetic.tan(input)


def asin(input: Any) -> Tensor:
    """Returns the inverse sine."""
    return arithmetic.asin(input)


def acos(input: Any) -> Tensor:
    """Returns the inverse cosine."""
    return arithmetic.acos(input)


def atan(input: Any) -> Tensor:
    """Returns the inverse tangent."""
    return arithmetic.atan(input)


def atan2(input: Any, other: Any) -> Tensor:
    """Returns the angle whose tangent is input / other."""
    return arithmetic.atan2(input, other)


def sinh(input: Any) -> Tensor:
    """Returns the hyperbolic sine."""
    return arithmetic.sinh(input)


def cosh(input: Any) -> Tensor:
    """Returns the hyperbolic cosine."""
    return arithmetic.cosh(input)


def tanh(input: Any) -> Tensor:
    """Returns the hyperbolic tangent."""
    return activation.tanh(input)


def asinh(input: Any) -> Tensor:
    """Returns the inverse hyperbolic sine."""
    return arithmetic.asinh(input)


def acosh(input: Any) -> Tensor:
    """Returns the inverse hyperbolic cosine."""
    return arithmetic.acosh(input)


def atanh(input: Any) -> Tensor:
    """Returns the inverse hyperbolic tangent."""
    return arithmetic.atanh(input)


def sigmoid(input: Any) -> Tensor:
    """Returns 1 / (1 + exp(-input))."""
    return activation.sigmoid(input)


def relu(input: Any) -> Tensor:
    """Returns max(input, 0)."""
    return arithmetic.relu(input)


def softplus(input: Any, beta: Any = 1, threshold: Any = 20) -> Tensor:
    """Returns log(1 + exp(beta * input)) / beta; the input where beta * input is above the
    threshold.

    From a threshold of 20 on the two are the same to 2e-9, and the first is taken everywhere.
    """
    scaled = input if beta == 1 else input * beta
    smooth = activation.softplus(scaled)
    smooth = smooth if beta == 1 else smooth / beta
    return smooth if threshold >= 20 else arithmetic.where(scaled > threshold, input, smooth)


def sign(input: Any) -> Tensor:
    """Returns the sign: -1, 0 or 1."""
    return arithmetic.sign(input)


def floor(input: Any) -> Tensor:
    """Rounds down."""
    return arithmetic.floor(input)


def ceil(input: Any) -> Tensor:
    """Rounds up."""
    return arithmetic.ceil(input)


def round(input: Any, *, decimals: int = 0) -> Tensor:
    """Rounds to the nearest integer; ties go to the even neighbour."""
    if decimals:
        return arithmetic.round(input * 10.0**decimals) / 10.0**decimals
    return arithmetic.round(input)


def trunc(input: Any) -> Tensor:
    """Rounds towards 0."""
    return arithmetic.trunc(input)


def maximum(input: Any, other: Any) -> Tensor:
    """Returns the larger of two."""
    return arithmetic.maximum(input, other)


def minimum(input: Any, other: Any) -> Tensor:
    """Returns the smaller of two."""
    return arithmetic.minimum(input, other)


def where(condition: Any, input: Any, other: Any) -> Tensor:
    """Returns input where the condition holds, else other."""
    return arithmetic.where(condition, input, other)


def masked_fill(input_x: Any, mask: Any, value: Any) -> Tensor:
    """Returns value where the mask holds, else input_x."""
    return arithmetic.where(mask, value, input_x)


def clamp(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """Limits the input to [min, max]; at a bound the gradient goes to the input."""
    if min is None and max is None:
        raise ValueError("At least one of 'min' or 'max' must not be None.")
    if max is None:
        return arithmetic.where(input < min, min, input)
    if min is None:
        return arithmetic.where(input > max, max, input)
    return arithmetic.clip(input, min, max)


def clip_by_value(x: Any, clip_value_min: Any = None, clip_value_max: Any = None) -> Any:
    """Limits the input to [min, max] by a maximum and a minimum: at a bound the gradient is
    halved."""
    if isinstance(x, (tuple, list)):
        return type(x)(clip_by_value(item, clip_value_min, clip_value_max) for item in x)
    if clip_value_min is None and clip_value_max is None:
        raise ValueError("At least one of 'clip_value_min' or 'clip_value_max' must not be None.")
    x = x if clip_value_max is None else arithmetic.minimum(x, clip_value_max)
    return x if clip_value_min is None else arithmetic.maximum(x, clip_value_min)


def equal(input: Any, other: Any) -> Tensor:
    """Returns input == other."""
    return comparisons.equal(input, other)


def not_equal(input: Any, other: Any) -> Tensor:
    """Returns input != other."""
    return comparisons.not_equal(input, other)


def less(input: Any, other: Any) -> Tensor:
    """Returns input < other."""
    return comparisons.less(input, other)


def less_equal(input: Any, other: Any) -> Tensor:
    """Returns input <= other."""
    return comparisons.less_equal(input, other)


def greater(input: Any, other: Any) -> Tensor:
    """Returns input > other."""
    return comparisons.greater(input, other)


def greater_equal(input: Any, other: Any) -> Tensor:
    """Returns input >= other."""
    return comparisons.greater_equal(input, other)


def logical_and(input: Any, other: Any) -> Tensor:
    """Returns True where both are nonzero."""
    return comparisons.logical_and(input, other)


def logical_or(input: Any, other: Any) -> Tensor:
    """Returns True where at least one is nonzero."""
    return comparisons.logical_or(input, other)


def logical_xor(input: Any, other: Any) -> Tensor:
    """Returns True where exactly one is nonzero."""
    return comparisons.logical_xor(input, other)


def logical_not(input: Any) -> Tensor:
    """Returns True where the input is zero."""
    return comparisons.logical_not(input)


def bitwise_not(input: Any) -> Tensor:
    """Returns all bits inverted; integers or bools."""
    dtype = dtype_of(input) or ""
    if dtype == "bool":
        return comparisons.logical_not(input)
    if "int" not in dtype:
        raise DTypeError(
            "bitwise_not takes integers or bools", "convert it first: ops.cast(x, int)"
        )
    ones = 2 ** int(dtype[4:]) - 1 if dtype.startswith("u") else -1
    return arithmetic.sub(ones, input)


def isnan(input: Any) -> Tensor:
    """Returns True where the input is not a number."""
    return comparisons.isnan(input)


def isinf(input: Any) -> Tensor:
    """Returns True where the input is infinite."""
    return comparisons.isinf(input)


def isfinite(input: Any) -> Tensor:
    """Returns True where the input is neither infinite nor NaN."""
    return comparisons.isfinite(input)


def bitwise_and(input: Any, other: Any) -> Tensor:
    """Returns input & other."""
    return arithmetic.bit_and(input, other)


def bitwise_or(input: Any, other: Any) -> Tensor:
    """Returns input | other."""
    return arithmetic.bit_or(input, other)


def bitwise_xor(input: Any, other: Any) -> Tensor:
    """Returns input ^ other."""
    return arithmetic.bit_xor(input, other)


def cast(input: Any, dtype: Any) -> Tensor:
    """Returns input in another dtype."""
    return in_dtype(input, dtype)


def deepcopy(input_x: Any) -> Tensor:
    """Returns a copy."""
    return structure.copy(input_x)


def stop_gradient(value: Any) -> Any:
    """Returns the value as a constant: no gradient flows back through it. Containers item by
    item."""
    if isinstance(value, (tuple, list)):
        return type(value)(stop_gradient(item) for item in value)
    if isinstance(value, dict):
        return {key: stop_gradient(item) for key, item in value.items()}
    return arithmetic.stop_gradient(value) if hasattr(value, "__apply_operator__") else value


subtract, multiply, true_divide, divide, negative = sub, mul, div, div, neg
floor_div, absolute = floor_divide, abs
arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh
clip, select = clamp, where
eq, ne, lt, le, gt, ge = equal, not_equal, less, less_equal, greater, greater_equal


def remainder(input: Any, other: Any) -> Tensor:
    """Returns input % other, with the sign of other."""
    return arithmetic.mod(input, other)


__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "cast",
    "ceil",
    "clamp",
    "clip",
    "clip_by_value",
    "cos",
    "cosh",
    "deepcopy",
    "div",
    "divide",
    "eq",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_div",
    "floor_divide",
    "floor_mod",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "less",
    "less_equal",
    "log",
    "log1p",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "masked_fill",
    "maximum",
    "minimum",
    "mul",
    "multiply",
    "ne",
    "neg",
    "negative",
    "not_equal",
    "pow",
    "reciprocal",
    "relu",
    "remainder",
    "round",
    "rsqrt",
    "select",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softplus",
    "sqrt",
    "square",
    "stop_gradient",
    "sub",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
    "where",
]
