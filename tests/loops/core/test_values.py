"""Strided views have the elements that NumPy's views have."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from autodiff_compiler.loop_ir.nodes import Affine, Buffer
from autodiff_compiler.loops.core.values import Array, reshaped_strides, row_major


def elements(array: Array) -> np.ndarray:
    """The positions of all elements."""
    found = np.zeros(array.shape, int)
    for index in np.ndindex(*array.shape):
        found[index] = array.position([Affine(each) for each in index]).constant
    return found


SHAPES = [(2, 3, 4), (6, 4), (24,), (2, 12), (1, 24, 1), (3, 8), (2, 3, 2, 2), (4, 6)]
LAYOUTS = {
    "C": lambda x: x,
    "transposed": lambda x: x.T,
    "strided": lambda x: x[..., ::2],
    "reversed": lambda x: x[::-1],
    "swapped": lambda x: x.swapaxes(0, -1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("shape", "new"), [*itertools.permutations(SHAPES, 2)])
def test_reshaped_views_are_those_of_numpy(
    shape: tuple[int, ...], new: tuple[int, ...], layout: str
) -> None:
    base = np.arange(48).reshape(-1)[: int(np.prod(shape))].reshape(shape)
    view = LAYOUTS[layout](base)
    if view.size != np.prod(new):
        new = (view.size,)
    at = Affine(int(view.flat[0]))
    strides = tuple(step // base.itemsize for step in view.strides)
    array = Array(Buffer("x", "float64", 48), at, view.shape, strides)
    assert np.array_equal(elements(array), view)
    found = reshaped_strides(array, new)
    if found is None:
        with pytest.raises(AttributeError):
            view.shape = new  # NumPy would have to copy, too
        return
    assert np.array_equal(elements(array.with_axes(new, found)), view.reshape(new))


def test_row_major_strides() -> None:
    assert row_major(()) == () and row_major((5,)) == (1,) and row_major((2, 3)) == (3, 1)
