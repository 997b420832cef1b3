"""Patches of images, cut out one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from autodiff_compiler import Tensor, ops
from autodiff_compiler.testing import check_grads

X = np.random.default_rng(2).normal(size=(2, 3, 5, 6))


@pytest.mark.parametrize(
    ("strides", "dilations", "pads"), [(1, 1, 0), (2, 1, 0), (1, 2, 0), (2, 1, 1)]
)
def test_each_column_is_a_patch(strides: int, dilations: int, pads: int) -> None:
    height, width = 2, 3
    padded = np.pad(X, ((0, 0), (0, 0), (pads, pads), (pads, pads)))
    tops, lefts = (
        range(0, padded.shape[axis] - dilations * (size - 1), strides)
        for axis, size in ((2, height), (3, width))
    )
    patches = [
        padded[:, :, top : top + dilations * height : dilations,
               left : left + dilations * width : dilations].reshape(2, 3, height * width)
        for top, left in itertools.product(tops, lefts)
    ]  # fmt: skip
    operator = ops.Im2Col((height, width), strides, dilations, pads)
    np.testing.assert_array_equal(operator(Tensor(X)).asnumpy(), np.stack(patches, -1))


def test_the_slope_adds_up_overlapping_patches() -> None:
    check_grads(lambda x: ops.sum(ops.Im2Col((2, 3))(x) ** 3), (X,), order=1)
