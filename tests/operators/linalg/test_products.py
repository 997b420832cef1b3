"""Products with factors of which only the run knows whether they are vectors, matrices or more.

A branch makes the factor one or the other; the gradient is that of the function without a branch,
by differences, whichever way the run goes.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from autodiff_compiler import grad, jvp
from tests.differences import by_differences

DRAW = np.random.default_rng(3)
FACTORS = {
    "vector": DRAW.normal(size=3),
    "matrix": DRAW.normal(size=(3, 3)),
    "matrices": DRAW.normal(size=(2, 3, 3)),
}


def product(a, b):
    return np.sum(np.sin(np.matmul(a, b)))


def left_chosen(a, other, b, take):
    if take > 0.0:
        a = other
    return np.sum(np.sin(a @ b))


def right_chosen(a, b, other, take):
    if take > 0.0:
        b = other
    return np.sum(np.sin(np.matmul(a, b)))


def both_chosen(a, b, take):
    if take > 0.0:
        a, b = b, a
    return np.sum(np.sin(a @ b))


PAIRS = list(itertools.product(FACTORS, FACTORS))


@pytest.mark.parametrize(("left", "right"), PAIRS)
@pytest.mark.parametrize("other", FACTORS)
@pytest.mark.parametrize("take", [0.0, 1.0])
def test_a_chosen_left_factor(left: str, other: str, right: str, take: float) -> None:
    a, spare, b = FACTORS[left], FACTORS[other] + 0.1, FACTORS[right]
    taken = spare if take else a
    got = grad(left_chosen, (0, 1, 2))(a, spare, b, take)
    of_taken, of_left = got[int(take)], got[1 - int(take)]
    np.testing.assert_allclose(of_taken, by_differences(product, 0, (taken, b)), atol=1e-8)
    np.testing.assert_allclose(got[2], by_differences(product, 1, (taken, b)), atol=1e-8)
    assert not of_left.any()
    assert [d.shape for d in got] == [a.shape, spare.shape, b.shape]


@pytest.mark.parametrize(("left", "right"), PAIRS)
@pytest.mark.parametrize("other", FACTORS)
@pytest.mark.parametrize("take", [0.0, 1.0])
def test_a_chosen_right_factor(left: str, other: str, right: str, take: float) -> None:
    a, b, spare = FACTORS[left], FACTORS[right], FACTORS[other] + 0.1
    taken = spare if take else b
    got = grad(right_chosen, (0, 1, 2))(a, b, spare, take)
    of_taken, of_left = got[1 + int(take)], got[2 - int(take)]
    np.testing.assert_allclose(got[0], by_differences(product, 0, (a, taken)), atol=1e-8)
    np.testing.assert_allclose(of_taken, by_differences(product, 1, (a, taken)), atol=1e-8)
    assert not of_left.any()
    assert [d.shape for d in got] == [a.shape, b.shape, spare.shape]


@pytest.mark.parametrize(("left", "right"), PAIRS)
@pytest.mark.parametrize("take", [0.0, 1.0])
def test_factors_that_change_places(left: str, right: str, take: float) -> None:
    a, b = FACTORS[left], FACTORS[right]
    first, second = (b, a) if take else (a, b)
    got = grad(both_chosen, (0, 1))(a, b, take)
    got = got[::-1] if take else got
    np.testing.assert_allclose(got[0], by_differences(product, 0, (first, second)), atol=1e-8)
    np.testing.assert_allclose(got[1], by_differences(product, 1, (first, second)), atol=1e-8)
    _, moved = jvp(lambda a, b: both_chosen(a, b, take), (a, b), (a, b))
    want = (got[0] * first).sum() + (got[1] * second).sum()
    np.testing.assert_allclose(moved, want, rtol=1e-7)


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_the_second_derivative(left: str, right: str) -> None:
    a, b = FACTORS[left], FACTORS[right]

    def slope(a, b):
        d_a, d_b = grad(both_chosen, (0, 1))(a, b, 0.0)
        return np.sum(d_a * np.cos(a)) + np.sum(d_b * b)

    got = grad(slope, (0, 1))(a, b)
    for place in (0, 1):
        want = by_differences(slope, place, (a, b))
        np.testing.assert_allclose(got[place], want, rtol=1e-6, atol=1e-7)
