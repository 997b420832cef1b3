"""The zero cotangents of lists, and their sums, where items hold more than arrays."""

from __future__ import annotations

import numpy as np

from autodiff_compiler.ir.types import parse_type
from autodiff_compiler.operators.core.containers import list_add, list_zeros
from autodiff_compiler.operators.lists.loop_tapes import zeros_if_set

MIXED = parse_type("list[(f32[2], int, shape, list[float])]")


def test_numbers_are_zero_and_shapes_stay() -> None:
    items = [(np.ones(2, np.float32), 3, (2,), [1.5, 2.5])]
    (zero,) = list_zeros.evaluate(items, types=[MIXED])
    assert zero[1:] == (0, (2,), [0.0, 0.0]) and zero[0].dtype == np.float32
    (total,) = list_add.evaluate(items, items, types=[MIXED, MIXED])
    np.testing.assert_array_equal(total[0], [2.0, 2.0])
    assert total[2:] == ((2,), [3.0, 5.0])


def test_what_is_not_set_has_a_zero_that_changes_nothing_it_is_added_to() -> None:
    items = [(None, 3, None, [1.5]), None]
    found = zeros_if_set.evaluate(items, types=[MIXED], path=())
    (array, number, _, floats), (unset, _, _, none) = found
    assert (array + np.float16(2)).dtype == (unset + np.float16(2)).dtype == np.float16
    assert number == array == unset == 0 and floats == [0.0] and none == []
    assert zeros_if_set.evaluate(None, types=[MIXED], path=()) == []
