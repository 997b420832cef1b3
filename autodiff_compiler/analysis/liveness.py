"""Liveness analysis: the steps at which the value of each variable is still needed.

The program is a *flow* of steps that read and then write, forks and cycles. Anything hashable may
be a variable, and it may be written more than once. A variable's *live range* is a set of steps, as
the bits of one integer: those that write it, and those after which its value is still needed. Two
variables may share a name exactly if their ranges have no bit in common.

>>> swap = (Step((), ("a",)), Step(("a",), ("b",)), Step(("b",), ("c",)))
>>> {name: bin(mask) for name, mask in sorted(live_ranges(swap).items())}
{'a': '0b100', 'b': '0b10', 'c': '0b1'}
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """A step: first all its reads, then all its writes."""

    reads: tuple[Hashable, ...] = ()
    writes: tuple[Hashable, ...] = ()


@dataclass(frozen=True)
class Fork:
    """Branches of which exactly one runs."""

    branches: tuple[Flow, ...]


@dataclass(frozen=True)
class Cycle:
    """A cycle: ``head``, then either its end, or ``body`` and ``head`` again."""

    head: Flow
    body: Flow


@dataclass(frozen=True)
class Leave:
    """A place at which the innermost cycle may be left."""

    reads: tuple[Hashable, ...] = ()


Flow = tuple[Step | Fork | Cycle | Leave, ...]
Names = frozenset[Hashable]
EMPTY: Names = frozenset()


def live_ranges(flow: Flow, needed: Names = EMPTY) -> dict[Hashable, int]:
    """Computes the live range of every variable; those in ``needed`` are live at the end."""
    walk = _Walk()
    walk.replace_live(needed)
    walk.back(flow, EMPTY)
    walk.replace_live(EMPTY)
    return walk.ranges


class _Walk:
    """A pass from the end to the beginning, which numbers the steps.

    When a variable ceases to be live, the bits of all steps since it became live are set at once.
    """

    def __init__(self) -> None:
        self.ranges: dict[Hashable, int] = {}
        #: The variables that are live here, with the step at which they became live.
        self.since: dict[Hashable, int] = {}
        self.steps = 0

    def back(self, flow: Flow, outside: Names) -> None:
        """Walks ``flow`` backward; ``outside`` is live after the innermost cycle."""
        for part in reversed(flow):
            if isinstance(part, Step):
                self.begin(part.writes)
                self.steps += 1
                self.end(part.writes)
                self.begin(part.reads)
            elif isinstance(part, Fork):
                live, before = frozenset(self.since), EMPTY
                for branch in part.branches:
                    self.replace_live(live)
                    self.back(branch, outside)
                    before = before.union(self.since)
                self.replace_live(before)
            elif isinstance(part, Cycle):
                live = frozenset(self.since)
                self.replace_live(live | exposed((part,)))
                self.back(part.body, live)
                self.begin(live)
                self.back(part.head, live)
            else:
                self.begin((*outside, *part.reads))

    def replace_live(self, live: Names) -> None:
        """Makes exactly the variables ``live`` live."""
        self.end([name for name in self.since if name not in live])
        self.begin(live)

    def begin(self, names: Iterable[Hashable]) -> None:
        for name in names:
            self.since.setdefault(name, self.steps)

    def end(self, names: Iterable[Hashable]) -> None:
        for name in names:
            since = self.since.pop(name, self.steps)
            if since != self.steps:
                self.ranges[name] = self.ranges.get(name, 0) | (1 << self.steps) - (1 << since)


def exposed(flow: Flow) -> Names:
    """Collects the variables that ``flow`` may read before it writes them."""
    return _exposed(flow)[0]


def _exposed(flow: Flow) -> tuple[Names, Names]:
    """Returns the variables that ``flow`` needs from before, and those it writes on every path."""
    needs, written = EMPTY, EMPTY
    for part in flow:
        own_needs, own_written = EMPTY, EMPTY
        if isinstance(part, Step):
            own_needs, own_written = frozenset(part.reads), frozenset(part.writes)
        elif isinstance(part, Leave):
            own_needs = frozenset(part.reads)
        elif isinstance(part, Fork):
            branches = [_exposed(branch) for branch in part.branches]
            own_needs = EMPTY.union(*(each[0] for each in branches))
            both = [each[1] for each in branches]
            own_written = frozenset.intersection(*both) if both else EMPTY
        else:
            head, body = _exposed(part.head), _exposed(part.body)
            own_needs, own_written = head[0] | (body[0] - head[1]), head[1]
        needs |= own_needs - written
        written |= own_written
    return needs, written
