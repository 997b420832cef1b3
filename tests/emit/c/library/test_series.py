"""Sums of series: values of closed forms, and the derivatives that they are."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.emit.c.library.sweeps import Sweeps

TOLERANCE = {"f32": 3e-6, "f64": 1e-13}
X = np.array([0.1, 0.5, 0.99, 1.0, 1.5, 2.5, 7.3, 19.0])
each_ending = pytest.mark.parametrize("ending", TOLERANCE)


def call(floats: Sweeps, name: str, ending: str, x: np.ndarray, *rest: float) -> np.ndarray:
    return floats(f"{name}_{ending}", x, *(np.full(len(x), each) for each in rest))


#: Functions of x that are known, by name and by the operands after x.
CLOSED: dict[tuple[str, float], tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]] = {
    ("sinc_slope", 1): (
        np.concatenate([-X, X]),
        lambda x: np.cos(np.pi * x) / x - np.sin(np.pi * x) / (np.pi * x**2),
    ),
    ("sinc_slope", 2): (
        X,
        lambda x: (
            -np.pi * np.sin(np.pi * x) / x
            - 2 * np.cos(np.pi * x) / x**2
            + 2 * np.sin(np.pi * x) / (np.pi * x**3)
        ),
    ),
    ("polygamma", 1): (  # by reflection and by steps from 1 / 2
        np.array([1.0, 0.5, 1.5, -0.5, -1.5, 0.25]),
        lambda x: np.array(
            [
                np.pi**2 / 6,
                np.pi**2 / 2,
                np.pi**2 / 2 - 4,
                np.pi**2 / 2 + 4,
                np.pi**2 / 2 + 4 + 4 / 9,
                np.pi**2 + 8 * 0.915965594177219,
            ]
        ),
    ),
    ("polygamma", 2): (
        np.array([1.0, 2.0, 0.5, -0.5]),
        lambda x: -2 * 1.202056903159594 * np.array([1, 1, 7, 7]) + np.array([0, 2, 0, 16]),
    ),
    ("polygamma", 3): (np.array([1.0, 0.5]), lambda x: np.pi**4 * np.array([1 / 15, 1])),
    ("bessel_i", 0): (
        np.array([0.0, 1.0, -1.0, 10.0]),
        lambda x: np.array([1, 1.2660658777520084, 1.2660658777520084, 2815.7166284662544]),
    ),
    ("bessel_i", 1): (
        np.array([0.0, 2.0, -2.0]),
        lambda x: np.array([0, 1.5906368546373291, -1.5906368546373291]),
    ),
}


@each_ending
@pytest.mark.parametrize(("name", "order"), CLOSED)
def test_closed_forms(floats: Sweeps, name: str, order: float, ending: str) -> None:
    x, function = CLOSED[name, order]
    tolerance = TOLERANCE[ending] * (10 if name == "sinc_slope" else 1)
    found = call(floats, name, ending, x, order)
    np.testing.assert_allclose(found, function(x), rtol=tolerance, atol=10 * tolerance)


@each_ending
def test_incomplete_gamma(floats: Sweeps, ending: str) -> None:
    tolerance = TOLERANCE[ending] * 10
    for a, wanted in ((1.0, -np.expm1(-X)), (0.5, [math.erf(math.sqrt(each)) for each in X])):
        x = X.astype(np.float32 if ending == "f32" else np.float64)
        operands = np.full(len(x), a), x, np.full(len(x), math.lgamma(a))
        np.testing.assert_allclose(floats(f"gamma_p_{ending}", *operands), wanted, rtol=tolerance)
    ends = np.array([0.0, np.inf, -1.0, np.nan])
    found = floats(f"gamma_p_{ending}", np.full(4, 2.0), ends, np.zeros(4))
    np.testing.assert_array_equal(found, [0.0, 1.0, np.nan, np.nan])


def test_the_slope_of_incomplete_gamma(floats: Sweeps) -> None:
    x = X[:6]  # beyond, gamma_p is cut off at 1
    for a in (0.5, 3.0, 40.0):
        sides = [
            floats("gamma_p_f64", np.full(6, b), x, np.full(6, math.lgamma(a)))
            for b in (a + 1e-6, a - 1e-6)
        ]
        slope = floats("gamma_p_slope_f64", np.full(6, a), x, np.full(6, math.lgamma(a)))
        np.testing.assert_allclose(slope, (sides[0] - sides[1]) / 2e-6, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("order", (1, 2, 5, 22))
def test_each_polygamma_is_the_slope_of_the_one_before(floats: Sweeps, order: int) -> None:
    x, step = np.array([0.7, 1.3, 2.5, 8.0, 30.0]), 1e-6
    if order < 22:
        sides = [call(floats, "polygamma", "f64", x + d, order) for d in (step, -step)]
        found = call(floats, "polygamma", "f64", x, order + 1)
        np.testing.assert_allclose(found, (sides[0] - sides[1]) / (2 * step), rtol=1e-7)
    zero = call(floats, "polygamma", "f64", np.zeros(1), order)
    np.testing.assert_array_equal(zero, np.inf * (-1) ** (order + 1))


def test_bessel_functions_of_large_numbers(floats: Sweeps) -> None:
    """They grow like exp(x) / sqrt(2 pi x) (1 + 1 / 8x + 9 / 128x² + 225 / 3072x³)."""
    x = np.array([100.0, 300.0, 700.0])
    near = 1 + 1 / (8 * x) + 9 / (128 * x**2) + 225 / (3072 * x**3)
    wanted = np.exp(x) / np.sqrt(2 * np.pi * x) * near
    np.testing.assert_allclose(call(floats, "bessel_i", "f64", x, 0), wanted, rtol=1e-8)
    ends = call(floats, "bessel_i", "f64", np.array([np.inf, -np.inf, np.nan]), 0)
    np.testing.assert_array_equal(ends, [np.inf, np.inf, np.nan])
