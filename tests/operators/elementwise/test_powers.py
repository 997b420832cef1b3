"""Derivatives of powers over the whole range: at powers of two they are exact numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from autodiff_compiler import grad, jvp

#: Exponents in quarters, and the powers of two they are taken of: each result is one as well.
QUARTERS = (-18, -12, -9, -8, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 20)
ENDS = {"float64": (-1072, 1024), "float32": (-148, 128)}
UNITS = {"float64": 2e-15, "float32": 1e-6}


def _cases(dtype: str) -> tuple[np.ndarray, np.ndarray, list[Fraction]]:
    """Return bases, exponents and exact slopes, of which the dtype holds each."""
    info = np.finfo(dtype)
    least, largest = Fraction(float(info.smallest_normal)), Fraction(float(info.max))
    bases, exponents, slopes = [], [], []
    for twos in range(*ENDS[dtype], 4):
        for quarters in QUARTERS:
            y = Fraction(quarters, 4)
            slope = y * Fraction(2) ** int(twos * (y - 1))
            if least <= abs(slope) <= largest:
                bases.append(float(Fraction(2) ** twos))
                exponents.append(float(y))
                slopes.append(slope)
    return np.array(bases, dtype), np.array(exponents, dtype), slopes


def _close(found: np.ndarray, exact: list[Fraction], dtype: str) -> None:
    assert found.dtype == dtype
    assert np.isfinite(found).all()
    off = [abs(Fraction(float(each)) - right) / abs(right) for each, right in zip(found, exact)]
    assert max(off) <= UNITS[dtype]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
class TestSlopes:
    """The slope by the base is right wherever the dtype holds it, be the value what it may."""

    def test_of_exponents_in_an_array(self, dtype: str) -> None:
        x, y, exact = _cases(dtype)
        _close(grad(lambda x, y: np.sum(x**y))(x, y), exact, dtype)
        _close(jvp(lambda x: np.power(x, y), (x,), (np.ones_like(x),))[1], exact, dtype)

    def test_of_exponents_in_the_text(self, dtype: str) -> None:
        x, y, exact = _cases(dtype)
        for each in np.unique(y):
            power = float(each)
            here = [k for k in range(len(x)) if y[k] == each]
            found = grad(lambda x, power=power: np.sum(x**power))(x[here])
            _close(found, [exact[k] for k in here], dtype)

    def test_of_negative_bases(self, dtype: str) -> None:
        x, y, exact = _cases(dtype)
        whole = [k for k in range(len(x)) if y[k] == round(y[k])]
        x, y = -x[whole], y[whole]
        right = [exact[k] * (-1) ** int(y[n] - 1) for n, k in enumerate(whole)]
        _close(grad(lambda x, y: np.sum(x**y))(x, y), right, dtype)

    def test_too_large_is_infinite(self, dtype: str) -> None:
        least = np.full(4, np.finfo(dtype).smallest_subnormal, dtype)
        y = np.array([-3.0, -0.5, -1.0, -2.0], dtype)
        by_x, by_y = grad(lambda x, y: np.sum(x**y), (0, 1))(least, y)
        assert (by_x == -np.inf).all()
        assert (by_y[[0, 2, 3]] == -np.inf).all() and by_y[1] < -1e20

    def test_at_zero(self, dtype: str) -> None:
        x = np.zeros(7, dtype)
        y = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0], dtype)
        by_x, by_y = grad(lambda x, y: np.sum(x**y), (0, 1))(x, y)
        assert by_x.tolist() == [-np.inf, -np.inf, 0.0, np.inf, 1.0, 0.0, 0.0]
        assert by_y.tolist() == [-np.inf, -np.inf, 0.0, 0.0, 0.0, 0.0, 0.0]
        assert grad(lambda y: np.sum(0.0**y))(y).tolist() == by_y.tolist()
        for place, power in enumerate(y.tolist()):
            found = grad(lambda x, power=power: np.sum(x**power))(x)
            assert set(found.tolist()) == {by_x[place]}

    def test_second_derivatives(self, dtype: str) -> None:
        """At the ends of the range, where the first factors overflow."""
        x, y = np.array([1e-30, 1e30, 1e-20], dtype), np.array([-0.125, 2.0, 0.25], dtype)
        wide, power = x.astype("float64"), y.astype("float64")
        found = grad(lambda x, y: np.sum(grad(lambda x: np.sum(x**y))(x)), (0, 1))(x, y)
        by_x = power * (power - 1) * wide ** (power - 2)
        by_y = wide ** (power - 1) * (1 + power * np.log(wide))
        for ours, right in zip(found, (by_x, by_y)):
            fits = np.abs(right) < np.finfo(dtype).max
            assert np.allclose(ours[fits], right[fits], rtol=1e-5 if dtype == "float32" else 1e-12)
            assert (ours[~fits] == np.copysign(np.inf, right[~fits])).all()


def test_the_slope_of_fmod_by_its_divisor_is_the_whole_number_that_it_took() -> None:
    x, y = np.array([700.0, 1e5, -700.0, 1e-22, 5.0]), np.array([1e-5, 1e-5, 1e-5, 1e-30, 2.0])
    exact = [-int(Fraction(a) / Fraction(b)) for a, b in zip(x.tolist(), y.tolist())]
    assert grad(lambda x, y: np.sum(np.fmod(x, y)), 1)(x, y).tolist() == exact


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_slope_of_the_power_0_is_0_for_negative_bases_of_every_size(dtype: str) -> None:
    info = np.finfo(dtype)
    sizes = [info.smallest_subnormal, info.tiny / 4, info.tiny, 0.5, 1.0, 3.0, info.max, np.inf]
    x = -np.array(sizes, dtype)
    with np.errstate(all="ignore"):
        found = grad(lambda x, y: np.sum(x**y))(x, np.zeros(len(x), dtype))
        twice = grad(lambda x, y: np.sum(grad(lambda x: np.sum(x**y))(x)))(x, 0.0 * np.isnan(x))
    np.testing.assert_array_equal(found, np.zeros(len(x)))
    np.testing.assert_array_equal(twice, np.zeros(len(x)))
