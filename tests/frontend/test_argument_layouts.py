"""Functions that give their argument itself or a copy of it, by how an argument lies in memory:
each program is right as Python is, or refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError

WEIGHTS = np.sin(np.arange(9.0)).reshape(3, 3)


def laid_out(name: str) -> np.ndarray:
    """Nine numbers in one of NumPy's layouts."""
    wide = np.arange(36.0).reshape(6, 6) / 10
    return {
        "C": wide[:3, :3].copy(),
        "F": np.asfortranarray(wide[:3, :3]),
        "strided": wide[::2, ::2],
        "rows": np.repeat(wide[:3, :3], 2, axis=0)[::2],
        "reversed": wide[:3, :3].copy()[::-1],
    }[name]


LAYOUTS = ("C", "F", "strided", "rows", "reversed")


def contiguous(m):
    a = np.ascontiguousarray(m)
    a[...] = 0.5 * a
    return np.sum(m * m * WEIGHTS) + np.sum(a)


def in_order_c(m):
    a = np.asarray(m, order="C")
    a[0] = 0.5
    return np.sum(m * m * WEIGHTS) + np.sum(a)


def in_order_f(m):
    m *= 2.0
    a = np.asarray(m, order="F")
    m[1] = 0.5
    return np.sum(a * a * WEIGHTS)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fn", [contiguous, in_order_c, in_order_f])
def test_view_or_copy(fn: Callable[..., float], layout: str) -> None:
    expected = fn(laid_out(layout))
    try:
        value, _ = ms.value_and_grad(fn)(laid_out(layout))
    except CompileError as error:
        assert "may be the tensor that is written to" in str(error)
    else:
        assert value == pytest.approx(expected, rel=1e-12)


def rebound(x, m):
    for _ in m:
        x = m
    x *= 2.0
    return np.sum(m * m * WEIGHTS) + np.sum(x)


def rebound_while(x, m):
    n = 0
    while n < 2:
        x = m
        n += 1
    x += 1.0
    return np.sum(m * m * WEIGHTS) + np.sum(x)


def rebound_in_branch(x, m):
    if x[0] > 0:
        x = m
    x *= 2.0
    return np.sum(m * m * WEIGHTS) + np.sum(x)


@pytest.mark.parametrize("fn", [rebound, rebound_while, rebound_in_branch])
def test_a_second_name_of_another_rank(fn: Callable[..., float]) -> None:
    """What may have any number of axes is no number: it is written to under all its names."""
    m = laid_out("C")
    expected = fn(np.ones(3), m.copy())
    try:
        value, slope = ms.value_and_grad(fn, (0, 1))(np.ones(3), m)
    except CompileError as error:
        assert "may be the tensor that is written to" in str(error)
    else:
        assert value == pytest.approx(expected, rel=1e-12)
        step = 1e-6 * np.cos(np.arange(9.0)).reshape(3, 3)
        wanted = fn(np.ones(3), m + step) - fn(np.ones(3), m - step)
        assert 2 * np.sum(slope[1] * step) == pytest.approx(wanted, rel=1e-6)
