"""Special functions agree with values of many digits, which a script has written to a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.emit.c.library.samples import SLACK, WIDE, distance, farthest
from tests.emit.c.library.sweeps import Sweeps
from tests.emit.c.library.test_accuracy import check

FILE = Path(__file__).with_name("references.json")
REFERENCES = json.loads(FILE.read_text(encoding="utf-8"))
#: Units in the last place for positive numbers, and of max(1, |y|) below 0.
GAMMA_BOUNDS = {"lgamma": (2.0, 6.0), "digamma": (2.5, 8.0)}
NAN, INF = np.nan, np.inf
#: Values at special numbers.
LIMITS: dict[str, list[tuple[float, float]]] = {
    "erf": [(0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1), (NAN, NAN), (1e-40, 1.1283791671e-40)],
    "erfc": [(0, 1), (-0.0, 1), (INF, 0), (-INF, 2), (NAN, NAN), (30, 0), (-9, 2)],
    "erfinv": [(0, 0), (-0.0, -0.0), (1, INF), (-1, -INF), (NAN, NAN), (1.5, NAN), (-2, NAN)],
    "sinc": [(0, 1), (-0.0, 1), (INF, 0), (-INF, 0), (NAN, NAN), (1e-40, 1), (1e38, 0)],
    "lgamma": [(1, 0), (2, 0), (0, INF), (-0.0, INF), (-3, INF), (INF, INF), (-INF, INF)],
    "digamma": [(0, -INF), (-0.0, INF), (-3, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)],
}


def values(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns the points of a function and its exact values."""
    rows = np.array([[float.fromhex(each) for each in row] for row in REFERENCES[name]])
    return rows[:, 0], rows[:, 1].astype(WIDE) + rows[:, 2].astype(WIDE)


@pytest.mark.every_case
@pytest.mark.parametrize("name", ["erf", "erfc", "erfinv", "sinc"])
def test_special_functions(floats: Sweeps, name: str) -> None:
    x, exact = values(name)
    check(f"{name}_f64", floats(f"{name}_f64", x), exact, x)
    # Of the same points rounded: the slope tells the difference.
    single = x.astype(np.float32)
    double = floats(f"{name}_f64", single.astype(np.float64)).astype(WIDE)
    check(f"{name}_f32", floats(f"{name}_f32", single), double, single)


@pytest.mark.parametrize("name", GAMMA_BOUNDS)
def test_gamma_functions(floats: Sweeps, name: str) -> None:
    x, exact = values(name)
    result = floats(f"{name}_f64", x)
    above, below = GAMMA_BOUNDS[name]
    apart = np.where(x > 0, distance(result, exact), 0)
    assert apart.max() <= above + SLACK, farthest(apart, result, x)
    unit = np.finfo(np.float64).eps * np.maximum(1, np.abs(exact))
    apart = np.where(x < 0, np.abs(result - exact) / unit, 0).astype(np.float64)
    assert apart.max() <= below, farthest(apart, result, x)
    single = x[np.abs(x) < 1e30].astype(np.float32)
    with np.errstate(over="ignore"):
        expected = floats(f"{name}_f64", single.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(floats(f"{name}_f32", single), expected)


@pytest.mark.every_case
@pytest.mark.parametrize("ending", ["f32", "f64"])
@pytest.mark.parametrize("name", LIMITS)
def test_limits(floats: Sweeps, name: str, ending: str) -> None:
    x, expected = np.array(LIMITS[name]).T
    if ending == "f32":
        x, expected = x.astype(np.float32), expected.astype(np.float32)
    result = floats(f"{name}_{ending}", x)
    np.testing.assert_allclose(result, expected, rtol=1e-5 if ending == "f32" else 1e-10)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result)[is_number], np.signbit(expected)[is_number])
