"""The dtypes of scalar operations: which operands fit, and what the result is."""

from __future__ import annotations

from collections.abc import Sequence

#: Operations on operands of one dtype whose result is a bool.
PREDICATES = frozenset(
    "equal not_equal less less_equal greater greater_equal isnan isinf isfinite isclose"
    " isposinf isneginf signbit".split()
)
#: Operations on bools alone.
LOGICAL = frozenset("logical_and logical_or logical_xor logical_not".split())
#: The combinations of a changed scalar or element with a value.
COMBINATIONS = ("add", "mul", "maximum", "minimum")
#: Operations that are expressions of C. Those that wrap around are functions for integers.
EXPRESSIONS_OF_C = frozenset(
    "add bit_and bit_or bit_xor cast copy div equal greater greater_equal less less_equal"
    " logical_and logical_not logical_or logical_xor mul neg not_equal relu select square"
    " sub".split()
)
#: Operations with a function in the C library for each dtype of floats, and of integers.
FUNCTIONS_OF_FLOATS = frozenset(
    "abs acos acosh asin asinh atan atan2 atanh bessel_i gamma_p gamma_p_slope polygamma sinc_slope"
    " ceil clip copysign cos cosh digamma elu erf erfc"
    " erfinv exp expm1 floor floor_div fmod hardsigmoid huber hypot isclose isfinite isinf isnan"
    " leaky_relu lgamma log log10 log1p log2 logaddexp logistic_loss maximum minimum mod pow"
    " reciprocal relu round rsqrt sigmoid sigmoid_slope sign sin sinc sinh softplus softsign sqrt"
    " tan tanh tanh_slope trunc xlogy zero_div zero_mul".split()
)
FUNCTIONS_OF_INTEGERS = frozenset(
    "abs add clip floor_div fmod gcd lcm maximum minimum mod mul neg pow relu shift_left"
    " shift_right sign square sub".split()
)


def result_dtype(name: str, operands: Sequence[str]) -> str | None:
    """Returns the dtype of an operation on operands of these dtypes; None if they do not fit.

    A ``cast`` has any dtype, and is not asked for here.

    >>> result_dtype("add", ("float32", "float32")), result_dtype("less", ("int64", "int64"))
    ('float32', 'bool')
    >>> print(result_dtype("add", ("float32", "float64")))
    None
    """
    if name == "select":
        is_choice = len(operands) == 3 and operands[0] == "bool" and operands[1] == operands[2]
        return operands[1] if is_choice else None
    if name == "isclose" and len(operands) == 5:
        *operands, equal_nan = operands
        return "bool" if equal_nan == "bool" and len(set(operands)) == 1 else None
    if not operands or len(set(operands)) != 1:
        return None
    if name in LOGICAL:
        return "bool" if operands[0] == "bool" else None
    return "bool" if name in PREDICATES else operands[0]


def has_c_text(name: str, dtype: str) -> bool:
    """True if an operation on operands of a dtype is an expression of C or in its library.

    >>> has_c_text("exp", "float32"), has_c_text("exp", "int64"), has_c_text("abs", "bool")
    (True, False, False)
    """
    if name in EXPRESSIONS_OF_C:
        return True
    if dtype.startswith("float"):
        return name in FUNCTIONS_OF_FLOATS
    return dtype != "bool" and name in FUNCTIONS_OF_INTEGERS


__all__ = [
    "COMBINATIONS",
    "EXPRESSIONS_OF_C",
    "FUNCTIONS_OF_FLOATS",
    "FUNCTIONS_OF_INTEGERS",
    "LOGICAL",
    "PREDICATES",
    "has_c_text",
    "result_dtype",
]
