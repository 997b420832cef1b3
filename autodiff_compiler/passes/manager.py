"""The pass manager: applies single passes, and rounds of passes up to a fixed point.

Callees are optimised before their callers, each once.
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

#: Receives each application of a pass: the pass, the function, the result, the seconds.
Observer = Callable[[Pass, Function, Any, float], None]

#: The passes that ``run_until_stable`` may run.
PASSES: Mapping[str, Pass] = {each.name: each for each in REGISTRY if each.repeats}

_OBSERVER: ContextVar[Observer | None] = ContextVar("observer", default=None)

#: The passes that changed nothing in a function. A function never changes, so they need not run on
#: it again: most functions come back several times as callees of a function that did change.
_UNCHANGED_BY: WeakKeyDictionary[Function, set[tuple[str, Costs]]] = WeakKeyDictionary()


def run_pass(
    rewrite: Callable[Concatenate[Function, Facts], Result],
    function: Function,
    *facts: Facts.args,
    **options: Facts.kwargs,
) -> Result:
    """Applies a pass to ``function``, calls the observer if there is one, and returns the result.

    Every application of a pass by the pipeline goes through here.
    """
    observer = _OBSERVER.get()
    if observer is None:
        return rewrite(function, *facts, **options)
    start = perf_counter()
    result = rewrite(function, *facts, **options)
    observer(BY_NAME[rewrite.__name__], function, result, perf_counter() - start)
    return result


def run_pass_on_all(
    rewrite: Callable[Concatenate[Function, Facts], Function],
    function: Function,
    *facts: Facts.args,
    **options: Facts.kwargs,
) -> Function:
    """Applies a pass to ``function`` and to every function that it calls."""
    return on_all_functions(function, lambda each: run_pass(rewrite, each, *facts, **options))


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Calls ``observer`` with every application of a pass within a block."""
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
    """Applies the passes ``names`` in rounds, up to the fixed point where none changes anything.

    Applies them to ``function`` and to every function that it calls, in at most ``limit`` rounds.
    """
    rounds = costs().simplify_rounds if limit is None else limit
    return on_all_functions(function, lambda each: _up_to_fixed_point(each, names, rounds))


def _up_to_fixed_point(function: Function, names: Sequence[str], limit: int) -> Function:
    unchanged_by, current = _UNCHANGED_BY.setdefault(function, set()), costs()
    for name in [*names] * limit:
        if (name, current) in unchanged_by:
            continue
        before, function = function, run_pass(PASSES[name].rewrite, function)
        if function is before:
            unchanged_by.add((name, current))
        else:
            unchanged_by = _UNCHANGED_BY.setdefault(function, set())
    return function


def operation_count(function: Function) -> int:
    """Counts the operations of a function, those inside regions included."""
    return sum(1 for _ in function.body.walk())
