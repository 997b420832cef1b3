"""Elementwise functions beyond arithmetic, and sums of several tensors, under MindSpore's names."""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Sequence
from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.core.index_patterns import FULL
from autodiff_compiler.operators.elementwise import arithmetic, comparisons, gamma, powers, special
from autodiff_compiler.operators.indexing import indexing
from autodiff_compiler.ops.core.shape_queries import (
    axis_of,
    dtype_of,
    in_dtype,
    is_integral,
    known_rank,
)
from autodiff_compiler.ops.functions import arrays, creation, reductions


def _is_tensor(x: Any) -> bool:
    return hasattr(x, "__apply_operator__")


def _tensor_like(x: Any, other: Any) -> Any:
    """Returns x as a tensor; a number gets the shape of ``other``."""
    return x if _is_tensor(x) else structure.full_like(other, value=float(x))


def log2(input: Any) -> Tensor:
    """Returns the logarithm to base 2."""
    return special.log2(input)


def log10(input: Any) -> Tensor:
    """Returns the logarithm to base 10."""
    return special.log10(input)


def exp2(input: Any) -> Tensor:
    """Returns 2 to the input."""
    return powers.pow(2.0, input)


def erf(input: Any) -> Tensor:
    """Returns the error function."""
    return special.erf(input)


def erfc(input: Any) -> Tensor:
    """Returns 1 - erf(input), exact also where it is small."""
    return special.erfc(input)


def erfinv(input: Any) -> Tensor:
    """Returns the inverse of ``erf``."""
    return special.erfinv(input)


def i0(input: Any) -> Tensor:
    """Returns the modified Bessel function of the first kind and of order 0."""
    return special.bessel_i(input, n=0)


def lgamma(input: Any) -> Tensor:
    """Returns log(abs(gamma(input)))."""
    return gamma.lgamma(input)


def digamma(input: Any) -> Tensor:
    """Returns the derivative of ``lgamma``."""
    return gamma.polygamma(input, n=0)


def polygamma(n: int, input: Any) -> Tensor:
    """Returns the n-th derivative of ``digamma``."""
    if not isinstance(n, int) or n < 0:
        raise ValueError(f"the order of polygamma must be an int of at least 0, not {n!r}")
    return gamma.polygamma(input, n=n)


def igamma(input: Any, other: Any) -> Tensor:
    """Returns the regularized lower incomplete gamma function P(input, other); see ``gamma_p``.

    It is computed in float64. The second derivative in ``input`` is refused.
    """
    a, x = (in_dtype(v, "float64") if _is_tensor(v) else float(v) for v in (input, other))
    log_gamma = gamma.lgamma(a) if _is_tensor(a) else math.lgamma(a)
    out = special.gamma_p(a, x, log_gamma)
    return in_dtype(out, dtype_of(arithmetic.add(input, other)))


def sinc(input: Any) -> Tensor:
    """Returns sin(pi * input) / (pi * input), 1 at 0."""
    return special.sinc(input)


def hypot(input: Any, other: Any) -> Tensor:
    """Returns sqrt(input² + other²)."""
    return arithmetic.hypot(input, other)


def logaddexp(input: Any, other: Any) -> Tensor:
    """Returns log(exp(input) + exp(other))."""
    return special.logaddexp(input, other)


def logaddexp2(input: Any, other: Any) -> Tensor:
    """Returns log2(2 ** input + 2 ** other)."""
    base = math.log(2.0)
    return special.logaddexp(input * base, other * base) / base


def logit(input: Any, eps: float | None = None) -> Tensor:
    """Returns log(input / (1 - input)), of the input limited to [eps, 1 - eps] if given."""
    if eps is not None and eps >= 0:
        input = arithmetic.clip(input, float(eps), 1.0 - eps)
    return arithmetic.log(input / (1.0 - input))


def xlogy(input: Any, other: Any) -> Tensor:
    """Returns input * log(other), and 0 where the input is 0."""
    return special.xlogy(input, _tensor_like(other, input))


