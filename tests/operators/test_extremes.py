"""The bank of extreme cases against 50-digit values: results and gradients, in each dtype."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, ops
from tests.operators.extremes import CASES, Case
from tests.ops.test_kinks import function_of as of_text

EXACT = json.loads(Path(__file__).with_name("extremes.json").read_text(encoding="utf-8"))
ROWS = [
    pytest.param(case, exact[dtype], dtype, id=f"{number}-{dtype}-{case.ours}")
    for number, (case, exact) in enumerate(zip(CASES, EXACT, strict=True))
    for dtype in case.dtypes
]


def test_the_bank_is_whole() -> None:
    """The numbers belong to the cases; ``python -m benchmarks.exact`` makes them."""
    assert [row["case"] for row in EXACT] == [case.name for case in CASES]
    assert len(CASES) >= 40


def function_of(case: Case) -> Callable[..., Any]:
    """The case's text as a function."""
    return of_text(case.ours, len(case.inputs))


def weights_of(value: np.ndarray) -> np.ndarray:
    """The sensitivity of a result: 1, 1.5, 2 …"""
    return (1 + np.arange(value.size) % 8 / 2).reshape(value.shape).astype(value.dtype)


def errors(
    got: np.ndarray, exact: list[str], case: Case, dtype: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The numbers, what they should be as the dtype can hold it, and which are off by more than
    ``ulps``."""
    about = np.finfo(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = np.array([float(text) for text in exact]).astype(dtype).astype(float)
        found = np.ravel(got).astype(float)
        size = np.maximum(np.abs(wanted), case.floor)
        # What is denormal has fewer digits.
        allowed = case.ulps * np.maximum(size * float(about.eps), float(about.smallest_subnormal))
        near = np.isfinite(wanted) & (np.abs(found - wanted) <= allowed)
    return found, wanted, ~(near | (found == wanted))


@pytest.mark.parametrize(("case", "exact", "dtype"), ROWS)
def test_value_and_gradients(case: Case, exact: dict[str, Any], dtype: str) -> None:
    function = function_of(case)
    inputs = [Tensor(np.array(row, dtype)) for row in case.inputs]
    value = function(*inputs).asnumpy()
    gradient = ops.GradOperation(get_all=True, sens_param=True)(function)
    with np.errstate(all="ignore"):
        slopes = gradient(*inputs, Tensor(weights_of(value)))
    rows = [exact["value"], *exact["gradients"]]
    for got, row in zip([value, *(slope.asnumpy() for slope in slopes)], rows, strict=True):
        found, wanted, wrong = errors(got, row, case, dtype)
        assert got.dtype == dtype
        assert not wrong.any(), (found, wanted)


@pytest.mark.parametrize("count", [70000])
def test_many_halves_are_summed_in_single_precision(count: int) -> None:
    """Their exponentials add up to more than float16 holds."""
    zeros = Tensor(np.zeros(count, np.float16))
    total = ops.logsumexp(zeros, 0).asnumpy()
    assert total.dtype == np.float16 and total == np.float16(np.log(count))
    shares = ops.softmax(zeros).asnumpy()
    assert shares.dtype == np.float16 and (shares == np.float16(1 / count)).all()
    logs = ops.log_softmax(zeros).asnumpy()
    assert (logs == np.float16(-np.log(count))).all()
    spread = ops.var(Tensor(np.where(np.arange(count) % 2, 10, -10).astype(np.float16)))
    assert spread.asnumpy() == np.float16(100)
