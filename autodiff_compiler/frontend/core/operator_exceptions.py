"""The exceptions that operators may raise when the generated function runs."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from numpy.linalg import LinAlgError

from autodiff_compiler.ir.nodes import Function, Op, Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import FLOAT, INT, ArrayType, ListType, Type
from autodiff_compiler.operators.core import effects

Exceptions: TypeAlias = tuple[type[BaseException], ...]

#: The exceptions of Python and NumPy for an operation that cannot be done.
_ANY_FAILURE = (ValueError, ArithmeticError, LookupError, TypeError, RuntimeError)
#: Operators that fail for some of the values which their types allow.
_PARTIAL_OPERATORS = frozenset(
    """multiply_at maximum_at minimum_at take_along put_along scatter arange repeat unique
    inverse cofactors cofactors_slope det logabsdet solve cholesky pinv singular_values
    left_vectors right_vectors orthogonal_factor triangular_factor
    erfinv polygamma bessel_i gamma_p gamma_p_slope""".split()
)
#: Operators that never fail.
_TOTAL_OPERATORS = frozenset(
    """undefined is_unset list_append list_length list_copy list_own list_slice list_head
    list_join""".split()
)
#: Kinds of operators that never fail.
_TOTAL_KINDS = ("control", "container", "effect")
#: Operators that never fail for Python numbers.
_TOTAL_ON_NUMBERS = ("add", "sub", "mul", "neg", "abs", "maximum", "minimum")
#: Hints on how to test that an exception will not be raised.
_TEST_HINTS: dict[type, str] = {
    LinAlgError: ": by the determinant, or the least eigenvalue, of the matrix",
}


def try_cure(caught: type) -> str:
    """Returns the cure for an operation in a ``try`` that may raise an exception caught there."""
    test = "test beforehand with an 'if' whether it would fail"
    return f"move the operation out of the 'try', and {test}{_TEST_HINTS.get(caught, '')}"


def exceptions_of(op: Op) -> Exceptions:
    """Returns the exceptions that an operation may raise when the function runs.

    The ``UnboundLocalError`` of a variable that is not set is left out: it is never caught.
    """
    if op.opdef in _BY_EFFECT:
        return _BY_EFFECT[op.opdef](op)
    if op.functions:
        return tuple(error for each in op.functions for error in _exceptions_in(each))
    if op.opdef.kind in _TOTAL_KINDS or op.name in _TOTAL_OPERATORS:
        return ()
    if any(each.shape is None or None in each.shape for each in _arrays(op)):
        return _ANY_FAILURE  # the shapes may not fit each other
    return _BY_NAME.get(op.name, _of_values)(op)


def _exceptions_in(function: Function) -> Iterator[type[BaseException]]:
    for each in (*function.callees(), function):
        for op in each.body.walk():
            if not op.functions:
                yield from exceptions_of(op)


def _types(op: Op) -> Sequence[Type]:
    """Returns the types of the operands and of the results."""
    return [*op.types, *(result.type for result in op.results)]


def _arrays(op: Op) -> list[ArrayType]:
    return [each for each in _types(op) if isinstance(each, ArrayType)]


def _has_dtype(op: Op, *words: str) -> bool:
    """True if the dtype of an array contains one of these words."""
    return any(word in (each.dtype or "") for each in _arrays(op) for word in words)


# ---- operators with effects


def _of_raise(op: Op) -> Exceptions:
    error: type[BaseException] = getattr(builtins, op.attrs["error"])
    return () if error is UnboundLocalError else (error,)


def _of_text(op: Op) -> Exceptions:
    # A format specification may not fit its value.
    plain = op.attrs["sign"] == "format" and "{:" not in op.attrs["pattern"]
    return () if plain else _ANY_FAILURE


_BY_EFFECT: Mapping[OpDef, Callable[[Op], Exceptions]] = {
    effects.raise_error: _of_raise,
    effects.assert_true: lambda op: (AssertionError,),
    effects.python_hook: lambda op: (BaseException,),
    effects.text: _of_text,
}


# ---- operators that fail for some positions


def _of_indexing(first: int, exceptions: Exceptions) -> Callable[[Op], Exceptions]:
    """Returns the rule of an operator whose operands from ``first`` on are positions."""

    def rule(op: Op) -> Exceptions:
        has_runtime_position = any(isinstance(place, Value) for place in op.operands[first:])
        return exceptions if has_runtime_position else ()

    return rule


def _of_list_item(op: Op) -> Exceptions:
    return (IndexError,)


# ---- operators that fail for some values


def _of_division(op: Op) -> Exceptions:
    if _arrays(op):
        return _of_values(op)
    divisor = op.operands[1]
    return () if not isinstance(divisor, Value) and divisor else (ZeroDivisionError,)


def _of_values(op: Op) -> Exceptions:
    if _is_partial(op):
        return _ANY_FAILURE
    return (ValueError, OverflowError) if _makes_int_of_float(op) else ()


def _is_partial(op: Op) -> bool:
    """True if an operator fails for some values of its operands."""
    if op.name in _PARTIAL_OPERATORS or op.name.startswith(("list_", "draw")):
        return True
    if any(isinstance(each, ListType) for each in _types(op)):
        return True
    if op.opdef.kind == "elementwise" and not _arrays(op):
        return op.name not in _TOTAL_ON_NUMBERS
    # Integers have no negative powers.
    return op.name == "pow" and not _has_dtype(op, "float", "complex")


def _makes_int_of_float(op: Op) -> bool:
    """True if an operator makes an int of a float: there is none for NaN and infinity."""
    makes_int = any(result.type == INT for result in op.results)
    return makes_int and (FLOAT in op.types or _has_dtype(op, "float"))


_BY_NAME: Mapping[str, Callable[[Op], Exceptions]] = {
    "index": _of_indexing(1, (IndexError,)),
    "set_item": _of_indexing(2, _ANY_FAILURE),
    "add_at": _of_indexing(2, _ANY_FAILURE),
    "list_item": _of_list_item,
    "list_set": _of_list_item,
    "floor_div": _of_division,
    "mod": _of_division,
    "div": _of_division,
}
