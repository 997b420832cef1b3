"""Exit conditions: a break ends a loop by its test; a flag stays only if it is read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, pipeline


@pytest.fixture(autouse=True)
def _verified(monkeypatch):
    monkeypatch.setattr(pipeline, "VERIFY", True)


def at_the_end(x, n):
    for _ in range(n):
        x = x * x
        if x.sum() > 3.0:
            break
    return x


def at_the_beginning(x, n):
    k = 0
    while k < n:
        if x.sum() > 3.0:
            break
        x = x * x + 0.1 * k
        k += 1
    return x * k


def two_ways_out(x, n):
    for i in range(n):
        if x.sum() > 3.0:
            break
        x = x * x
        if x.max() < 0.1 * i:
            break
    return x


def read_afterwards(x, n):
    for _ in range(n):
        x = x * x
        if x.sum() > 3.0:
            break
    else:
        x = x + 1.0
    return x


def returned_from(x, n):
    for i in range(n):
        x = x * x
        if x.sum() > 3.0:
            return x * i
    return x


@pytest.mark.parametrize(
    ("fn", "flag"),
    [
        (at_the_end, False),
        (at_the_beginning, False),
        (two_ways_out, True),
        (read_afterwards, True),
        (returned_from, True),
    ],
)
def test_the_loop_ends_where_it_did(fn: Callable, flag: bool) -> None:
    source = ms.gradient_source(fn, "f64[3]", "int")
    assert ("= True" in source) == flag
    slope = ms.grad(fn)
    curve = ms.grad(lambda x, n: slope(x, n))
    for start in (0.4, 1.04, 1.2, 2.0):
        x = start * np.array([1.0, 0.9, 1.1])
        for n in (0, 1, 4):
            value = ms.jit(fn)(Tensor(x), n).asnumpy()
            np.testing.assert_allclose(value, fn(Tensor(x), n).asnumpy(), rtol=1e-14)
            for first, second in ((fn, slope), (slope, curve)):
                found = second(Tensor(x), n).asnumpy()
                np.testing.assert_allclose(found, differences(first, x, n), rtol=1e-6, atol=1e-6)


def differences(fn: Callable, x: np.ndarray, n: int) -> np.ndarray:
    """Returns the gradient of the sum of the results of ``fn``."""
    ends = [
        [fn(Tensor(x + step * unit), n).asnumpy().sum() for unit in np.eye(3)]
        for step in (1e-6, -1e-6)
    ]
    return np.subtract(*ends) / 2e-6
