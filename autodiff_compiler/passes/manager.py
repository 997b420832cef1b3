"""Runs passes by name, round after round, until a round changes nothing.

Functions that are called are optimised first, each once, and their callers then call the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from autodiff_compiler.cost_model import Costs, costs
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.passes.core.traversal import on_all_functions
from autodiff_compiler.passes.registry import BY_NAME, REGISTRY, Pass

Facts = ParamSpec("Facts")
Result = TypeVar("Result")

#: Is told of each application of a pass: the pass, the function, the result, the seconds.
Observer = Callable[[Pass, Function, Any, float], None]

#: The passes that ``run_until_stable`` may run.
PASSES: Mapping[str, Pass] = {each.name: each for each in REGISTRY if each.repeats}

_OBSERVER: ContextVar[Observer | None] = ContextVar("observer", default=None)

#: The passes that found nothing to do in a function. It never changes, so they need not look again:
#: most functions come back several times, called by one that did change.
_UNCHANGED_BY: WeakKeyDictionary[Function, set[tuple[str, Costs]]] = WeakKeyDictionary()


def applied(
    rewrite: Callable[Concatenate[Function, Facts], Result],
    function: Function,
    *facts: Facts.args,
    **options: Facts.kwargs,
) -> Result:
    """Return what a pass makes of ``function``. The observer, if there is one, is told of it.

    Every application of a pass by the pipeline goes through here.
    """
    observer = _OBSERVER.get()
    if observer is None:
        return rewrite(function, *facts, **options)
    start = perf_counter()
    result = rewrite(function, *facts, **options)
    observer(BY_NAME[rewrite.__name__], function, result, perf_counter() - start)
    return result


def applied_to_all(
    rewrite: Callable[Concatenate[Function, Facts], Function],
    function: Function,
    *facts: Facts.args,
    **options: Facts.kwargs,
) -> Function:
    """Return ``function`` and all that it calls, each after the pass."""
    return on_all_functions(function, lambda each: applied(rewrite, each, *facts, **options))


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Tells ``observer`` of every application of a pass within a block."""
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


def run_until_stable(
    function: Function,
    names: Sequence[str] = tuple(PASSES),
    limit: int | None = None,
) -> Function:
    """Applies the passes ``names`` to ``function`` and all that it calls, at most ``limit`` rounds
    long. Returns the result."""
    rounds = costs().simplify_rounds if limit is None else limit
    return on_all_functions(function, lambda each: _settle(each, names, rounds))


def _settle(function: Function, names: Sequence[str], limit: int) -> Function:
    idle, current = _UNCHANGED_BY.setdefault(function, set()), costs()
    for name in [*names] * limit:
        if (name, current) in idle:
            continue
        before, function = function, applied(PASSES[name].rewrite, function)
        if function is before:
            idle.add((name, current))
        else:
            idle = _UNCHANGED_BY.setdefault(function, set())
    return function


def operation_count(function: Function) -> int:
    """Counts the operations of a function, those inside regions included."""
    return sum(1 for _ in function.body.walk())
