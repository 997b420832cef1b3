"""Sorting and medians in C: value and gradient are those of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.runtime.native import Compiler
from tests.differences import by_differences
from tests.loops.native import compiled, joint_gradient

DRAW = np.random.default_rng(2)
X, WEIGHTS = DRAW.normal(size=(3, 5, 4)), DRAW.normal(size=(3, 5, 4))


def sorted_rows(x: Any, w: Any) -> Any:
    return np.sum(np.sort(x) * w)


def sorted_columns(x: Any, w: Any) -> Any:
    return np.sum(np.sort(x, axis=0) * w) + np.sum(np.sort(x * w, axis=1) ** 2)


def medians(x: Any, w: Any) -> Any:
    return np.sum(np.median(x * w, axis=1) ** 2) + np.median(x)


@pytest.mark.parametrize(
    "program", (sorted_rows, sorted_columns, medians), ids=lambda program: program.__name__
)
def test_gradients(program: Callable[..., Any], c_compiler: Compiler) -> None:
    for shape in ((3, 5, 4), (1, 3, 2)):
        x, w = (each[: shape[0], : shape[1], : shape[2]].copy() for each in (X, WEIGHTS))
        call, _ = compiled(joint_gradient(program, (x, w), 2))
        value, *gradients = call(x, w)
        np.testing.assert_allclose(value, program(x, w), rtol=1e-12)
        for place, found in enumerate(gradients):
            wanted = by_differences(program, place, (x, w))
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)


def order_by_columns(w: Any, x: Any) -> Any:
    return np.sum(np.argsort(x, axis=0, kind="stable") * w)


def order_by_rows(w: Any, x: Any) -> Any:
    return np.sum(np.argsort(x, kind="stable") * w) + np.sum(np.sort(x, axis=0) * w)


@pytest.mark.parametrize("dtype", ("float32", "float64", "int16", "uint8", "bool"))
@pytest.mark.parametrize("rows", (0, 1, 40))
def test_equal_elements_stay_in_order(rows: int, dtype: str, c_compiler: Compiler) -> None:
    """The slope in the weights is the order."""
    x, w = DRAW.integers(0, 3, (rows, 3)).astype(dtype), np.ones((rows, 3))
    if rows == 40 and dtype.startswith("float"):
        x[5, 1] = x[7, 0] = np.inf
    call, _ = compiled(joint_gradient(order_by_columns, (w, x), 1))
    np.testing.assert_array_equal(call(w, x)[1], np.argsort(x, axis=0, kind="stable"))
    call, _ = compiled(joint_gradient(order_by_rows, (w, x), 1))
    wanted = np.argsort(x, kind="stable") + np.sort(x, axis=0)
    np.testing.assert_array_equal(call(w, x)[1], wanted)


def test_nan_is_last(c_compiler: Compiler) -> None:
    x = np.array([[np.nan, 1.0, np.nan, -np.inf, np.inf, 0.5]])
    call, _ = compiled(joint_gradient(order_by_rows, (np.ones(x.shape), x), 1))
    wanted = np.argsort(x, kind="stable") + np.sort(x, axis=0)
    np.testing.assert_array_equal(call(np.ones(x.shape), x)[1], wanted)
