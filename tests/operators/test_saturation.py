"""Slopes far out, where sigmoid and tanh are level (decision 0019).

In plain functions they are exact, however the function is written; of tensors they are computed
from the result, as MindSpore does, and exact where the function is written from the other side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from autodiff_compiler import Tensor, grad, hvp, jvp, nn, ops, set_context

FAR = np.array([-600.0, -300.0, -64.0, -20.0, -1.0, 0.0, 1e-3, 1.0, 8.0, 20.0, 40.0, 64.0, 350.0])


def _decay(x: float) -> tuple[float, float]:
    e = math.exp(-abs(x))
    return e, e / (1 + e) ** 2


def sigmoid_slope(x: float) -> float:
    return _decay(x)[1]


def sigmoid_bend(x: float) -> float:
    return -math.tanh(x / 2) * _decay(x)[1]


def tanh_slope(x: float) -> float:
    return 4 * _decay(2 * x)[1]


def tanh_bend(x: float) -> float:
    return -2 * math.tanh(x) * tanh_slope(x)


Slope = Callable[[float], float]
#: Texts of a sigmoid and of a tanh, with the first and the second derivative.
PLAIN: dict[str, tuple[Callable, Slope, Slope]] = {
    "tanh": (lambda x: np.tanh(x), tanh_slope, tanh_bend),
    "tanh by exponentials": (
        lambda x: (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)), tanh_slope, tanh_bend
    ),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), sigmoid_slope, sigmoid_bend),
    "sigmoid of a quotient": (
        lambda x: np.exp(x) / (1 + np.exp(x)), sigmoid_slope, sigmoid_bend
    ),
    "one minus a sigmoid": (lambda x: 1 - 1 / (1 + np.exp(x)), sigmoid_slope, sigmoid_bend),
    "sigmoid by tanh": (
        lambda x: 0.5 * (1 + np.tanh(0.5 * x)), sigmoid_slope, sigmoid_bend
    ),
    "power of a sum": (lambda x: (1 + np.exp(-x)) ** -1.0, sigmoid_slope, sigmoid_bend),
    "named power": (
        lambda x: np.power(1 + np.exp(-x), -1.0), sigmoid_slope, sigmoid_bend
    ),
    "reciprocal": (lambda x: np.reciprocal(1 + np.exp(-x)), sigmoid_slope, sigmoid_bend),
}  # fmt: skip


def _in_a_loop(x: np.ndarray) -> np.ndarray:
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = np.tanh(x[i])
    return out


PLAIN["items in a loop"] = (_in_a_loop, tanh_slope, tanh_bend)
close = np.testing.assert_allclose


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PLAIN)
class TestPlainFunctions:
    def test_slopes(self, name: str) -> None:
        function, slope, _ = PLAIN[name]
        right = [slope(x) for x in FAR.tolist()]
        close(grad(lambda x: np.sum(function(x)))(FAR), right, rtol=2e-15)
        close(jvp(function, (FAR,), (np.ones_like(FAR),))[1], right, rtol=2e-15)

    def test_second_derivatives(self, name: str) -> None:
        function, _, bend = PLAIN[name]
        right = [bend(x) for x in FAR.tolist()]

        def total(x: np.ndarray) -> np.ndarray:
            return np.sum(function(x))

        close(grad(lambda x: np.sum(grad(total)(x)))(FAR), right, rtol=1e-14)
        close(hvp(total, FAR, np.ones_like(FAR)), right, rtol=1e-14)

    def test_single_precision(self, name: str) -> None:
        function, slope, _ = PLAIN[name]
        if name == "items in a loop":
            return  # into an array of doubles
        x = np.array([-40.0, -20.0, -1.0, 0.5, 1.0, 16.0, 43.0], np.float32)
        found = grad(lambda x: np.sum(function(x)))(x)
        assert found.dtype == np.float32
        close(found, [slope(each) for each in x.tolist()], rtol=1e-6)


@pytest.fixture
def levels() -> Iterator[None]:
    yield
    set_context(opt_level=1)


@pytest.mark.parametrize("level", [0, 1, 3])
def test_slopes_at_every_level(level: int, levels: None) -> None:
    set_context(opt_level=level)
    close(grad(lambda x: np.sum(np.tanh(x)))(FAR), list(map(tanh_slope, FAR.tolist())), rtol=2e-15)
    found = grad(lambda x: np.sum(1 / (1 + np.exp(-np.maximum(x, -700.0)))))(FAR)
    close(found, list(map(sigmoid_slope, FAR.tolist())), rtol=2e-15)


@pytest.mark.parametrize("x", [-354.0, -16.0, 0.25, 16.0, 64.0, 354.0, 1000.0])
def test_slopes_of_single_numbers(x: float) -> None:
    for given in (x, np.float64(x), np.array(x)):
        close(grad(lambda x: math.tanh(x))(given), tanh_slope(x), rtol=4e-15)
        close(grad(lambda x: np.tanh(x))(given), tanh_slope(x), rtol=4e-15)
        close(grad(lambda x: 1 / (1 + np.exp(-x)))(given), sigmoid_slope(x), rtol=4e-15)
    with np.errstate(all="raise", under="ignore"):
        assert math.isnan(grad(lambda x: math.tanh(x))(math.nan))


def test_slopes_of_tensors_are_those_of_mindspore() -> None:
    """Measured on MindSpore 2.10 (CPU), both modes."""
    double = {ops.sigmoid: ((36.0, 2.220446049250313e-16), (40.0, 0.0)),
              ops.tanh: ((16.0, 5.062616992290714e-14), (20.0, 0.0)),
              nn.Sigmoid(): ((64.0, 0.0),), nn.Tanh(): ((64.0, 0.0),)}  # fmt: skip
    single = {ops.sigmoid: ((16.0, 1.1920928e-07), (18.0, 0.0)), ops.tanh: ((10.0, 0.0),)}
    for numbers, dtype, rtol in ((double, "float64", 1e-12), (single, "float32", 1e-6)):
        for function, pairs in numbers.items():
            at, right = np.array(pairs).T
            found = grad(function)(Tensor(at.astype(dtype))).asnumpy()
            close(found, right, rtol=rtol)


def _rising(x: Tensor) -> Tensor:
    return 1.0 - ops.sigmoid(-x)


def _bent(x: Tensor) -> Tensor:
    return 1.0 - 2.0 * ops.sigmoid(-2.0 * x)


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (_rising, sigmoid_slope),
        (_bent, tanh_slope),
        (ops.softplus, lambda x: 1 / (1 + math.exp(-x))),
        (ops.logsigmoid, lambda x: math.exp(-x) / (1 + math.exp(-x))),
    ],
    ids=["sigmoid", "tanh", "softplus", "logsigmoid"],
)
def test_slopes_of_tensors_on_the_saturated_side(function: object, slope: Slope) -> None:
    x = FAR[FAR >= 1]
    found = grad(function)(Tensor(x)).asnumpy()
    assert np.allclose(found, [slope(each) for each in x.tolist()], rtol=1e-14, atol=0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_slope_of_i0_is_exact_near_zero(dtype: str) -> None:
    x = np.array([-1e-3, -1e-8, 1e-30, 1e-20, 1e-5], dtype)
    square = x.astype("float64") ** 2
    exact = x / 2 * (1 + square / 8 + square**2 / 192)
    near = np.finfo(dtype).eps * 4
    assert np.allclose(grad(ops.bessel_i0)(Tensor(x)).asnumpy(), exact, rtol=near, atol=0)