def xdivy(x: Any, y: Any) -> Tensor:
    """Returns x / y, and 0 where both are 0."""
    both = comparisons.logical_and(comparisons.equal(x, 0.0), comparisons.equal(y, 0.0))
    return arithmetic.where(both, 0.0, x / arithmetic.where(both, 1.0, y))


def div_no_nan(x: Any, y: Any) -> Any:
    """Returns x / y, and 0 where y is 0."""
    zero = comparisons.equal(y, 0.0)
    return arithmetic.where(zero, 0.0, x / arithmetic.where(zero, 1.0, y))


def mul_no_nan(x: Any, y: Any) -> Any:
    """Returns x * y, and 0 where y is 0, whatever x is."""
    lost = comparisons.logical_and(
        comparisons.equal(y, 0.0), comparisons.logical_not(comparisons.isfinite(x))
    )
    return arithmetic.where(lost, 0.0, x) * y


def copysign(x: Any, other: Any) -> Tensor:
    """Returns the size of x with the sign of other."""
    if not _is_tensor(other):
        return arithmetic.abs(x) * math.copysign(1.0, other)
    return special.copysign(x, other)


def fmod(input: Any, other: Any) -> Tensor:
    """Returns the remainder of input / other, with the sign of the input."""
    return special.fmod(input, other)


def truncate_div(x: Any, y: Any) -> Tensor:
    """Returns x / y rounded towards 0; whole numbers stay whole."""
    if is_integral(x) and (is_integral(y) or isinstance(y, int)):
        return arithmetic.floor_div(x - special.fmod(x, y), y)
    return arithmetic.trunc(x / y)


def fmax(input: Any, other: Any) -> Tensor:
    """Returns the larger of two, or the one that is not NaN; of equals the first."""
    return arithmetic.where((input >= other) | comparisons.isnan(other), input, other)


def fmin(input: Any, other: Any) -> Tensor:
    """Returns the smaller of two, or the one that is not NaN; of equals the first."""
    return arithmetic.where((input <= other) | comparisons.isnan(other), input, other)


def frac(x: Any) -> Tensor:
    """Returns x without its whole part."""
    return x - arithmetic.trunc(x)


def sgn(input: Any) -> Tensor:
    """Returns the sign: -1, 0 or 1."""
    return arithmetic.sign(input)


def positive(input: Any) -> Tensor:
    """Returns the input itself."""
    return input


def deg2rad(x: Any) -> Tensor:
    """Converts degrees to radians."""
    return x * (math.pi / 180.0)


def rad2deg(x: Any) -> Tensor:
    """Converts radians to degrees."""
    return x * (180.0 / math.pi)


def float_power(input: Any, exponent: Any) -> Tensor:
    """Returns input ** exponent in float64."""
    wide = [in_dtype(x, "float64") if _is_tensor(x) else float(x) for x in (input, exponent)]
    return powers.pow(*wide)


def ldexp(x: Any, other: Any) -> Tensor:
    """Returns x * 2 ** other."""
    return x * powers.pow(2.0, other)


def lerp(input: Any, end: Any, weight: Any) -> Tensor:
    """Returns input + weight * (end - input)."""
    return input + weight * (end - input)


