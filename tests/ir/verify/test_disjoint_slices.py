"""Locations of slices: those that may overlap, against the positions that they cover."""

from __future__ import annotations

import itertools

import numpy as np

from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import array
from autodiff_compiler.ir.verify.disjoint_slices import AxisSlice, DisjointSlices

SHAPE = (4, 5)
SLICES = [
    AxisSlice(axis, start, stop)
    for axis, size in enumerate(SHAPE)
    for start, stop in itertools.combinations(range(size + 1), 2)
]


def covered(slice_: AxisSlice) -> set[int]:
    at = [slice(None)] * len(SHAPE)
    at[slice_.axis] = slice(slice_.start, slice_.stop)
    return set(np.arange(20).reshape(SHAPE)[tuple(at)].ravel().tolist())


def test_slices_beside_each_other_have_no_position_in_common() -> None:
    for one, other in itertools.product(SLICES, SLICES):
        if one.is_beside(other):
            assert not covered(one) & covered(other)
        elif one.axis == other.axis:
            assert covered(one) & covered(other)
        assert one.is_beside(other) is other.is_beside(one)


def test_a_slice_may_overlap_all_but_those_beside_it() -> None:
    """Location 0 is the array's; each slice gets one of its own."""
    random = np.random.default_rng(3)
    for _ in range(50):
        value, slices = Value(array("float32", *SHAPE), "x"), DisjointSlices()
        taken = [SLICES[random.integers(len(SLICES))] for _ in range(5)]
        for place, slice_ in enumerate(taken, 1):
            divides, near = slices.take(value, frozenset([0]), slice_, place)
            assert divides == {0} and place in near
            for before, other in enumerate(taken[: place - 1], 1):
                assert (before in near) or not covered(slice_) & covered(other)
                assert (before in near) is not slice_.is_beside(other)


def test_after_a_redefinition_nothing_is_known_to_be_disjoint() -> None:
    value, slices = Value(array("float32", *SHAPE), "x"), DisjointSlices()
    left, right = AxisSlice(1, 0, 2), AxisSlice(1, 2, 5)
    slices.take(value, frozenset([0]), left, 1)
    assert slices.take(value, frozenset([0]), right, 2)[1] == {2}
    slices.forget(value)
    assert slices.take(value, frozenset([0]), right, 3)[1] >= {1, 3}


def test_slices_of_two_arrays_with_one_memory_may_overlap() -> None:
    one, other = (Value(array("float32", *SHAPE), name) for name in "xy")
    slices = DisjointSlices()
    slices.take(one, frozenset([0]), AxisSlice(1, 0, 2), 1)
    assert 1 in slices.take(other, frozenset([0]), AxisSlice(1, 2, 5), 2)[1]
    assert 1 not in slices.take(other, frozenset([9]), AxisSlice(1, 2, 5), 3)[1]
