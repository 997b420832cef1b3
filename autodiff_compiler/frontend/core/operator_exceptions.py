"""The exceptions that operators may raise when the generated function runs."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

from numpy.linalg import LinAlgError

from autodiff_compiler.ir.nodes import Function, Op, Value
from autodiff_compiler.ir.types import FLOAT, INT, ArrayType, ListType
from autodiff_compiler.operators.core import effects

#: What Python and NumPy raise where an operation cannot be done.
_ANY_FAILURE = (ValueError, ArithmeticError, LookupError, TypeError, RuntimeError)
#: Operators that fail for some of the values which their types allow.
_PARTIAL_OPERATORS = [
    "multiply_at",
    "maximum_at",
    "minimum_at",
    "take_along",
    "put_along",
    "scatter",
    "arange",
    "repeat",
    "unique",
    "inverse",
    "cofactors",
    "cofactors_slope",
    "det",
    "logabsdet",
    "solve",
    "cholesky",
    "pinv",
    "singular_values",
    "left_vectors",
    "right_vectors",
    "orthogonal_factor",
    "triangular_factor",
    "erfinv",
    "polygamma",
    "bessel_i",
    "gamma_p",
    "gamma_p_slope",
]
#: Operators that fail for some positions, and where these begin among their operands.
_FIRST_INDEX_OPERAND = {"index": 1, "set_item": 2, "add_at": 2}
#: Operators that never fail, and arithmetic of Python's numbers that does not.
_TOTAL_OPERATORS = ("undefined", "is_unset", "list_append", "list_length", "list_copy", "list_own",
         "list_slice", "list_head", "list_join")  # fmt: skip
_TOTAL_ON_NUMBERS = ("add", "sub", "mul", "neg", "abs", "maximum", "minimum")
#: How it is told that these will not be raised.
_TEST_HINTS: dict[type, str] = {
    LinAlgError: ": by the determinant, or the least eigenvalue, of the matrix",
}
_DIVIDING = ("floor_div", "mod", "div")


def try_cure(caught: type) -> str:
    """Returns what to do about an operation in a ``try`` that may raise what is caught there."""
    test = "test beforehand with an 'if' whether it would fail"
    return f"move the operation out of the 'try', and {test}{_TEST_HINTS.get(caught, '')}"


def exceptions_of(op: Op) -> tuple[type[BaseException], ...]:
    """What an operation may raise when it runs. A variable that is not set is not counted: that
    is told, and never caught."""
    if op.opdef is effects.fail:
        error: type[BaseException] = getattr(builtins, op.attrs["error"])
        return () if error is UnboundLocalError else (error,)
    if op.opdef is effects.check:
        return (AssertionError,)
    if op.opdef is effects.python_hook:
        return (BaseException,)
    if op.functions:
        return tuple(error for each in op.functions for error in _exceptions_in(each))
    if op.opdef is effects.text:
        plain = op.attrs["sign"] == "format" and "{:" not in op.attrs["pattern"]
        return () if plain else _ANY_FAILURE
    if op.opdef.kind in ("control", "container", "effect") or op.name in _TOTAL_OPERATORS:
        return ()
    types = [*op.types, *(result.type for result in op.results)]
    arrays = [each for each in types if isinstance(each, ArrayType)]
    dtypes = [each.dtype or "" for each in arrays]
    if any(each.shape is None or None in each.shape for each in arrays):
        return _ANY_FAILURE  # whether these fit is seen where they meet
    if op.name in _FIRST_INDEX_OPERAND:
        placed = any(
            isinstance(place, Value) for place in op.operands[_FIRST_INDEX_OPERAND[op.name] :]
        )
        return () if not placed else (IndexError,) if op.name == "index" else _ANY_FAILURE
    if op.name in ("list_item", "list_set"):
        return (IndexError,)
    if op.name in _DIVIDING and not arrays:
        safe = not isinstance(op.operands[1], Value) and op.operands[1]
        return () if safe else (ZeroDivisionError,)
    risky = op.name in _PARTIAL_OPERATORS or op.name.startswith(("list_", "draw"))
    risky |= any(isinstance(each, ListType) for each in types)
    if not arrays and op.opdef.kind == "elementwise":
        risky |= op.name not in _TOTAL_ON_NUMBERS
    if op.name == "pow":  # whole numbers have no negative powers
        risky |= not any("float" in dtype or "complex" in dtype for dtype in dtypes)
    whole = any(result.type == INT for result in op.results)
    if whole and (FLOAT in op.types or any("float" in dtype for dtype in dtypes)):
        return _ANY_FAILURE if risky else (ValueError, OverflowError)  # of NaN there is no int
    return _ANY_FAILURE if risky else ()


def _exceptions_in(function: Function) -> Iterator[type[BaseException]]:
    for each in (*function.callees(), function):
        for op in each.body.walk():
            if not op.functions:
                yield from exceptions_of(op)
