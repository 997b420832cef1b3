"""Loop-invariant code motion: operations that are hoisted, ones that stay, same gradients."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, gradient_source, ops
from autodiff_compiler.testing import check_grads

X = Tensor(np.array([[0.5, -1.0], [0.25, 2.0]], np.float32))
W = Tensor(np.array([[1.0, 0.5], [-0.5, 0.75]], np.float32))


def before_the_loop(source: str) -> str:
    """Returns the text of forward before its first loop."""
    return source.partition("_forward(")[2].partition("    for ")[0]


def costly(x, w, n):
    for _ in range(n):
        x = ops.matmul(x, ops.exp(w)) * 0.5 + ops.sin(w)
    return x


def nested(x, w, n):
    for k in range(n):
        for _ in range(2):
            x = x * ops.tanh(w) + k * ops.cos(w)
    return x


def by_count(x, w, n):
    i = 0
    while i < n:
        x = ops.matmul(x, ops.exp(w) * 0.3)
        i += 1
    return x


@pytest.mark.parametrize("function", [costly, nested, by_count])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_gradients_are_right(function, n):
    check_grads(function, (X, W, n))


def test_costly_invariants_are_computed_once():
    text = before_the_loop(gradient_source(costly, X, W, "int", get_all=True))
    assert "np.exp(w)" in text and "np.sin(w)" in text
    text = before_the_loop(gradient_source(nested, X, W, "int", get_all=True))
    assert "np.tanh(w)" in text and "np.cos(w)" in text


def test_nothing_is_kept_for_each_iteration():
    source = gradient_source(lambda x, w, n: costly(x, w, n), X, W, "int", get_all=True)
    assert source.count(".append(") == 1  # x itself


def test_a_view_stays_where_it_is_read():
    def turned(x, w, n):
        for _ in range(n):
            x = ops.tanh(ops.matmul(x, w.T))
        return x

    source = gradient_source(turned, X, W, "int", get_all=True)
    assert ".T" not in before_the_loop(source)


def test_operations_that_may_fail_stay_in_loops_that_may_not_run():
    def items(x, rows, n, k):
        for _ in range(n):
            x = x * rows[k]
        return x

    rows = Tensor(np.ones((3, 2), np.float32))
    assert np.array_equal(ms.grad(items)(X, rows, 0, 7).asnumpy(), np.ones((2, 2)))
    with pytest.raises(IndexError):
        ms.grad(items)(X, rows, 1, 7)

    def whole(x, a, b, n):
        for _ in range(n):
            x = x * (a // b)
        return x

    assert np.array_equal(ms.grad(whole)(X, 3, 0, 0).asnumpy(), np.ones((2, 2)))
