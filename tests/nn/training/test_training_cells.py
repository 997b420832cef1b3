"""A layer applied to each step along an axis, one by one or merged into another axis."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from autodiff_compiler import Tensor, nn
from autodiff_compiler.testing import check_grads

X = np.random.default_rng(3).normal(size=(2, 3, 4, 5)).astype(np.float32)
AXES = [pair for pair in itertools.product(range(-4, 4), range(-4, 4)) if (pair[0] - pair[1]) % 4]


@pytest.mark.every_case
@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_a_dense_layer_sees_each_step(axis: int) -> None:
    dense = nn.Dense(5, 6)
    found = nn.TimeDistributed(dense, axis)(Tensor(X)).asnumpy()
    weight, bias = dense.weight.asnumpy(), dense.bias.asnumpy()
    np.testing.assert_allclose(found, X @ weight.T + bias, rtol=1e-5, atol=1e-6)


def test_merged_steps_have_the_same_result() -> None:
    layer = nn.Tanh()
    for time, other in AXES:
        found = nn.TimeDistributed(layer, time, other)(Tensor(X)).asnumpy()
        np.testing.assert_allclose(found, np.tanh(X), rtol=1e-6, err_msg=f"{time}, {other}")


@pytest.mark.parametrize(("time", "other"), [(1, 0), (0, 1), (2, 0), (0, 2), (-2, 0)])
def test_a_merged_dense_layer(time: int, other: int) -> None:
    dense = nn.Dense(5, 6)
    merged = nn.TimeDistributed(dense, time, other)(Tensor(X)).asnumpy()
    wanted = X @ dense.weight.asnumpy().T + dense.bias.asnumpy()
    np.testing.assert_allclose(merged, wanted, rtol=1e-5, atol=1e-6)


def test_two_axes_are_needed() -> None:
    with pytest.raises(ValueError, match="must be two axes"):
        nn.TimeDistributed(nn.Tanh(), 1, -3)(Tensor(X))


def test_its_slope_is_that_of_differences() -> None:
    check_grads(nn.TimeDistributed(nn.Dense(5, 2), 1, 0), (X[0, :, :2].astype(float),), order=1)
