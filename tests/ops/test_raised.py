"""``x[i] += v``: the sum that NumPy leaves there, and the gradient of just that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, gradient_source, jvp, value_and_grad

X = np.arange(12.0).reshape(3, 4)
ROWS = np.array([2, 0, 2, -1])  # the last row three times


def rows(x, v):
    y = x * x
    y[ROWS] += v
    return (y * y).sum()


def columns(x, v):
    y = x * x
    y[:, ROWS] -= v
    return (y * y).sum()


def places(x, v):
    y = x * x
    y[ROWS, [1, 3, 1, 1]] += v
    return (y * y).sum()


def mixed(x, v):
    y = x * x
    y[1:, ROWS] += v
    return (y * y).sum()


def chosen(x, v):
    y = x * x
    y[X > 4.0] += v
    return (y * y).sum()


def read_after(x, v):
    y = x * x
    taken = y[ROWS] + v
    y[ROWS] = taken
    return (y * y).sum() + (taken * taken).sum()


SIZES = {rows: (4, 4), columns: (3, 4), places: (4,), mixed: (4,), chosen: (7,), read_after: (4, 4)}


def numeric(f: Any, arrays: list[np.ndarray], position: int) -> np.ndarray:
    found = np.zeros_like(arrays[position])
    for place in np.ndindex(*found.shape):
        ends = []
        for step in (1e-5, -1e-5):
            moved = [a.copy() for a in arrays]
            moved[position][place] += step
            ends.append(f(*moved))
        found[place] = (ends[0] - ends[1]) / 2e-5
    return found


@pytest.mark.parametrize("f", SIZES)
def test_gradient(f: Any) -> None:
    given = [X * 0.3 - 1.0, np.random.default_rng(0).standard_normal(SIZES[f])]
    tensors = [Tensor(a) for a in given]
    value, slopes = value_and_grad(f, (0, 1))(*tensors)
    assert value.asnumpy() == pytest.approx(f(*given), rel=1e-12)
    for position, slope in enumerate(slopes):
        np.testing.assert_allclose(
            slope.asnumpy(), numeric(f, given, position), rtol=1e-6, atol=1e-6
        )
    along = [Tensor(np.cos(a)) for a in given]
    _, dot = jvp(f, tuple(tensors), tuple(along))
    wanted = sum((s * d).asnumpy().sum() for s, d in zip(slopes, along))
    assert dot.asnumpy() == pytest.approx(wanted, rel=1e-10)


def test_the_text_is_the_users() -> None:
    """No copy of what is written to, nothing kept for it, and rows are told apart by their number
    alone."""
    text = gradient_source(rows, "f64[3,4]", "f64[4,4]", get_all=True)
    assert "+= v" in text and ".copy()" not in text and "np.empty(3, np.int64)" in text
