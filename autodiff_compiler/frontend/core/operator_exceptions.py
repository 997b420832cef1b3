"""The exceptions that operators may raise when the generated function runs."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

from numpy.linalg import LinAlgError

from autodiff_compiler.ir.nodes import Function, Op, Value
from autodiff_compiler.ir.types import FLOAT, INT, ArrayType, ListType
from autodiff_compiler.operators.core import effects

#: What Python and NumPy raise where an operation cannot be done.
_MISHAPS = (ValueError, ArithmeticError, LookupError, TypeError, RuntimeError)
#: Operators that fail for some of the values which their types allow.
_RISKY = [
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
_PLACED = {"index": 1, "set_item": 2, "add_at": 2}
#: Operators that never fail, and arithmetic of Python's numbers that does not.
_CALM = ("undefined", "is_unset", "list_append", "list_length", "list_copy", "list_own",
         "list_slice", "list_head", "list_join")  # fmt: skip
_CALM_OF_NUMBERS = ("add", "sub", "mul", "neg", "abs", "maximum", "minimum")
#: How it is told that these will not be raised.
_TESTS: dict[type, str] = {
    LinAlgError: ": by the determinant, or the least eigenvalue, of the matrix",
}
_DIVIDING = ("floor_div", "mod", "div")


def cure_of(caught: type) -> str:
    """Returns what to do about an operation in a ``try`` that may raise what is caught there."""
    test = "test beforehand with an 'if' whether it would fail"
    return f"move the operation out of the 'try', and {test}{_TESTS.get(caught, '')}"


def raised_by(op: Op) -> tuple[type[BaseException], ...]:
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
        return tuple(error for each in op.functions for error in _raised_in(each))
    if op.opdef is effects.text:
        plain = op.attrs["sign"] == "format" and "{:" not in op.attrs["pattern"]
        return () if plain else _MISHAPS
    if op.opdef.kind in ("control", "container", "effect") or op.name in _CALM:
        return ()
    types = [*op.types, *(result.type for result in op.results)]
    arrays = [each for each in types if isinstance(each, ArrayType)]
    dtypes = [each.dtype or "" for each in arrays]
    if any(each.shape is None or None in each.shape for each in arrays):
        return _MISHAPS  # whether these fit is seen where they meet
    if op.name in _PLACED:
        placed = any(isinstance(place, Value) for place in op.operands[_PLACED[op.name] :])
        return () if not placed else (IndexError,) if op.name == "index" else _MISHAPS
    if op.name in ("list_item", "list_set"):
        return (IndexError,)
    if op.name in _DIVIDING and not arrays:
        safe = not isinstance(op.operands[1], Value) and op.operands[1]
        return () if safe else (ZeroDivisionError,)
    risky = op.name in _RISKY or op.name.startswith(("list_", "draw"))
    risky |= any(isinstance(each, ListType) for each in types)
    if not arrays and op.opdef.kind == "elementwise":
        risky |= op.name not in _CALM_OF_NUMBERS
    if op.name == "pow":  # whole numbers have no negative powers
        risky |= not any("float" in dtype or "complex" in dtype for dtype in dtypes)
    whole = any(result.type == INT for result in op.results)
    if whole and (FLOAT in op.types or any("float" in dtype for dtype in dtypes)):
        return _MISHAPS if risky else (ValueError, OverflowError)  # of NaN there is no int
    return _MISHAPS if risky else ()


def _raised_in(function: Function) -> Iterator[type[BaseException]]:
    for each in (*function.callees(), function):
        for op in each.body.walk():
            if not op.functions:
                yield from raised_by(op)
