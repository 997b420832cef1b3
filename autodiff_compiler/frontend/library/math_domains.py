"""Domain tests of ``math``: NumPy, which computes these functions here, returns NaN or infinity
where ``math`` raises. Inside a ``try`` that catches the exception, the test precedes the call."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.operators.elementwise import comparisons

_Test = Callable[..., Any]
_LARGEST = math.log(sys.float_info.max)


def _or(*tests: Any) -> Any:
    first, *rest = tests
    for test in rest:
        first = comparisons.logical_or(first, test)
    return first


def _whole(x: Any) -> Any:
    return comparisons.equal(ops.floor(x), x)


def _is_power_of_none(x: Any, y: Any) -> Any:
    """A negative number has whole powers alone, and zero has no negative ones."""
    below = comparisons.logical_and(comparisons.less(x, 0), comparisons.logical_not(_whole(y)))
    return _or(below, comparisons.logical_and(comparisons.equal(x, 0), comparisons.less(y, 0)))


def _beyond(bound: float) -> _Test:
    return lambda x: comparisons.greater(ops.abs(x), bound)


#: Where a function raises ValueError.
_DOMAINS: Mapping[str, _Test] = {
    **dict.fromkeys(("sin", "cos", "tan"), comparisons.isinf),
    **dict.fromkeys(("asin", "acos"), _beyond(1)),
    **dict.fromkeys(("log", "log2", "log10"), lambda x, *base: _or(
        *(comparisons.less_equal(each, 0) for each in (x, *base)))),
    **dict.fromkeys(("floor", "ceil", "trunc"), comparisons.isnan),
    "acosh": lambda x: comparisons.less(x, 1),
    "atanh": lambda x: comparisons.greater_equal(ops.abs(x), 1),
    "fmod": lambda x, y: _or(comparisons.equal(y, 0), comparisons.isinf(x)),
    "lgamma": lambda x: comparisons.logical_and(comparisons.less_equal(x, 0), _whole(x)),
    "log1p": lambda x: comparisons.less_equal(x, -1),
    "pow": _is_power_of_none,
    "sqrt": lambda x: comparisons.less(x, 0),
}  # fmt: skip
#: Where a function raises OverflowError.
_RANGES: Mapping[str, _Test] = {
    **dict.fromkeys(("exp", "expm1"), lambda x: comparisons.greater(x, _LARGEST)),
    **dict.fromkeys(("cosh", "sinh"), _beyond(_LARGEST + math.log(2.0))),
    **dict.fromkeys(("floor", "ceil", "trunc"), comparisons.isinf),
    "exp2": lambda x: comparisons.greater_equal(x, 1024),
    "pow": lambda x, y: comparisons.logical_and(
        comparisons.isinf(ops.pow(x, y)), comparisons.logical_and(
            comparisons.isfinite(x), comparisons.isfinite(y))),
}  # fmt: skip
_TEXTS = {ValueError: "math domain error", OverflowError: "math range error"}
_TEXTS_OF_WHOLE = {
    ValueError: "cannot convert float NaN to integer",
    OverflowError: "cannot convert float infinity to integer",
}


@contextmanager
def within(low: Any, callee: Any, args: Sequence[Any]) -> Iterator[None]:
    """Inside, ``callee`` is called: where a function of ``math`` raises for ``args``, and a handler
    catches it, that is thrown."""
    name = callee.__name__ if callee.__module__ == "math" else ""
    texts = _TEXTS_OF_WHOLE if name in ("floor", "ceil", "trunc") else _TEXTS

    def testing(kind: type[Exception], bad: _Test) -> AbstractContextManager[None]:
        found: AbstractContextManager[None] = low.may_raise(
            kind, lambda: low.truth(bad(*args)), lambda: texts[kind]
        )
        return found

    with ExitStack() as tested:
        for kind, table in ((ValueError, _DOMAINS), (OverflowError, _RANGES)):
            if name in table:
                tested.enter_context(testing(kind, table[name]))
        yield
