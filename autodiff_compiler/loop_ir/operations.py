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


__all__ = ["COMBINATIONS", "LOGICAL", "PREDICATES", "result_dtype"]
