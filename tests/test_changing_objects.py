"""Outside things that a text reads, by whatever way, may change between two calls: the next
gradient is that of the function as it is then, held against differences of what Python runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ad
from autodiff_compiler.common.context import SETTINGS
from autodiff_compiler.errors import CallError
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


def test_what_is_kept_on_disk_is_no_older(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are found by what they compute: a process that begins after a change finds none that
    was made before it."""
    monkeypatch.setitem(SETTINGS, "enable_compile_cache", True)
    monkeypatch.setitem(SETTINGS, "compile_cache_path", str(tmp_path))
    for change, ways in ROWS[::6]:
        held, read, happen = CASES[change]()
        fn, args = WAYS[ways[0]](held, read)
        assert_right(ad.grad(fn), fn, args)
        ad.compile_info().clear()  # as in a process that begins
        assert_right(ad.grad(fn), fn, args)
        assert all(unit.from_disk for unit in ad.compile_info().units)
        happen(held)
        ad.compile_info().clear()
        assert_right(ad.grad(fn), fn, args)


def whether_one(x: Any, y: Any) -> Any:
    return np.sum(x * (2.0 if x is y else 5.0))


def test_one_array_for_two_arguments() -> None:
    """The text asks whether they are one, and was compiled for arguments that are not."""
    gradient = ad.grad(whether_one)
    for _ in range(3):
        np.testing.assert_array_equal(gradient(X, 2 * X), [5.0, 5.0])
    with pytest.raises(
        CallError, match="the same object, and this call passes one object for both"
    ):
        gradient(X, X)
    np.testing.assert_array_equal(gradient(X, 2 * X), [5.0, 5.0])
