"""Which variables hold a value that is still needed, and when.

The program is told as a *flow*: steps that read and then write, forks, cycles. Anything hashable
may be a variable, and it may be written more than once. A variable's *live range* is the set of
steps after which its value still matters (or which write it), as the bits of one integer. Two
variables may share a name exactly when their ranges have no bit in common.

>>> swap = (Step((), ("a",)), Step(("a",), ("b",)), Step(("b",), ("c",)))
>>> {name: bin(mask) for name, mask in sorted(live_ranges(swap).items())}
{'a': '0b100', 'b': '0b10', 'c': '0b1'}
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """Reads everything it reads, then writes everything it writes."""

    reads: tuple[Hashable, ...] = ()
    writes: tuple[Hashable, ...] = ()


@dataclass(frozen=True)
class Fork:
    """Exactly one of the branches runs."""

    branches: tuple[Flow, ...]


@dataclass(frozen=True)
class Cycle:
    """``head``, then either out or ``body`` and ``head`` again."""

    head: Flow
    body: Flow


@dataclass(frozen=True)
class Leave:
    """May leave the innermost cycle."""

    reads: tuple[Hashable, ...] = ()


Flow = tuple[Step | Fork | Cycle | Leave, ...]
Names = frozenset[Hashable]
EMPTY: Names = frozenset()


def live_ranges(flow: Flow, needed: Names = EMPTY) -> dict[Hashable, int]:
    """The live range of every variable; those in ``needed`` matter after the end."""
    walk = _Walk()
    walk.turn(needed)
    walk.back(flow, EMPTY)
    walk.turn(EMPTY)
    return walk.ranges


class _Walk:
    """One pass from the end to the beginning, numbering steps on the way. A name's bits are set
    when it ceases to be live, all of that stretch at once."""

    def __init__(self) -> None:
        self.ranges: dict[Hashable, int] = {}
        #: What is live here, with the step at which it began to be.
        self.since: dict[Hashable, int] = {}
        self.steps = 0

    def back(self, flow: Flow, outside: Names) -> None:
        """Goes from the end of ``flow`` to its beginning; ``outside`` is live after the innermost
        cycle."""
        for part in reversed(flow):
            if isinstance(part, Step):
                self.begin(part.writes)
                self.steps += 1
                self.end(part.writes)
                self.begin(part.reads)
            elif isinstance(part, Fork):
                live, before = frozenset(self.since), EMPTY
                for branch in part.branches:
                    self.turn(live)
                    self.back(branch, outside)
                    before = before.union(self.since)
                self.turn(before)
            elif isinstance(part, Cycle):
                live = frozenset(self.since)
                self.turn(live | exposed((part,)))
                self.back(part.body, live)
                self.begin(live)
                self.back(part.head, live)
            else:
                self.begin((*outside, *part.reads))

    def turn(self, live: Names) -> None:
        """Goes on with ``live`` and nothing else."""
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
    """The variables that ``flow`` may read before it writes them: what it needs from before."""
    return _exposed(flow)[0]


def _exposed(flow: Flow) -> tuple[Names, Names]:
    """What ``flow`` needs from before, and what it writes on every way through."""
    needs, written = EMPTY, EMPTY
    for part in flow:
        own_needs, own_written = EMPTY, EMPTY
        if isinstance(part, Step):
            own_needs, own_written = frozenset(part.reads), frozenset(part.writes)
        elif isinstance(part, Leave):
            own_needs = frozenset(part.reads)
        elif isinstance(part, Fork):
            ways = [_exposed(branch) for branch in part.branches]
            own_needs = EMPTY.union(*(way[0] for way in ways))
            own_written = frozenset.intersection(*(way[1] for way in ways)) if ways else EMPTY
        else:
            head, body = _exposed(part.head), _exposed(part.body)
            own_needs, own_written = head[0] | (body[0] - head[1]), head[1]
        needs |= own_needs - written
        written |= own_written
    return needs, written
