"""The numbers of a formula are exact, and in the range of those that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.emit.c.formula import Formula, formula_for, formula_like

GIVEN = {
    "weights": np.linspace(-0.25, 0.25, 5000),
    "far from zero": 1e6 + np.linspace(0.0, 1e-3, 5000),
    "large": np.geomspace(1e-3, 1e30, 5000),
    "one value": np.full(5000, 0.1),
    "with gaps": np.array([np.nan, -np.inf, 2.5, -1.0, np.inf] * 1000),
    "not finite": np.full(5000, np.nan),
    "tiny": np.linspace(1e-310, 2e-310, 5000),
}


def scattered(size: int, seed: int) -> list[int]:
    """Computes with Python's integers."""
    return [(i * 2654435761 + seed * 40503) % 2**32 // 256 for i in range(size)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", GIVEN)
def test_floats_are_exact_and_in_range(name: str, dtype: str) -> None:
    array = GIVEN[name].astype(dtype)
    formula = formula_like(array, 7)
    numbers = formula.array(dtype, (100, 50))
    exact = [
        float(formula.low) + float(formula.step) * (k % formula.count) for k in scattered(5000, 7)
    ]
    np.testing.assert_array_equal(numbers.ravel().astype(np.float64), exact)
    finite = array[np.isfinite(array)]
    if finite.size:
        assert finite.min() <= numbers.min() and numbers.max() <= finite.max()
    if name in ("weights", "large", "with gaps"):
        assert np.ptp(numbers) > 0.99 * np.ptp(finite)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(-3, 7, dtype=np.int8),
        np.array([-(2**63), 5]),
        np.array([2**62, 2**62 + 1], np.uint64),
        np.array([4, 4]),
    ],
)
def test_integers_stay_in_range(array: np.ndarray) -> None:
    numbers = formula_like(array, 2).array(str(array.dtype), (9, 11))
    assert numbers.dtype == array.dtype
    assert array.min() <= numbers.min() and numbers.max() <= array.max()
    if int(array.max()) - int(array.min()) == 1:
        assert {*numbers.ravel().tolist()} == {*array.tolist()}


def test_numbers_without_an_example() -> None:
    floats = formula_for("float32", 1).array("float32", (1000,))
    assert 0.299 < floats.min() < 0.31 and 1.69 < floats.max() < 1.7
    assert {*formula_for("bool", 1).array("bool", (50,)).tolist()} == {False, True}
    assert {*formula_for("int32", 1).array("int32", (50,)).tolist()} == {0, 1}
    assert {*formula_like(np.array([True, True]), 1).array("bool", (5,)).tolist()} == {True}
    assert formula_like(np.array([2**63], np.uint64), 3) == Formula(0, 1, 2, 3)
