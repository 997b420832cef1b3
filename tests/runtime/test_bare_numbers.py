"""Gradients in arguments that are containers of Python numbers."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms


@pytest.mark.parametrize("given", [[1.0, 2.0], (1.0, 2.0)])
def test_a_gradient_in_a_list_of_numbers_is_a_list_of_gradients(given: list | tuple) -> None:
    gradient = ms.grad(lambda x: x[0] * x[1])
    for _ in range(3):
        assert gradient(given) == type(given)((2.0, 1.0))
    assert list(gradient(np.array(given))) == [2.0, 1.0]


def test_a_known_number_has_a_gradient_inside_a_source_function() -> None:
    """The gradient in x of x * x * y at x = 2, times z, is 4 * z.sum() * z."""

    def area(x, y):
        return x * x * y

    def scaled(z):
        return z * ms.grad(area, (1, 0))(2.0, z.sum())[1]

    np.testing.assert_array_equal(scaled(np.ones(3)), [12.0] * 3)
    np.testing.assert_array_equal(ms.grad(scaled)(np.ones(3)), [24.0] * 3)


def test_a_function_that_returns_false_runs_once(capsys: pytest.CaptureFixture) -> None:
    @ms.jit
    def is_large(x, k):
        print("ran")
        return k > 3.0

    for _ in range(4):
        assert is_large(np.ones(2, np.float32), 2.0) is False
        assert capsys.readouterr().out == "ran\n"


def test_a_size_is_made_known_and_the_differentiated_number_stays() -> None:
    """A count becomes a constant; the float beside it keeps its gradient."""

    def f(x, s, n):
        return np.sum(x * np.full(n, 0.3)) * s

    slope, rate = ms.grad(f, (0, 1))(np.ones(3), 0.5, 3)
    assert np.allclose(slope, 0.15) and np.isclose(rate, 0.9)
