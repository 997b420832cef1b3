"""Lanes of an array: parts side by side along an axis, none of which is in another's way.

The proof (``memory_safety.py``) knows memory as pieces, and what lies in one piece is spoilt
together. A lane gets a piece of its own, which everything else in the array's memory holds from
then on: what is written to a lane spoils the array and all that may see it, but no lane beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

from autodiff_compiler.ir.nodes import Value


@dataclass(frozen=True)
class AxisSlice:
    """The positions from ``start`` up to ``stop`` along ``axis``."""

    axis: int
    start: int
    stop: int

    def is_beside(self, other: AxisSlice) -> bool:
        """Whether the two surely have no position in common.

        >>> slice_ = AxisSlice(1, 0, 4)
        >>> slice_.is_beside(AxisSlice(1, 4, 6)), slice_.is_beside(AxisSlice(2, 4, 6))
        (True, False)
        """
        apart = self.stop <= other.start or other.stop <= self.start
        return self.axis == other.axis and apart


class DisjointSlices:
    """Which pieces are those of lanes. Lanes are beside each other only if they were taken of one
    value, and that was not defined anew in between."""

    def __init__(self) -> None:
        self.divided: dict[int, frozenset[int]] = {}
        self.taken: dict[Value, dict[int, AxisSlice]] = {}

    def take(
        self, array: Value, pieces: frozenset[int], lane: AxisSlice, own: int
    ) -> tuple[frozenset[int], frozenset[int]]:
        """The ``pieces`` of ``array`` that are divided by taking ``lane``, whose own piece is
        ``own``; and the pieces that it lies in: with every lane that may meet it."""
        divides = pieces - self.divided.keys()
        others = self.taken.setdefault(array, {})
        beside = {piece for piece, other in others.items() if lane.is_beside(other)}
        near = {piece for piece, of in self.divided.items() if of & divides or piece in pieces}
        self.divided[own], others[own] = divides, lane
        return divides, frozenset([own, *(near - beside)])

    def forget(self, array: Value) -> None:
        """``array`` is defined anew."""
        self.taken.pop(array, None)
