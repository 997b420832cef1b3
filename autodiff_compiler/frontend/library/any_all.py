"""``any`` and ``all``, which stop at the first item that decides.

If only the run can decide, all items are evaluated. Evaluating them must then have no effect beyond
the outcome: no variable, list, dict or iterator that is still held changes, and nothing is printed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autodiff_compiler.errors import UnsupportedSyntax
from autodiff_compiler.frontend.abstract.iterators import items_of
from autodiff_compiler.frontend.abstract.values import HeapRef, MaybeNone, MaybeUnset
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.operators.elementwise import comparisons


def any_or_all(conjunction: bool) -> Callable[..., Any]:
    """Returns the function for ``all`` (a conjunction) or ``any``."""
    join = comparisons.logical_and if conjunction else comparisons.logical_or

    def decide(low: Lowering, items: Any) -> Any:
        outcome: Any = conjunction
        before: _VisibleState | None = None
        for item in items_of(low, items):
            truth = low.truth(item)
            if not isinstance(truth, bool):
                before = before or _VisibleState(low)
                outcome = truth if isinstance(outcome, bool) else join(outcome, truth)
            elif truth != conjunction:
                outcome = truth
                break
        if before is not None and before.differs():
            raise low.fail(
                UnsupportedSyntax,
                "where any() or all() stops is known only when the function runs, and "
                "evaluating its items changes variables",
                "write a 'for' loop with 'break'",
            )
        return outcome

    return decide


class _VisibleState:
    """The variables and heap at the first run-time item, as later code can see them."""

    def __init__(self, low: Lowering):
        self.low, self.ops = low, len(low.builder.ops)
        self.names, self.contents = self._now()

    def _now(self) -> tuple[dict[str, Any], dict[HeapRef, Any]]:
        state = self.low.state
        referenced = self.low.heap_ownership(
            state
        ).count  # without objects that only the items hold
        return dict(state.names), {ref: state.heap.get(ref) for ref in referenced}

    def differs(self) -> bool:
        """True if any of it has changed since, or an operation with effects was added."""
        names, contents_now = self._now()
        return (
            names.keys() != self.names.keys()
            or any(
                names[name] is not value and not isinstance(value, (MaybeUnset, MaybeNone))
                for name, value in self.names.items()
            )
            or any(contents_now.get(ref) is not contents for ref, contents in self.contents.items())
            or any(map(Effects(again=True).has, self.low.builder.ops[self.ops :]))
        )
