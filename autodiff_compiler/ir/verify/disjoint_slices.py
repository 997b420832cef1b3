"""Disjoint slices of an array: parts side by side along an axis, which do not overlap.

The proof (``memory_safety.py``) knows memory as pieces: values in one piece are overwritten
together. A slice gets a piece of its own, which is added to every other value in the array's
memory: a write to the slice overwrites the array and all its views, but no disjoint slice.
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
        """True if the two surely have no position in common.

        >>> slice_ = AxisSlice(1, 0, 4)
        >>> slice_.is_beside(AxisSlice(1, 4, 6)), slice_.is_beside(AxisSlice(2, 4, 6))
        (True, False)
        """
        disjoint = self.stop <= other.start or other.stop <= self.start
        return self.axis == other.axis and disjoint


class DisjointSlices:
    """The pieces of slices.

    Two slices are known to be disjoint only if they were taken of one value, which was not
    redefined in between.
    """

    def __init__(self) -> None:
        self.divided: dict[int, frozenset[int]] = {}
        self.taken: dict[Value, dict[int, AxisSlice]] = {}

    def take(
        self, array: Value, pieces: frozenset[int], slice_: AxisSlice, own: int
    ) -> tuple[frozenset[int], frozenset[int]]:
        """Takes a slice of ``array``, whose own piece is ``own``.

        Returns the ``pieces`` of the array that the slice divides, and the pieces of the slice:
        its own, and those of the slices that it may overlap.
        """
        divides = pieces - self.divided.keys()
        others = self.taken.setdefault(array, {})
        beside = {piece for piece, other in others.items() if slice_.is_beside(other)}
        near = {piece for piece, of in self.divided.items() if of & divides or piece in pieces}
        self.divided[own], others[own] = divides, slice_
        return divides, frozenset([own, *(near - beside)])

    def forget(self, array: Value) -> None:
        """Forgets the slices of ``array``, which is redefined."""
        self.taken.pop(array, None)
