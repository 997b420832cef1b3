"""Arrays with other operators or without numbers are refused wherever they enter: as an argument,
inside one, from outside, and as the data of a Tensor."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError

X = np.array([1.0, 2.0])


class Doubling(np.ndarray):
    """An array with another product."""

    def __mul__(self, other: Any) -> Any:
        return self + other


class Named(np.ndarray):
    """An array that computes as usual, and has a name besides."""

    name = "x"


class Column:
    """An object like a Series, which can be converted to an array."""

    def __init__(self, numbers: list[float]) -> None:
        self.numbers = numbers

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.numbers, dtype)


class Holder:
    """Holds an array as an attribute."""

    def __init__(self, array: Any) -> None:
        self.array = array


REFUSED = {
    "matrix": np.asmatrix([[1.0, 2.0]]),
    "masked": np.ma.array([1.0, 2.0], mask=[False, True]),
    "record": np.rec.array([(1.0, 2.0)], dtype=[("a", float), ("b", float)]),
    "subclass": X.view(Doubling),
    "structured": np.zeros(2, [("a", float)]),
    "object": np.array([1.0, 2.0], object),
    "string": np.array(["a", "b"]),
    "date": np.array(["2020-01-01", "2020-01-02"], "M8[D]"),
}


def ways(thing: Any) -> dict[str, Callable[[], Any]]:
    held = Holder(thing)
    return {
        "argument": lambda: ms.grad(lambda x: (x * x).sum())(thing),
        "second argument": lambda: ms.grad(lambda x, y: (x * y).sum())(X, thing),
        "inside an argument": lambda: ms.grad(lambda x, y: (x * y[0]).sum())(X, (thing,)),
        "captured": lambda: ms.grad(lambda x: (x * thing).sum())(X),
        "attribute": lambda: ms.grad(lambda x: (x * held.array).sum())(X),
        "to a function": lambda: ms.jit(lambda x: np.multiply(x, thing))(X),
    }


@pytest.mark.parametrize("way", ways(X))
@pytest.mark.parametrize("kind", REFUSED)
def test_such_an_array_is_refused_with_a_cure(kind: str, way: str) -> None:
    with pytest.raises(CompileError, match=r"(?s)(operators of a|arrays? of ).*cure: "):
        ways(REFUSED[kind])[way]()


@pytest.mark.parametrize("kind", REFUSED)
def test_no_tensor_is_made_of_such_an_array(kind: str) -> None:
    with pytest.raises(TypeError):
        ms.Tensor(REFUSED[kind])


@pytest.mark.parametrize("way", list(ways(X))[1:])
def test_an_array_of_another_library_is_refused_where_it_is_computed_with(way: str) -> None:
    with pytest.raises(
        CompileError, match=r"a Column is not supported in compiled code(?s:.*)np\.asarray"
    ):
        ways(Column([3.0, 4.0]))[way]()


@pytest.fixture
def series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns an object of an installed package: its module is in ``site-packages``."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "frames_of_others.py").write_text(LIBRARY, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module("frames_of_others").Series([3.0, 4.0])
    del sys.modules["frames_of_others"]


LIBRARY = """
import numpy as np

class Series:
    def __init__(self, numbers):
        self.numbers = numbers
    def __array__(self, dtype=None, copy=None):
        return np.array(self.numbers, dtype)
    def __mul__(self, other):
        return np.array(self.numbers) * other
    __rmul__ = __gt__ = __mul__
    def __getitem__(self, key):
        return self.numbers[key]
    @property
    def values(self):
        return np.array(self.numbers)
"""


def test_library_code_is_not_compiled_in_place_of_an_array(series: Any) -> None:
    uses = (lambda x: x * series, lambda x: series * x, lambda x: x * (series > x),
            lambda x: x * series.values, lambda x: x * series[0],
            lambda x: x * np.asarray(series), lambda x: np.concatenate([x, series]))  # fmt: skip
    for use in uses:
        with pytest.raises(
            CompileError, match="a Series is not supported in compiled code"
        ) as caught:
            ms.jit(use)(X)
        assert "test_refused_arrays.py" in str(caught.value)
        assert "called from" not in str(caught.value)


def test_code_compiled_for_an_array_is_not_run_on_a_matrix() -> None:
    gradient = ms.grad(lambda x: (x * x).sum())
    for _ in range(2):
        np.testing.assert_array_equal(gradient(np.ones((2, 2))), np.full((2, 2), 2.0))
        with pytest.raises(CompileError, match="the operators of a matrix"):
            gradient(np.asmatrix(np.ones((2, 2))))


@pytest.mark.parametrize("way", ways(X))
def test_a_subclass_that_computes_as_arrays_do_is_one(way: str) -> None:
    found, expected = ways(X.view(Named))[way](), ways(X)[way]()
    np.testing.assert_array_equal(np.asarray(found), expected)