def addcmul(input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Tensor:
    """Returns input + value * tensor1 * tensor2."""
    return input + _times(value, tensor1 * tensor2)


def addcdiv(input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Tensor:
    """Returns input + value * tensor1 / tensor2."""
    return input + _times(value, tensor1 / tensor2)


def _times(value: Any, x: Any) -> Any:
    return x if not _is_tensor(value) and value == 1 else value * x


def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Returns beta * input + alpha * mat @ vec."""
    return _times(beta, input) + _times(alpha, arrays.matmul(mat, vec))


def addn(x: Any) -> Tensor:
    """Returns the sum of several tensors of one shape."""
    parts = list(x) if isinstance(x, (tuple, list)) else [x]
    if not parts:
        raise ValueError("addn needs at least one tensor")
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def squared_difference(x: Any, y: Any) -> Tensor:
    """Returns (x - y)²."""
    return arithmetic.square(x - y)


def square_sum_all(x: Any, y: Any) -> tuple[Any, Any]:
    """Returns the sums of the squares of x and of y."""
    return reductions.sum(arithmetic.square(x)), reductions.sum(arithmetic.square(y))


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Returns the differences of neighbours along an axis, n times over."""
    axis = axis_of(axis, known_rank(x, "diff"))
    parts = [part for part in (prepend, x, append) if part is not None]
    x = arrays.concat(parts, axis) if len(parts) > 1 else x
    for _ in range(n):
        x = _part(x, axis, 1, None) - _part(x, axis, None, -1)
    return x


def trapz(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """Returns the integral along an axis by the trapezoidal rule, over steps of dx or between
    places x."""
    axis = axis_of(dim, known_rank(y, "trapz"))
    pairs = _part(y, axis, 1, None) + _part(y, axis, None, -1)
    if x is None:
        return reductions.sum(pairs, axis) * (0.5 * dx)
    steps = diff(x, axis=-1 if known_rank(x, "trapz") == 1 else axis)
    if known_rank(steps, "trapz") == 1:
        steps = arrays.reshape(steps, (-1, *(1,) * (known_rank(y, "trapz") - 1 - axis)))
    return reductions.sum(pairs * steps, axis) * 0.5


def _part(x: Any, axis: int, start: int | None, stop: int | None) -> Any:
    return indexing.index(x, index=(*(FULL,) * axis, ("slice", start, stop, None)))


def isclose(
    input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Returns abs(input - other) <= atol + rtol * abs(other)."""
    return comparisons.isclose(
        input, other, rtol=float(rtol), atol=float(atol), equal_nan=bool(equal_nan)
    )


def isposinf(input: Any) -> Tensor:
    """Returns True where the input is plus infinity."""
    return comparisons.equal(input, math.inf)


def isneginf(input: Any) -> Tensor:
    """Returns True where the input is minus infinity."""
    return comparisons.equal(input, -math.inf)


def is_floating_point(input: Any) -> bool:
    """True if the dtype is a float."""
    return "float" in (dtype_of(input) or "")


def bitwise_left_shift(input: Any, other: Any) -> Tensor:
    """Returns input << other."""
    return arithmetic.shift_left(input, other)


def bitwise_right_shift(input: Any, other: Any) -> Tensor:
    """Returns input >> other."""
    return arithmetic.shift_right(input, other)


def gcd(input: Any, other: Any) -> Tensor:
    """Returns the greatest common divisor."""
    return arithmetic.gcd(input, other)


def lcm(input: Any, other: Any) -> Tensor:
    """Returns the least common multiple."""
    return arithmetic.lcm(input, other)


def is_tensor(obj: Any) -> bool:
    """True if this is a Tensor."""
    return isinstance(obj.type, ArrayType) if isinstance(obj, Value) else isinstance(obj, Tensor)


def scalar_to_tensor(input_x: Any, dtype: Any = None) -> Tensor:
    """Returns a number as a tensor without axes: int64, bool, or float32 unless a dtype is
    given."""
    return creation.full((), input_x, dtype=dtype)


def tuple_to_array(input_x: Sequence[Any]) -> Tensor:
    """Returns a tuple of numbers as a tensor: int64, or float32 if one is a float."""
    return Tensor(list(input_x))


truncate_mod, accumulate_n, inv, bessel_i0 = fmod, addn, arithmetic.reciprocal, i0

__all__ = [
    "accumulate_n",
    "addcdiv",
    "addcmul",
    "addmv",
    "addn",
    "bessel_i0",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "copysign",
    "deg2rad",
    "diff",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "float_power",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "gcd",
    "hypot",
    "i0",
    "igamma",
    "inv",
    "is_floating_point",
    "is_tensor",
    "isclose",
    "isneginf",
    "isposinf",
    "lcm",
    "ldexp",
    "lerp",
    "lgamma",
    "log10",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logit",
    "polygamma",
    "positive",
    "rad2deg",
    "scalar_to_tensor",
    "sgn",
    "sinc",
    "squared_difference",
    "trapz",
    "truncate_div",
    "truncate_mod",
    "tuple_to_array",
    "xdivy",
    "xlogy",
]
