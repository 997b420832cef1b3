"""The pass manager: applies single passes, and rounds of passes up to a fixed point.

A ``Step`` says which passes run and on what; a stage of the pipeline is a sequence of them. Every
application of a pass by the compiler goes through ``run_pass``, so that an observer sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, partial
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

from autodiff_compiler.cost_model import Costs, costs
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.passes.core.traversal import on_all_functions
from autodiff_compiler.passes.registry import BY_NAME, EVERY_LEVEL, REGISTRY, Pass, at_level

#: Receives each application of a pass: the pass, the function, the result, the seconds.
Observer = Callable[[Pass, Any, Any, float], None]

Rewrite = Callable[[Function], Function]

#: The passes that may run in rounds, in the order of a round.
PASSES: Mapping[str, Pass] = {each.name: each for each in REGISTRY if each.repeats}

_OBSERVER: ContextVar[Observer | None] = ContextVar("observer", default=None)

#: The passes that changed nothing in a function. A function never changes, so they need not run on
#: it again: most functions come back several times as callees of a function that did change.
_UNCHANGED_BY: WeakKeyDictionary[Function, set[tuple[str, Costs]]] = WeakKeyDictionary()


class Scope(Enum):
    """The functions of a program to which a step applies its passes."""

    FUNCTIONS = "every function, callees first"
    ROOTS = "roots"
    LAST_ROOT = "last root"


@dataclass(frozen=True)
class Step:
    """Passes that run one after the other.

    names    the passes, in order.
    scope    the functions that they are applied to.
    repeats  True if they run in rounds, on each function until a round changes nothing.
    facts    further arguments of the passes, by keyword.
    levels   the levels at which the step runs; of its passes only those of the level do.
    flag     the field of the request that must be true for the step to run.
    """

    names: tuple[str, ...]
    scope: Scope = Scope.FUNCTIONS
    repeats: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)
    levels: frozenset[int] = EVERY_LEVEL
    flag: str | None = None

    def __post_init__(self) -> None:
        assert set(self.names) <= BY_NAME.keys(), self.names

    @cached_property
    def names_by_level(self) -> Mapping[int, tuple[str, ...]]:
        """The passes that run at each level."""
        return {level: at_level(self.names, level) for level in self.levels}

    def names_for(self, request: Request) -> tuple[str, ...]:
        """Returns the passes that run for a request."""
        wanted = self.flag is None or getattr(request, self.flag)
        return self.names_by_level.get(request.opt_level, ()) if wanted else ()

    def on(self, root: Function, request: Request) -> Function:
        """Returns ``root`` after this step."""
        names, everywhere = self.names_for(request), self.scope is Scope.FUNCTIONS
        if self.repeats:
            return run_until_stable(root, names) if names else root
        for name in names:
            rewrite: Rewrite = partial(run_pass, name, **self.facts)
            root = on_all_functions(root, rewrite) if everywhere else rewrite(root)
        return root


def until_stable(names: str, levels: frozenset[int] = EVERY_LEVEL, flag: str | None = None) -> Step:
    """Returns the step that runs passes in rounds, on every function; ``names`` has spaces between
    them."""
    return Step(tuple(names.split()), repeats=True, levels=levels, flag=flag)


def on_functions(names: str, levels: frozenset[int] = EVERY_LEVEL, **facts: Any) -> Step:
    """Returns the step that applies passes to every function."""
    return Step(tuple(names.split()), facts=facts, levels=levels)


def on_roots(names: str, levels: frozenset[int] = EVERY_LEVEL, **facts: Any) -> Step:
    """Returns the step that applies passes to the roots: passes that visit callees themselves."""
    return Step(tuple(names.split()), Scope.ROOTS, facts=facts, levels=levels)


def on_last_root(names: str) -> Step:
    """Returns the step that applies passes to the last root: the backward function, if any."""
    return Step(tuple(names.split()), Scope.LAST_ROOT)


def run_steps(steps: Sequence[Step], root: Function, request: Request) -> Function:
    """Returns ``root`` after these steps."""
    for step in steps:
        root = step.on(root, request)
    return root


def run_pass(name: str, function: Function, **facts: Any) -> Any:
    """Applies the pass of a name to ``function``, and returns the result."""
    return apply_pass(BY_NAME[name], function, **facts)


def apply_pass(each: Pass, function: Any, **facts: Any) -> Any:
    """Applies a pass to ``function``, calls the observer if there is one, and returns the result.

    Every application of a pass by the compiler goes through here.
    """
    observer = _OBSERVER.get()
    if observer is None:
        return each.rewrite(function, **facts)
    start = perf_counter()
    result = each.rewrite(function, **facts)
    observer(each, function, result, perf_counter() - start)
    return result


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
        before, function = function, run_pass(name, function)
        if function is before:
            unchanged_by.add((name, current))
        else:
            unchanged_by = _UNCHANGED_BY.setdefault(function, set())
    return function


def operation_count(function: Function) -> int:
    """Counts the operations of a function, those inside regions included."""
    return sum(1 for _ in function.body.walk())


__all__ = [
    "Observer",
    "PASSES",
    "Scope",
    "Step",
    "apply_pass",
    "observed",
    "on_functions",
    "on_last_root",
    "on_roots",
    "operation_count",
    "run_pass",
    "run_steps",
    "run_until_stable",
    "until_stable",
]
