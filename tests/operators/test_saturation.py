"""Slopes far out, written as decision 0019 says: exact where those from the result are 0."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autodiff_compiler import Tensor, grad, ops

FAR = np.array([1.0, 8.0, 20.0, 40.0, 64.0, 300.0])


def _rising(x: Tensor) -> Tensor:
    return 1.0 - ops.sigmoid(-x)


def _bent(x: Tensor) -> Tensor:
    return 1.0 - 2.0 * ops.sigmoid(-2.0 * x)


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (_rising, lambda x: math.exp(-x) / (1 + math.exp(-x)) ** 2),
        (_bent, lambda x: 4 * math.exp(-2 * x) / (1 + math.exp(-2 * x)) ** 2),
        (ops.softplus, lambda x: 1 / (1 + math.exp(-x))),
        (ops.logsigmoid, lambda x: math.exp(-x) / (1 + math.exp(-x))),
    ],
    ids=["sigmoid", "tanh", "softplus", "logsigmoid"],
)
def test_slopes_on_the_saturated_side(function: object, slope: object) -> None:
    found = grad(function)(Tensor(FAR)).asnumpy()
    assert np.allclose(found, [slope(float(x)) for x in FAR], rtol=1e-14, atol=0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_slope_of_i0_is_exact_near_zero(dtype: str) -> None:
    x = np.array([-1e-3, -1e-8, 1e-30, 1e-20, 1e-5], dtype)
    square = x.astype("float64") ** 2
    exact = x / 2 * (1 + square / 8 + square**2 / 192)
    near = np.finfo(dtype).eps * 4
    assert np.allclose(grad(ops.bessel_i0)(Tensor(x)).asnumpy(), exact, rtol=near, atol=0)
