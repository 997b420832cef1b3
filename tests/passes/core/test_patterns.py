"""Operations that rules leave alone: signs of narrow integers, and zeros that broadcast others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms


def added(x: Any, v: Any) -> Any:
    return x + -v


def taken(x: Any, v: Any) -> Any:
    return -v - -x


def multiplied(x: Any, v: Any) -> Any:
    return -x * -v


def lowered_in_place(x: Any, v: Any) -> Any:
    y = x.copy()
    y[1] -= v
    return y


def lowered_by_number(x: Any, v: Any) -> Any:
    y = x.copy()
    y[1] = y[1] - 1
    return y + v


def added_at(x: Any, v: Any) -> Any:
    y = x.copy()
    np.add.at(y, 1, -v)
    return y


@pytest.mark.parametrize(
    "function", [added, taken, multiplied, lowered_in_place, lowered_by_number, added_at]
)
@pytest.mark.parametrize(
    ("wide", "narrow"),
    [("int32", "uint8"), ("int64", "int8"), ("float32", "uint16"), ("uint8", "uint8")],
)
def test_signs_of_narrow_integers(function: Callable[..., Any], wide: str, narrow: str) -> None:
    """Against NumPy: in a byte the negative of 1 is 255, and -128 is its own."""
    x = np.arange(2, 8).reshape(2, 3).astype(wide)
    v = np.array([1, 128, 3]).astype(narrow)
    np.testing.assert_array_equal(ms.jit(function)(x, v), function(x, v), strict=True)


def less_zeros(x: Any, y: Any) -> Any:
    return x - ms.ops.zeros_like(y)


def plus_zeros(x: Any, y: Any) -> Any:
    return ms.ops.zeros_like(y) + x


@pytest.mark.parametrize("function", [less_zeros, plus_zeros])
def test_zeros_of_unknown_size_may_broadcast_an_operand(
    function: Callable[..., Any],
) -> None:
    space: dict[str, Any] = {}
    exec(ms.gradient_source(function), space)
    x = np.array([1.5, -2.0])
    forward, backward = (space[f"{function.__name__}_{half}"] for half in ("forward", "backward"))
    slope = backward(forward(x, np.ones((3, 2))))
    np.testing.assert_array_equal(slope, [3.0, 3.0])


def spread(x: Any, g: Any) -> Any:
    return (x * g + ms.ops.sin(x) * g + x / (g * g)).sum()


def test_ones_in_a_derivative_become_a_broadcast_of_the_product() -> None:
    x, g = np.arange(6.0).reshape(2, 3), np.array([1.5, -2.0, 4.0])
    text = ms.gradient_source(spread, ms.Tensor(x), ms.Tensor(g))
    assert "np.ones" not in text, text
    slope = ms.ops.GradOperation()(spread)(ms.Tensor(x), ms.Tensor(g)).asnumpy()
    np.testing.assert_allclose(slope, g + np.cos(x) * g + 1 / g**2, rtol=1e-14)
