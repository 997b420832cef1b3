"""Disjoint slices of an array: parts side by side along an axis, which do not overlap.

The proof (``memory_safety.py``) knows memory as locations: values in one location are overwritten
together. A slice gets a new location, which is added to every other value in the array's memory. A
write to the slice overwrites the array and all its views, but no disjoint slice.
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
    """The locations of slices.

    Two slices are known to be disjoint only if they were taken of one value. It must not have been
    redefined in between.
    """

    def __init__(self) -> None:
        self.divided: dict[int, frozenset[int]] = {}
        self.taken: dict[Value, dict[int, AxisSlice]] = {}

    def take(
        self, array: Value, locations: frozenset[int], slice_: AxisSlice, new: int
    ) -> tuple[frozenset[int], frozenset[int]]:
        """Takes a slice of ``array``, whose location is ``new``.

        Returns the ``locations`` of the array that the slice divides, and the locations of the
        slice: the new one, and those of the slices that it may overlap.
        """
        divides = locations - self.divided.keys()
        others = self.taken.setdefault(array, {})
        beside = {location for location, other in others.items() if slice_.is_beside(other)}
        near = {
            location
            for location, of in self.divided.items()
            if of & divides or location in locations
        }
        self.divided[new], others[new] = divides, slice_
        return divides, frozenset([new, *(near - beside)])

    def forget(self, array: Value) -> None:
        """Forgets the slices of ``array``, which is redefined."""
        self.taken.pop(array, None)
