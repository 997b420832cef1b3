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

from collections.abc import Hashable
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
    walk.back(flow, needed, EMPTY)
    return walk.ranges


class _Walk:
    """One pass from the end to the beginning, numbering steps on the way."""

    def __init__(self) -> None:
        self.ranges: dict[Hashable, int] = {}
        self.steps = 0

    def back(self, flow: Flow, live: Names, outside: Names) -> Names:
        """What is live before ``flow``, given what is after it and after the innermost cycle."""
        for part in reversed(flow):
            if isinstance(part, Step):
                for name in live.union(part.writes):
                    self.ranges[name] = self.ranges.get(name, 0) | 1 << self.steps
                self.steps += 1
                live = live.difference(part.writes).union(part.reads)
            elif isinstance(part, Fork):
                live = EMPTY.union(*(self.back(b, live, outside) for b in part.branches))
            elif isinstance(part, Cycle):
                again = live | exposed((part,))
                entered = self.back(part.body, again, live)
                live = self.back(part.head, live | entered, live)
            else:
                live = live.union(outside, part.reads)
        return live


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
