"""Lists that grow in loops of known count have a known length: what is stacked has a shape."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler import Tensor, gradient_source, ops
from autodiff_compiler.testing import check_grads

X = Tensor(np.linspace(-1, 1, 24).reshape(12, 2).astype(np.float32))
W = Tensor(np.array([[0.5, -0.25], [1.0, 0.75]], np.float32))


def every_state(x, w, n):
    h, states = x[0], []
    for k in range(12):
        h = ops.tanh(ops.matmul(w, h) + x[k])
        states.append(h)
    return ops.stack(states)


def two_a_step(x, w, n):
    rows = [x[0]]
    for k in range(12):
        rows.append(x[k] * 2)
        rows.append(ops.matmul(w, x[k]))
    return ops.stack(rows)


def by_a_count(x, w, n):
    rows = []
    for k in range(n):
        rows.append(ops.matmul(w, x[k]))
    return ops.stack(rows)


def on_one_way(x, w, n):
    rows = []
    for k in range(12):
        if x[k].sum() > 0:
            rows.append(ops.matmul(w, x[k]))
    return ops.stack(rows)


def left_early(x, w, n):
    rows = []
    for k in range(12):
        rows.append(x[k] * x[k])
        if x[k].sum() > 0.5:
            break
    return ops.stack(rows)


@pytest.mark.parametrize("function", [every_state, two_a_step, by_a_count, on_one_way, left_early])
def test_gradients(function):
    check_grads(function, (X, W, 5))


@pytest.mark.parametrize(
    ("function", "shape"),
    [(every_state, "f32[12,2]"), (two_a_step, "f32[25,2]"), (by_a_count, "f32[?,2]"),
     (on_one_way, "f32[?,2]"), (left_early, "f32[?,2]")],
)  # fmt: skip
def test_shapes(function, shape):
    text = gradient_source(function, X, W, "int", stage="typed")
    assert f"-> ({shape})" in text
