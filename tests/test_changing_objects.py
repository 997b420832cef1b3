"""Outside things that a text reads, by whatever way, may change between two calls: the next
gradient is that of the function as it is then, held against differences of what Python runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ad
from tests.reaching import asking, holding, others, texts
from tests.reaching.ways import WAYS

CASES = {**holding.CASES, **asking.CASES, **texts.CASES, **others.CASES}
X = np.array([0.7, 1.3])
#: Each change with two ways, of which one is an argument; together, every way.
ROWS = [
    (change, (("by_argument", *itertools.islice(itertools.cycle(WAYS), n, n + 1))))
    for n, change in enumerate(CASES)
]


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    ad.compile_info().clear()
    yield
    ad.compile_info().clear()


def differences(fn: Callable[..., Any], args: tuple) -> np.ndarray:
    steps = 1e-4 * np.eye(len(X))
    return np.array([(fn(X + step, *args) - fn(X - step, *args)) / 2e-4 for step in steps])


def assert_right(gradient: Any, fn: Any, args: tuple) -> np.ndarray:
    """The gradient is right, also when it is asked for again, which compiles nothing more."""
    expected = differences(fn, args)
    for _ in range(3):
        np.testing.assert_allclose(gradient(X, *args), expected, rtol=1e-5)
    before = len(ad.compile_info())
    gradient(X, *args)
    assert len(ad.compile_info()) == before
    return expected


@pytest.mark.parametrize("change, ways", ROWS, ids=[row[0] for row in ROWS])
def test_a_change(change: str, ways: tuple[str, ...]) -> None:
    for way in ways:
        held, read, happen = CASES[change]()
        fn, args = WAYS[way](held, read)
        gradient = ad.grad(fn)
        before = assert_right(gradient, fn, args)
        happen(held)
        after = assert_right(gradient, fn, args)
        if change != "array of another type":
            assert not np.allclose(before, after)
