"""Domain tests of ``math``: NumPy, which computes these functions here, returns NaN or infinity
where ``math`` raises. Inside a ``try`` that catches the exception, the test precedes the call."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.operators import compare

_Test = Callable[..., Any]
_LARGEST = math.log(sys.float_info.max)


def _or(*tests: Any) -> Any:
    first, *rest = tests
    for test in rest:
        first = compare.logical_or(first, test)
    return first


def _whole(x: Any) -> Any:
    return compare.equal(ops.floor(x), x)


def _is_power_of_none(x: Any, y: Any) -> Any:
    """A negative number has whole powers alone, and zero has no negative ones."""
    below = compare.logical_and(compare.less(x, 0), compare.logical_not(_whole(y)))
    return _or(below, compare.logical_and(compare.equal(x, 0), compare.less(y, 0)))


def _beyond(bound: float) -> _Test:
    return lambda x: compare.greater(ops.abs(x), bound)


#: Where a function raises ValueError.
_DOMAINS: Mapping[str, _Test] = {
    **dict.fromkeys(("sin", "cos", "tan"), compare.isinf),
    **dict.fromkeys(("asin", "acos"), _beyond(1)),
    **dict.fromkeys(("log", "log2", "log10"), lambda x, *base: _or(
        *(compare.less_equal(each, 0) for each in (x, *base)))),
    **dict.fromkeys(("floor", "ceil", "trunc"), compare.isnan),
    "acosh": lambda x: compare.less(x, 1),
    "atanh": lambda x: compare.greater_equal(ops.abs(x), 1),
    "fmod": lambda x, y: _or(compare.equal(y, 0), compare.isinf(x)),
    "lgamma": lambda x: compare.logical_and(compare.less_equal(x, 0), _whole(x)),
    "log1p": lambda x: compare.less_equal(x, -1),
    "pow": _is_power_of_none,
    "sqrt": lambda x: compare.less(x, 0),
}  # fmt: skip
#: Where a function raises OverflowError.
_RANGES: Mapping[str, _Test] = {
    **dict.fromkeys(("exp", "expm1"), lambda x: compare.greater(x, _LARGEST)),
    **dict.fromkeys(("cosh", "sinh"), _beyond(_LARGEST + math.log(2.0))),
    **dict.fromkeys(("floor", "ceil", "trunc"), compare.isinf),
    "exp2": lambda x: compare.greater_equal(x, 1024),
    "pow": lambda x, y: compare.logical_and(
        compare.isinf(ops.pow(x, y)), compare.logical_and(
            compare.isfinite(x), compare.isfinite(y))),
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
        found: AbstractContextManager[None] = low.risking(
            kind, lambda: low.truth(bad(*args)), lambda: texts[kind]
        )
        return found

    with ExitStack() as tested:
        for kind, table in ((ValueError, _DOMAINS), (OverflowError, _RANGES)):
            if name in table:
                tested.enter_context(testing(kind, table[name]))
        yield
