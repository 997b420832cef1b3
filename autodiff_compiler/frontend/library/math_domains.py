"""Domain tests of ``math``. NumPy computes its functions here, and returns NaN or infinity where
``math`` raises. Inside a ``try`` that catches the exception, the test precedes the call."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.operators.elementwise import comparisons

_Test = Callable[..., Any]
_LARGEST = math.log(sys.float_info.max)


def _or(*tests: Any) -> Any:
    return functools.reduce(comparisons.logical_or, tests)


def _is_integral(x: Any) -> Any:
    return comparisons.equal(ops.floor(x), x)


def _is_no_real_power(x: Any, y: Any) -> Any:
    """True if ``x ** y`` is no real number: a negative base has integral powers only, and zero has
    no negative powers."""
    is_complex = comparisons.logical_and(
        comparisons.less(x, 0), comparisons.logical_not(_is_integral(y))
    )
    return _or(is_complex, comparisons.logical_and(comparisons.equal(x, 0), comparisons.less(y, 0)))


def _overflows_as_power(x: Any, y: Any) -> Any:
    """True if ``x ** y`` of finite numbers is infinite."""
    infinite = comparisons.isinf(ops.pow(x, y))
    finite = comparisons.logical_and(comparisons.isfinite(x), comparisons.isfinite(y))
    return comparisons.logical_and(infinite, finite)


def _is_any_not_positive(*operands: Any) -> Any:
    return _or(*(comparisons.less_equal(operand, 0) for operand in operands))


def _beyond(bound: float) -> _Test:
    return lambda x: comparisons.greater(ops.abs(x), bound)


#: Tests of the operands for which a function raises ValueError.
_DOMAINS: Mapping[str, _Test] = {
    **dict.fromkeys(("sin", "cos", "tan"), comparisons.isinf),
    **dict.fromkeys(("asin", "acos"), _beyond(1)),
    **dict.fromkeys(("log", "log2", "log10"), _is_any_not_positive),
    **dict.fromkeys(("floor", "ceil", "trunc"), comparisons.isnan),
    "acosh": lambda x: comparisons.less(x, 1),
    "atanh": lambda x: comparisons.greater_equal(ops.abs(x), 1),
    "fmod": lambda x, y: _or(comparisons.equal(y, 0), comparisons.isinf(x)),
    "lgamma": lambda x: comparisons.logical_and(comparisons.less_equal(x, 0), _is_integral(x)),
    "log1p": lambda x: comparisons.less_equal(x, -1),
    "pow": _is_no_real_power,
    "sqrt": lambda x: comparisons.less(x, 0),
}
#: Tests of the operands for which a function raises OverflowError.
_RANGES: Mapping[str, _Test] = {
    **dict.fromkeys(("exp", "expm1"), lambda x: comparisons.greater(x, _LARGEST)),
    **dict.fromkeys(("cosh", "sinh"), _beyond(_LARGEST + math.log(2.0))),
    **dict.fromkeys(("floor", "ceil", "trunc"), comparisons.isinf),
    "exp2": lambda x: comparisons.greater_equal(x, 1024),
    "pow": _overflows_as_power,
}
_MESSAGES = {ValueError: "math domain error", OverflowError: "math range error"}
_MESSAGES_OF_ROUNDING = {
    ValueError: "cannot convert float NaN to integer",
    OverflowError: "cannot convert float infinity to integer",
}


@contextmanager
def math_domain_tests(low: Lowering, callee: Any, args: Sequence[Any]) -> Iterator[None]:
    """Enters a block that calls ``callee`` with ``args``. Raises as a function of ``math`` does
    where a handler catches the exception."""
    name = callee.__name__ if callee.__module__ == "math" else ""
    messages = _MESSAGES_OF_ROUNDING if name in ("floor", "ceil", "trunc") else _MESSAGES

    def testing(kind: type[Exception], is_outside: _Test) -> AbstractContextManager[None]:
        return low.may_raise(kind, lambda: low.truth(is_outside(*args)), lambda: messages[kind])

    with ExitStack() as tested:
        for kind, table in ((ValueError, _DOMAINS), (OverflowError, _RANGES)):
            if name in table:
                tested.enter_context(testing(kind, table[name]))
        yield
