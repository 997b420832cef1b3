"""Lists of run-time length that hold numbers and arrays with one element: all have gradients."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms


def after_a_number(x):
    items = [0.0]
    for i in range(len(x)):
        items.append(np.tanh(items[-1]) + x[i])
    return items[-1] * items[-1]


def a_list_of_numbers_gets_an_array(x, n):
    items = []
    for i in range(n):
        items.append(1.0 * i)
    items.append(x[0] * x[1])
    s = 0.0
    for v in items:
        s = s + v * v
    return s


def an_array_and_a_number_in_turn(x):
    items = [x[0]]
    for i in range(len(x)):
        items.append(items[-1] * x[i])
        items.append(0.5)
    s = 0.0
    for v in items:
        s = s + v * v
    return s


def numbers_in_tuples(x):
    items = [(0, 0.0)]
    for i in range(len(x)):
        k, v = items[-1]
        items.append((k + 1, np.sin(v) + x[i]))
    k, v = items[-1]
    return v * v


def set_by_place(x, n):
    items = [0.0] * n
    for i in range(1, n):
        items[i] = np.tanh(items[i - 1]) + x[i % 3]
    return items[-1] * items[-1]


def in_branches(x):
    items = [0.0]
    for i in range(len(x)):
        if x[i] > 0.15:
            items.append(x[i] * items[-1] + 1.0)
        else:
            items.append(3.0)
    s = 0.0
    for v in items:
        s = s + v * v
    return s


CASES = {
    after_a_number: (), a_list_of_numbers_gets_an_array: (4,), an_array_and_a_number_in_turn: (),
    numbers_in_tuples: (), set_by_place: (100,), in_branches: (),
}  # fmt: skip


def slopes(fn, x):
    """Returns the derivatives of ``fn`` by central differences."""
    steps = 1e-6 * np.eye(len(x))
    return [(fn(x + step) - fn(x - step)) / 2e-6 for step in steps]


@pytest.mark.parametrize("fn", CASES, ids=lambda fn: fn.__name__)
def test_gradients_of_both_orders(fn):
    x, more = np.array([0.1, 0.2, 0.3]), CASES[fn]
    value, found = ms.value_and_grad(fn)(x, *more)
    assert value == fn(x, *more)
    np.testing.assert_allclose(found, slopes(lambda x: fn(x, *more), x), atol=1e-7)

    def total(x):
        return ms.grad(fn)(x, *more).sum()

    np.testing.assert_allclose(ms.grad(total)(x), slopes(total, x), atol=1e-7)


def test_kinds_that_have_nothing_in_common_are_refused():
    def mixed(x, n):
        items = [x]
        for i in range(n):
            items.append((x[i], i))
        return items[0]

    with pytest.raises(ms.errors.CompileError, match="item"):
        ms.gradient_source(mixed, "f64[3]", "int")
