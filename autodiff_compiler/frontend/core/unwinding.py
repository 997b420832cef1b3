"""Exception unwinding: a throw skips the rest of the source function, up to its handler.

Each active handler (``low.catching``: the innermost first, those of callers included) has a flag in
the heap, which a throw sets. The rest of the source function is then lowered inside a branch, under
the condition that no flag is set. For the rest of a block this is simple. In the middle of an
expression some operands are evaluated and some are not. The expression is then evaluated once more
inside the branch; operands that are already evaluated are looked up (``evaluate_once``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from autodiff_compiler.errors import CompileError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract.in_place_writes import refuse_overwritten
from autodiff_compiler.frontend.abstract.outcomes import ActiveHandler, MayHaveThrown, Unwinding
from autodiff_compiler.frontend.core.guards import MISSING
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.operators.elementwise import comparisons


def has_thrown(low: Lowering) -> Any:
    """Returns the condition that something was thrown: False, True, or a run-time value."""
    thrown: Any = False
    for handler in low.catching:
        flag = low.state.heap[handler.flag]
        if flag is True:
            return True
        if isinstance(flag, Value):
            thrown = flag if thrown is False else comparisons.logical_or(thrown, flag)
    return thrown


def unless_thrown(low: Lowering, rest: Callable[[], Any]) -> Any:
    """Returns ``rest()``, or ``Unwinding`` where something was thrown."""
    thrown = has_thrown(low)
    if thrown is False:
        return rest()
    if thrown is True:
        return Unwinding()

    def go_on() -> Any:
        assume_not_thrown(low)
        return rest()

    return low.choose(thrown, Unwinding, go_on)


def assume_not_thrown(low: Lowering) -> None:
    """Clears the flags of the active handlers: nothing was thrown on this path."""
    for handler in low.catching:
        low.state.heap |= {handler.flag: False, handler.thrown: MISSING}


@contextmanager
def handling(low: Lowering, handlers: tuple[ActiveHandler, ...]) -> Iterator[None]:
    """Enters a block with these active handlers."""
    before, low.catching = low.catching, handlers
    try:
        yield
    finally:
        low.catching = before


def evaluate_once(low: Lowering, key: Any, evaluate: Callable[[], Any]) -> Any:
    """Returns ``evaluate()``, or its value from an earlier evaluation of this statement."""
    if not low.catching:
        return evaluate()
    position = low.replayed
    if position < len(low.evaluated) and low.evaluated[position][0] is key:
        low.replayed += 1
        _, value, writes = low.evaluated[position]
        refuse_overwritten(low, value, writes)
        return value
    try:
        value = evaluate()
    except MayHaveThrown:
        raise
    except CompileError as error:
        if not low.handlers.throw_if_caught(low, low.builder.with_span(error)):
            _forget_operands(low, position)
            raise
        raise MayHaveThrown from None
    except Exception:
        _forget_operands(low, position)
        raise
    _forget_operands(low, position)
    low.evaluated.insert(position, (key, value, len(low.compilation.aliases.writes)))
    low.replayed = position + 1
    if has_thrown(low) is not False:
        raise MayHaveThrown
    return value


def _forget_operands(low: Lowering, position: int) -> None:
    del low.evaluated[position : low.replayed]
    low.replayed = position


def resumable(
    low: Lowering, evaluate: Callable[[], Any], then: Callable[[Any], Any] = lambda value: value
) -> Any:
    """Returns ``evaluate()``. The code after a possible throw is lowered inside a branch, where
    ``then`` is applied to the value.
    """
    if not low.catching:
        return evaluate()
    before = low.evaluated, low.replayed
    done: list[tuple[Any, Any, int]] = []

    def steps(first: bool) -> Any:
        low.evaluated, low.replayed = done, 0
        try:
            value = evaluate()
        except MayHaveThrown:
            return unless_thrown(low, lambda: steps(False))
        return value if first else then(value)

    try:
        return steps(True)
    finally:
        low.evaluated, low.replayed = before


def must_not_throw(low: Lowering, evaluate: Callable[[], Any], what: str, cure: str) -> Any:
    """Returns ``evaluate()``. Refuses one that may throw to an active handler."""
    try:
        return evaluate()
    except MayHaveThrown:
        raise UnsupportedSyntax(
            f"{what} may raise an exception that a handler around it catches",
            cure,
            low.builder.span,
        ) from None
