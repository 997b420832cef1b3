"""``any`` and ``all``: they ask for no more items once one has decided.

Where a run decides, all items are looked at. So nothing but the outcome may tell how far Python
would have gone: no variable, list, dict or iterator that is still held, and nothing printed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autodiff_compiler.errors import UnsupportedSyntax
from autodiff_compiler.frontend.abstract.iterators import items_of
from autodiff_compiler.frontend.abstract.values import HeapRef, MaybeNone, MaybeUnset
from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.operators.elementwise import comparisons


def decided(conjunction: bool) -> Callable[..., Any]:
    """``all``, for a conjunction, or ``any``."""
    join = comparisons.logical_and if conjunction else comparisons.logical_or

    def decide(low: Any, items: Any) -> Any:
        outcome: Any = conjunction
        seen: _Seen | None = None
        for item in items_of(low, items):
            truth = low.truth(item)
            if not isinstance(truth, bool):
                seen = seen or _Seen(low)
                outcome = truth if isinstance(outcome, bool) else join(outcome, truth)
            elif truth != conjunction:
                outcome = truth
                break
        if seen is not None and seen.differs():
            raise low.fail(
                UnsupportedSyntax,
                "where any() or all() stops is known only when the function runs, and "
                "evaluating its items changes variables",
                "write a 'for' loop with 'break'",
            )
        return outcome

    return decide


class _Seen:
    """What the text around can see, when the first item was found that a run decides by."""

    def __init__(self, low: Any):
        self.low, self.ops = low, len(low.builder.ops)
        self.names, self.cells = self._now()

    def _now(self) -> tuple[dict[str, Any], dict[HeapRef, Any]]:
        state = self.low.state
        held = self.low.heap_ownership(state).count  # not what only the items hang on
        return dict(state.names), {ref: state.heap.get(ref) for ref in held}

    def differs(self) -> bool:
        """Whether any of it has changed since."""
        names, cells = self._now()
        return (
            names.keys() != self.names.keys()
            or any(names[name] is not value and not isinstance(value, (MaybeUnset, MaybeNone))
                for name, value in self.names.items())
            or any(cells.get(ref) is not contents for ref, contents in self.cells.items())
            or any(map(Effects(again=True).has, self.low.builder.ops[self.ops :]))
        )  # fmt: skip
