"""An inner loop begins with the carries of its last lowering only where these still hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.testing.numeric import check_grads


def widened(x: np.ndarray, n: int) -> Any:
    """The inner loop first sees whole numbers, then what the outer one made of them."""
    count, total = 0, 0
    for _ in range(n):
        for _ in range(n):
            total = total + count
        count = count + x[0]
    return total


def grown(x: np.ndarray, n: int) -> Any:
    """The outer loop makes the array of the inner one larger."""
    y = x[:1]
    for _ in range(n):
        for _ in range(n):
            y = y * x[0]
        y = np.concatenate([y, x])
    return y.sum()


def swapped(x: np.ndarray, n: int) -> Any:
    """The outer loop swaps what the inner one changes in place."""
    a, b = x.copy(), x * 2.0
    for _ in range(n):
        for k in range(n):
            a[0] = a[0] * b[1]
            b[1] += k * a[2]
        a, b = b, a
    return (a * b).sum()


def optional(x: np.ndarray, n: int) -> Any:
    """The inner loop sets a variable in later iterations of the outer one only."""
    total = x.sum()
    for i in range(n):
        for _ in range(i):
            last = np.sin(total) * x[1]
        if i > 0:
            total = total * last
    return total


def listed(x: np.ndarray, n: int) -> Any:
    """The inner loop fills a new list each time; the outer one keeps a list of its own."""
    rows = []
    for _ in range(n):
        row = []
        for k in range(n):
            row.append(x * k)
        rows.append(row[-1] * row[0] + row[1])
    return sum(row.sum() for row in rows)


def twice(x: np.ndarray, n: int) -> Any:
    """One loop is lowered for two calls, whose arguments are different arrays."""

    def inner(y: np.ndarray, z: np.ndarray) -> np.ndarray:
        for _ in range(n):
            y[0] = y[0] * z[1]
        return y

    a = x.copy()
    for _ in range(n):
        b = inner(a, x)
        a = inner(x * 2.0, b)
    return (a * b).sum()


PROGRAMS: list[Callable[..., Any]] = [widened, grown, swapped, optional, listed, twice]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_values_and_gradients_are_those_of_python(program: Callable[..., Any]) -> None:
    x = np.array([0.5, 0.75, -0.25])
    value, _ = ms.value_and_grad(program)(x, 3)
    np.testing.assert_allclose(value, program(x.copy(), 3))
    check_grads(lambda array: program(array, 3), (x,))
