"""Boxes of positions against NumPy: which elements an index selects, and which boxes overlap."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.analysis.index_boxes import (
    are_disjoint,
    index_box,
    padded_index,
    written_box,
)
from autodiff_compiler.ir.parser import parse_function

RANDOM = np.random.default_rng(11)
SHAPE = (4, 5, 3)


def random_index(rank: int) -> tuple[Any, ...]:
    """Returns up to ``rank`` items, perhaps with an ellipsis among them."""

    def item() -> Any:
        if RANDOM.random() < 0.3:
            return int(RANDOM.integers(-3, 3))
        bounds = [None if RANDOM.random() < 0.3 else int(RANDOM.integers(-6, 7)) for _ in range(2)]
        step = RANDOM.choice([None, 1, 2, 3, -1, -2])
        return ("slice", *bounds, None if step is None else int(step))

    items = [item() for _ in range(RANDOM.integers(0, rank + 1))]
    if RANDOM.random() < 0.4:
        items.insert(int(RANDOM.integers(0, len(items) + 1)), "...")
    return tuple(items)


def as_numpy(index: tuple[Any, ...]) -> Any:
    parts = {"...": Ellipsis}
    return tuple(
        slice(*each[1:]) if isinstance(each, tuple) else parts.get(each, each) for each in index
    )


def selected(index: tuple[Any, ...]) -> set[int]:
    """Returns the elements that NumPy selects, by their numbers."""
    return set(np.arange(np.prod(SHAPE)).reshape(SHAPE)[as_numpy(index)].ravel().tolist())


def in_box(box: list[range]) -> set[int]:
    return {int(np.ravel_multi_index(place, SHAPE)) for place in itertools.product(*box)}


def test_a_box_has_the_elements_that_numpy_selects() -> None:
    for _ in range(300):
        index = random_index(len(SHAPE))
        box = index_box(index, SHAPE)
        assert box is not None and in_box(box) == selected(index), index
        assert selected(padded_index(index, len(SHAPE))) == selected(index)


def test_disjoint_boxes_have_no_element_in_common() -> None:
    proofs = 0
    for _ in range(600):
        one, other = random_index(3), random_index(3)
        boxes = [index_box(index, SHAPE) for index in (one, other)]
        assert boxes[0] is not None and boxes[1] is not None
        if are_disjoint(boxes[0], boxes[1]):
            proofs += 1
            assert not selected(one) & selected(other), (one, other)
    assert proofs > 50


@pytest.mark.parametrize(
    ("one", "other", "disjoint"),
    [
        (range(0, 4), range(4, 8), True),
        (range(0, 5), range(4, 8), False),
        (range(0, 8, 2), range(1, 8, 2), True),  # steps that interleave
        (range(7, -1, -2), range(0, 8, 2), True),
        (range(0, 8, 4), range(2, 8, 4), True),
        (range(0, 8, 2), range(1, 8, 3), False),
        (range(3, 3), range(0, 8), True),
    ],
)
def test_ranges(one: range, other: range, disjoint: bool) -> None:
    assert are_disjoint([one], [other]) is are_disjoint([other], [one]) is disjoint
    assert not (disjoint and set(one) & set(other))


@pytest.mark.parametrize("index", [(("op", 0),), (("slice", ("op", 0), None, None),), (None,)])
def test_an_index_that_only_the_run_knows_has_no_box(index: Any) -> None:
    assert index_box(index, (4,)) is None


def test_the_box_of_a_write() -> None:
    at = "{index=(('slice', 1, None, 2), 0)}"
    function = parse_function(f"""
func @f(%x: f32[5,2], %v: f32[2], %i: int, %u: f32[n,2]) -> (f32[5,2]) {{
  %a: f32[5,2] = set_item %x, %v {at}
  %b: f32[5,2] = scatter %v {{index=(('slice', 1, None, 2), 0), shape=(5, 2)}}
  %c: f32[5,2] = add_at %a, %b, %i {{index=(('op', 0),)}}
  %d: f32[n,2] = set_item %u, 2.0 {{index=(0,)}}
  return %c
}}
""")
    boxes = [written_box(op) for op in function.body.ops]
    assert boxes == [[range(1, 5, 2), range(0, 1)]] * 2 + [None, None]
