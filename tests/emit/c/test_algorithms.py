"""Algorithms in C: orders, places, solutions and determinants are those of NumPy."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.emit.c.algorithms import ALGORITHMS, algorithm_lines, words_of
from autodiff_compiler.emit.c.expressions import C_TYPES
from autodiff_compiler.emit.c.library import FUNCTIONS, functions_for
from autodiff_compiler.ir.types import SHORT
from autodiff_compiler.runtime.native import Compiler
from autodiff_compiler.runtime.native.build import build

Run = Callable[..., bool]
DRAW = np.random.default_rng(5)
SIZES = (0, 1, 2, 3, 15, 16, 17, 32, 33, 47, 100, 1000)
FLOATS = ("float32", "float64")
TOLERANCE = {"float32": 2e-4, "float64": 1e-9}


@pytest.fixture(scope="module")
def run(c_compiler: Compiler) -> Run:
    """Runs an algorithm on integers and arrays, which it may change; the result is its own."""
    lines = [functions_for(FUNCTIONS.keys() & words_of(ALGORITHMS)), *algorithm_lines(ALGORITHMS)]
    text = "\n".join(["#include <stdint.h>", *lines])
    for kind in ("void", "_Bool"):
        text = text.replace(f"\nstatic {kind} ", f"\n{kind} ")
    library = build(text, c_compiler)

    def call(name: str, *operands: Any) -> bool:
        arrays = [each for each in operands if isinstance(each, np.ndarray)]
        assert all(each.flags.c_contiguous for each in arrays)
        floats = [each for each in arrays if each.dtype.kind == "f"]
        short = SHORT[str([*arrays, *floats][-1].dtype)]
        types = [
            ctypes.c_void_p if isinstance(each, np.ndarray) else ctypes.c_int64 for each in operands
        ]
        function = ctypes.CFUNCTYPE(ctypes.c_bool, *types)(library.address(f"{name}_{short}"))
        given = [each.ctypes.data if isinstance(each, np.ndarray) else each for each in operands]
        return bool(function(*given))

    return call


def elements(size: int, dtype: str) -> np.ndarray:
    """Elements of which many are equal; floats have NaN, infinities and both zeros, too."""
    if dtype == "bool":
        return DRAW.integers(0, 2, size) == 1
    if dtype.startswith("float"):
        special = [np.nan, np.inf, -np.inf, 0.0, -0.0, *DRAW.normal(size=4)]
        return DRAW.choice(special, size).astype(dtype)
    limits = np.iinfo(dtype)
    return DRAW.choice(np.array([limits.min, limits.max, 0, 1, 2, 7], dtype), size)


@pytest.mark.parametrize("dtype", C_TYPES)
def test_orders(dtype: str, run: Run) -> None:
    for size in SIZES:
        x = elements(size, dtype)
        order, spare = np.full(size, -1), np.empty(size, np.int64)
        run("argsort", size, 0, order, spare, x)
        np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))
        run("argsort", size, 1, order, spare, x)
        falling = (
            np.argsort(-x, kind="stable")
            if dtype.startswith("float")
            else np.array(sorted(range(size), key=lambda k: x[k], reverse=True), np.int64)
        )
        np.testing.assert_array_equal(order, falling)


@pytest.mark.parametrize("dtype", C_TYPES)
def test_places_in_a_sorted_row(dtype: str, run: Run) -> None:
    for size, count in itertools.product(SIZES[1:], (1, 50)):
        row, values = np.sort(elements(size, dtype)), elements(count, dtype)
        for side in ("left", "right"):
            places = np.full(count, -1)
            run("searchsorted", size, count, int(side == "right"), places, row, values)
            np.testing.assert_array_equal(places, np.searchsorted(row, values, side=side))


def pivots(size: int) -> np.ndarray:
    return np.empty(size, np.int64)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", (1, 2, 3, 5, 8, 21))
def test_regular_matrices(size: int, dtype: str, run: Run) -> None:
    for columns in (1, 4):
        x = DRAW.normal(size=(size, size)) + 2 * np.eye(size)[::-1]
        right = DRAW.normal(size=(size, columns))
        solution, given = right.astype(dtype), x.astype(dtype)
        tolerance = TOLERANCE[dtype] * np.linalg.cond(x)
        assert not run("solve", size, columns, solution, given, pivots(size))
        np.testing.assert_allclose(solution, np.linalg.solve(x, right), tolerance, tolerance)
    number, sign, logarithm = (np.empty((), dtype) for _ in range(3))
    run("det", size, number, x.astype(dtype), pivots(size))
    np.testing.assert_allclose(number, np.linalg.det(x), tolerance)
    run("slogdet", size, sign, logarithm, x.astype(dtype), pivots(size))
    np.testing.assert_allclose((sign, logarithm), np.linalg.slogdet(x), tolerance, tolerance)
    minors = np.empty((size, size), dtype)
    run("cofactors", size, minors, x.astype(dtype), pivots(size), pivots(size))
    np.testing.assert_allclose(minors, by_minors(x), tolerance, tolerance)


def by_minors(x: np.ndarray) -> np.ndarray:
    """Returns the signed minors by their definition."""
    result = np.empty_like(x)
    for i, j in np.ndindex(*x.shape):
        rest = np.delete(np.delete(x, i, 0), j, 1)
        result[i, j] = (-1) ** (i + j) * np.linalg.det(rest)
    return result


SINGULAR = {
    "zeros": np.zeros((3, 3)),
    "zero": np.zeros((1, 1)),
    "equal rows": np.array([[1.0, 2.0, 4.0], [1.0, 2.0, 4.0], [0.0, 1.0, -1.0]]),
    "rank one": np.outer([1.0, 2.0, 4.0], [0.5, -1.0, 2.0]),
    "a column of zeros": np.array([[1.0, 0.0], [2.0, 0.0]]),
    "rank two of four": np.kron(np.ones((2, 2)), np.array([[1.0, 2.0], [0.0, 1.0]])),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_singular_matrices(name: str, run: Run) -> None:
    x = SINGULAR[name]
    size = len(x)
    assert run("solve", size, 1, np.ones((size, 1)), x.copy(), pivots(size))
    number, sign, logarithm = np.empty(()), np.empty(()), np.empty(())
    run("det", size, number, x.copy(), pivots(size))
    run("slogdet", size, sign, logarithm, x.copy(), pivots(size))
    assert (number, sign, logarithm) == (0, 0, -np.inf)
    minors = np.empty((size, size))
    run("cofactors", size, minors, x.copy(), pivots(size), pivots(size))
    np.testing.assert_allclose(minors, by_minors(x), 1e-12, 1e-12)


@pytest.mark.parametrize("name", [*SINGULAR, "regular"])
def test_slopes_of_minors(name: str, run: Run) -> None:
    x = SINGULAR.get(name, np.array([[1.0, 2.0], [-3.0, 0.5]]))
    size, along = len(x), DRAW.normal(size=x.shape)
    slope = np.empty((size, size))
    run("cofactors_slope", size, slope, x.copy(), along.copy(), pivots(size), pivots(size))
    wanted = (by_minors(x + 1e-6 * along) - by_minors(x - 1e-6 * along)) / 2e-6
    np.testing.assert_allclose(slope, wanted, 1e-7, 1e-7)


@pytest.mark.parametrize(
    "diagonal",
    ((1e200, 1e200, 1e-200, 1e-200), (1e-300, 1e-300, 1e300, 1e300), (1e300, -3.0), (np.inf, 2.0)),
)
def test_a_determinant_overflows_only_if_it_is_large(diagonal: Any, run: Run) -> None:
    x, number = np.diag(diagonal), np.empty(())
    run("det", len(x), number, x, pivots(len(x)))
    sign, size = np.prod(np.sign(diagonal)), np.exp(np.sum(np.log(np.abs(diagonal))))
    np.testing.assert_allclose(number, sign * size, 1e-12)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", (1, 2, 3, 8, 21))
def test_cholesky_factors(size: int, dtype: str, run: Run) -> None:
    half = DRAW.normal(size=(size, size + 2))
    x = half @ half.T
    factor = x.astype(dtype) + np.triu(np.full(x.shape, 9, dtype), 1)  # that half is not read
    assert not run("cholesky", size, factor)
    tolerance = TOLERANCE[dtype] * np.linalg.cond(x)
    np.testing.assert_allclose(factor, np.linalg.cholesky(x), tolerance, tolerance)


@pytest.mark.parametrize("x", (-1.0, 0.0))
def test_no_cholesky_factor(x: float, run: Run) -> None:
    matrix = np.diag([1.0, x, 1.0])
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(matrix)
    assert run("cholesky", 3, matrix)
