"""Outlining: deeply nested branches become functions, with the same values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from tests.test_long_texts import made


def returns(count: int) -> str:
    tests = "".join(
        f"    if x[0] > {count - k}.5:\n        return np.sum(x * x * {k}.5)\n"
        for k in range(count)
    )
    return f"def f(x):\n{tests}    return np.sum(x)\n"


def elifs(count: int) -> str:
    tests = "".join(
        f"    elif x[0] > {count - k}.5:\n        y = x * x * {k}.5\n" for k in range(count)
    )
    return f"def f(x):\n    if x[1] > 9.0:\n        y = x\n{tests}    else:\n        y = x\n" + (
        "    return np.sum(y)\n"
    )


def conditionals(count: int) -> str:
    tests = " ".join(f"x * x * {k}.5 if x[0] > {count - k}.5 else" for k in range(count))
    return f"def f(x):\n    return np.sum({tests} x)\n"


def states(count: int) -> str:
    """Each level changes what the next one reads: names, and items in place."""
    tests = "".join(
        f"    if x[0] > {count - k}.5:\n        return np.sum(y * x)\n"
        f"    y = y * 0.9 + x\n    y[{k % 3}] = y[{(k + 1) % 3}] * 0.5\n"
        for k in range(count)
    )
    return f"def f(x):\n    y = x * 1.0\n{tests}    return np.sum(y * x)\n"


CHAINS = [returns, elifs, conditionals, states]


def differences(f: Callable[[Any], Any], x: Any) -> Any:
    steps = np.eye(3) * 1e-5
    return np.array([(f(x + step) - f(x - step)) / 2e-5 for step in steps])


@pytest.mark.thorough
@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize("chain", CHAINS)
def test_each_way_of_a_deep_chain_has_its_gradient(chain: Any, level: int) -> None:
    f = made(chain(80))
    before = ms.get_context("opt_level")
    ms.set_context(opt_level=level)
    try:
        gradient = ms.grad(f)
        for first in (-3.0, 1.2, 23.7, 24.7, 25.7, 48.7, 56.7, 79.7, 100.0):
            x = np.array([first, 0.5, -0.25])
            np.testing.assert_allclose(gradient(x), differences(f, x), rtol=1e-6, atol=1e-6)
    finally:
        ms.set_context(opt_level=before)


@pytest.mark.thorough
@pytest.mark.parametrize("chain", CHAINS)
def test_its_second_derivative(chain: Any) -> None:
    f = made(chain(60))
    gradient = ms.grad(f)
    second = ms.grad(lambda x: np.sum(gradient(x) * np.array([1.0, 2.0, 3.0])))
    for first in (-3.0, 24.7, 36.7, 100.0):
        x = np.array([first, 0.5, -0.25])

        def weighed(at: Any) -> Any:
            return np.sum(gradient(at) * np.array([1.0, 2.0, 3.0]))

        np.testing.assert_allclose(second(x), differences(weighed, x), rtol=1e-6, atol=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("chain", [returns, elifs, conditionals])
def test_source_grows_with_the_chain(chain: Any) -> None:
    few, some, many = (len(ms.gradient_source(made(chain(n)), "f64[3]")) for n in (48, 96, 192))
    assert (many - some) / (some - few) < 2.2, (few, some, many)


def test_an_exception_deep_inside_reaches_the_caller() -> None:
    text = elifs(80).replace("else:\n        y = x\n", "else:\n        raise ValueError('low')\n")
    gradient = ms.grad(made(text))
    with pytest.raises(ValueError, match="low"):
        gradient(np.array([-3.0, 0.5, -0.25]))
    np.testing.assert_allclose(gradient(np.array([30.7, 0.5, -0.25])), 101 * np.array(
        [30.7, 0.5, -0.25]))  # fmt: skip


def test_branches_that_are_not_deep_stay_where_they_are() -> None:
    assert "_from_line_" not in ms.gradient_source(made(elifs(20)), "f64[3]")
