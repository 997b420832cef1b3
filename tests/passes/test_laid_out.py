"""Columns of windows in arrays that are filled: the same gradients, whoever lends memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, gradient_source, ops, value_and_grad
from autodiff_compiler.passes import reuse
from autodiff_compiler.testing import check_grads

RANDOM = np.random.default_rng(6)


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "LARGE", 1)


def twice(x: Any, w: Any) -> Any:
    y = ops.tanh(ops.conv2d(x, w, padding=1, pad_mode="pad"))
    return ops.sum(ops.conv2d(y, w, dilation=2) ** 2)


def strided(x: Any, w: Any) -> Any:
    return ops.sum(ops.conv2d(x, w, stride=2) ** 2)


X, W = RANDOM.normal(size=(2, 2, 6, 5)), RANDOM.normal(size=(2, 2, 2, 2)) * 0.5


@pytest.mark.parametrize("function", [twice, strided])
def test_gradients_of_two_orders(function: Any) -> None:
    check_grads(function, (X, W))


def test_a_second_call_in_the_same_memory_gives_the_same() -> None:
    x, w = (Tensor(a.astype(np.float32)) for a in (X, W))
    call = value_and_grad(twice, (0, 1))
    first = [g.asnumpy().copy() for g in call(x, w)[1]]
    call(Tensor(-x.asnumpy()), w)
    for before, after in zip(first, call(x, w)[1]):
        np.testing.assert_array_equal(after.asnumpy(), before)


def test_what_does_not_overlap_is_reshaped() -> None:
    x, w = (Tensor(a.astype(np.float32)) for a in (X, W))
    assert "np.copyto(columns" in gradient_source(twice, x, w)
    assert "np.copyto(columns" not in gradient_source(strided, x, w)
