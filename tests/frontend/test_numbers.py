"""Plain functions of Python numbers, real and complex: as exact as NumPy, to the second order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import pipeline


@pytest.fixture(autouse=True)
def _verified(monkeypatch):
    monkeypatch.setattr(pipeline, "VERIFY", True)


def squared_in_a_loop(x, n=3):
    z = x * (0.3 + 1j)
    for _ in range(n):
        z = z * z + x * 0.5j
    return np.abs(z)


def on_either_way(x):
    z = x * (0.3 + 1j)
    if x > 0.1:
        z = z * z * np.exp(1j * x)
    else:
        z = z * 2.0
    return np.real(z) * np.imag(z)


def conjugated(x):
    z = np.exp(x * (0.3 + 1j)) / (2.0 + 1j)
    return abs(np.conj(z) * z + z) + np.angle(z) * z.real - z.imag


def chosen(x):
    return np.where(x > 0.1, x * x, 0.5 * x) + np.maximum(x, 0.3) ** 1.5


def power(x):
    return x**x + np.power(x, 1.7) + x % 0.23


def in_a_row(x):
    s = x
    for k in range(1, 4):
        s = np.sin(s) * x / k
    return np.sum(s * np.array([1.0, 2.0])) + s


@pytest.mark.parametrize(
    "fn", [squared_in_a_loop, on_either_way, conjugated, chosen, power, in_a_row]
)
@pytest.mark.parametrize("x", [0.37, 0.81])
def test_numbers_keep_their_digits(fn: Callable, x: float) -> None:
    slope = ms.grad(fn)
    curve = ms.grad(lambda x: slope(x) * 1.0)
    np.testing.assert_allclose(ms.jit(fn)(x), fn(x), rtol=1e-14)
    for first, second in ((fn, slope), (slope, curve)):
        expected = (first(x + 1e-6) - first(x - 1e-6)) / 2e-6
        assert np.isrealobj(second(x)) and np.shape(second(x)) == ()
        np.testing.assert_allclose(second(x), expected, rtol=1e-7, atol=1e-8)
    # A 0-d array runs through the same text with other types.
    np.testing.assert_allclose(slope(np.array(x)), slope(x), rtol=1e-13)


def test_the_gradient_of_a_number_taken_inside_is_a_double() -> None:
    """A value computed from it has NumPy's dtype."""

    def weighted(x, a):
        return ms.grad(lambda x: np.sum(np.sin(x * np.array([1.0, 2.0]))))(x) * a

    a = np.array([0.5, -1.0], np.float32)
    value = (np.cos(0.3) + 2 * np.cos(0.6)) * a
    found = ms.jit(weighted)(0.3, a)
    assert found.dtype == weighted(0.3, a).dtype == np.float64
    np.testing.assert_allclose(found, value, rtol=1e-14)
    by_x, by_a = ms.grad(weighted, (0, 1))(0.3, a)
    assert by_a.dtype == np.float32
    np.testing.assert_allclose(by_x, (np.sin(0.3) + 4 * np.sin(0.6)) * 0.5, rtol=1e-14)
    np.testing.assert_allclose(by_a, np.full(2, np.cos(0.3) + 2 * np.cos(0.6)), rtol=1e-6)


@pytest.mark.parametrize(
    ("of_numpy", "by_hand"),
    [
        (lambda x: np.real(np.exp(x * 1j)), lambda x: -np.sin(x)),
        (lambda x: np.imag(np.exp(x * 1j)), lambda x: np.cos(x)),
        (lambda x: np.angle(np.exp(x * 1j)), lambda x: np.ones_like(x)),
        (lambda x: (np.conj(np.exp(x * 1j)) * 1j).real, lambda x: np.cos(x)),
    ],
)
def test_the_parts_of_complex_arrays(of_numpy: Callable, by_hand: Callable) -> None:
    x = np.array([0.3, -1.1])
    np.testing.assert_allclose(ms.jit(of_numpy)(x), of_numpy(x), rtol=1e-14)
    np.testing.assert_allclose(ms.grad(of_numpy)(x), by_hand(x), rtol=1e-14)
