"""Calls inside calls: chains of different functions compile, recursion without end is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.cost_model import changed_costs, costs
from autodiff_compiler.errors import UnsupportedSyntax
from tests.test_long_texts import made


def chain(count: int) -> Any:
    """Return the first of ``count + 1`` functions, each of which calls the next."""
    names = ["f", *(f"f{k}" for k in range(1, count + 1))]
    calls = [
        f"def {name}(x):\n    return {following}(x * 1.001) + 0.5\n"
        for name, following in zip(names, names[1:])
    ]
    return made("\n".join([*calls, f"def {names[-1]}(x):\n    return np.sin(x)\n"]))


def up(x, n):
    return up(x * 1.5, n + 1)


def ping(x, n):
    return pong(x * 2.0, n + 1)


def pong(x, n):
    return ping(x * 0.5, n + 1)


def listed(x, items):
    return listed(x, items + [1])


def twice(x, n):
    return twice(x, n + 1) + twice(x, n + 2)


def inner(x):
    def again(y, seen):
        return again(y * 2.0, seen + (1,))

    return again(x, ())


class Tower:
    def __init__(self, floor):
        self.floor = floor

    def climb(self, x):
        return Tower(self.floor + 1).climb(x * 2.0)


def down(x, n):
    return np.sin(x) if n == 0 else down(x * 1.001, n - 1)


ENDLESS = {
    "up": lambda x: up(x, 0),
    "ping": lambda x: ping(x, 0),
    "listed": lambda x: listed(x, []),
    "twice": lambda x: twice(x, 0),
    "again": inner,
    "climb": lambda x: Tower(0).climb(x),
    "down": lambda x: down(x, costs().deep_recursion_calls + 50),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("count", [60, 200])
def test_a_chain_of_different_functions_compiles(count: int) -> None:
    factor = 1.001**count
    value, slope = ms.value_and_grad(chain(count))(0.5)
    np.testing.assert_allclose(value, np.sin(0.5 * factor) + 0.5 * count, rtol=1e-12)
    np.testing.assert_allclose(slope, np.cos(0.5 * factor) * factor, rtol=1e-12)


def test_a_longer_chain_is_refused_as_what_it_is() -> None:
    with changed_costs(nested_calls=90), pytest.raises(UnsupportedSyntax) as caught:
        ms.grad(chain(91))(0.5)
    text = str(caught.value)
    assert "calls are nested too deeply" in text and "more than 90 " in text
    assert "'f90'" in text and "return f90(x * 1.001) + 0.5" in text
    assert "itself" not in text and "recursion" not in text


@pytest.mark.thorough
@pytest.mark.parametrize("name", ENDLESS)
def test_recursion_without_an_end_is_refused_where_it_calls_itself(name: str) -> None:
    calls = costs().deep_recursion_calls if name == "up" else 70
    with changed_costs(deep_recursion_calls=calls), pytest.raises(UnsupportedSyntax) as caught:
        ms.grad(ENDLESS[name])(0.5)
    (problem,) = caught.value.problems
    assert "calls itself too deeply" in problem.cause and f"'{name}'" in problem.cause
    assert f"{name}(" in problem.span.text and "while" in problem.cure


@pytest.mark.thorough
def test_recursion_that_ends_in_time_is_written_out() -> None:
    factor = 1.001**180
    slope = ms.grad(lambda x: down(x, 180))(0.5)
    np.testing.assert_allclose(slope, np.cos(0.5 * factor) * factor, rtol=1e-12)


def test_recursion_that_always_comes_again_never_ends() -> None:
    def again(x):
        return again(x * 2.0)

    with pytest.raises(UnsupportedSyntax, match="this recursion never ends"):
        ms.grad(again)(0.5)
