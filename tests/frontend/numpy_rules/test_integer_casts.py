"""Casts of floats to integers and bools in plain NumPy code have derivative zero. This holds in
both modes, to every order, at every level."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, grad, hessian, hvp, jvp, value_and_grad, vjp


def remainder(x):
    return np.sum(x - (x / 5).astype(int) * 5)


def floor_divided(x):
    return np.sum(x - np.floor_divide(x, 5) * 5)


def masked(x):
    return np.sum(x * x * (x > 2))


def item_written(x):
    y = np.zeros(3, int)
    y[0] = x[0]
    y[1] = x[1] * 3
    return np.sum(y * x)


def slice_written(x):
    y = np.zeros(3, dtype=np.int32)
    y[:] = x * 2
    return (y * x**2).sum()


def positions_written(x):
    y = np.zeros(3, dtype=np.int32)
    y[np.array([0, 2])] = x[:2]
    return np.dot(y, x)


def written_in_a_loop(x):
    acc = np.zeros(3, dtype=np.int64)
    for k in range(3):
        acc[k] = x[k] * 2
    return np.sum(acc * x)


def carried_by_a_loop(x):
    acc = x.astype(int)
    for _ in range(3):
        acc = acc + (x * 2).astype(int)
    return np.sum(acc * x * x)


def made_of_a_list(x):
    return np.sum(np.array([x[0], x[1], 2.5], dtype=int) * x)


def array_of_ints(x):
    return np.sum(np.asarray(x, int) * np.array(x, dtype=bool) * x)


def chosen(x):
    return np.sum(np.where(x > 2, x, 0).astype(np.int32) * x)


def augmented(x):
    y = x.astype(int)
    y += 1
    return np.sum(y * x)


def a_number(x):
    return x[1] * int(x[0])


def and_back(x):
    return np.sum(x.astype(np.uint8).astype(float) * x)


def in_a_branch(x):
    y = x.astype(int) if x[0] > 0 else x.astype(np.float64)
    return np.sum(y * x)


def in_a_tuple(x):
    pair = (x.astype(int), x)
    return np.sum(pair[0] * pair[1])


def in_a_list(x):
    rows = []
    for k in range(3):
        rows.append((x[k] * 2).astype(int))
    return np.sum(np.stack(rows) * x)


def through_a_function(x):
    def whole(y):
        return (y * 2).astype(np.int64)

    return np.sum(whole(x) * x + whole(x[::-1]) * np.sin(x))


def nothing_but_whole(x):
    return (x * 2).astype(np.int32).sum()


CASES = (
    remainder, floor_divided, masked, item_written, slice_written, positions_written,
    written_in_a_loop, carried_by_a_loop, made_of_a_list, array_of_ints, chosen, augmented,
    a_number, and_back, in_a_branch, in_a_tuple, in_a_list, through_a_function, nothing_but_whole,
)  # fmt: skip
X = np.array([1.3, 7.7, 12.6])  # no jump is near


def slope(fn, x, step):
    rows = [(fn(x + step * e) - fn(x - step * e)) / (2 * step) for e in np.eye(3)]
    return np.array(rows)


@pytest.mark.parametrize("level", (0, 1, 3))
@pytest.mark.parametrize("case", CASES)
def test_derivatives_are_those_of_the_pieces(case, level):
    first = slope(case, X, 1e-5)
    second = slope(lambda x: slope(case, x, 1e-3), X, 1e-3)
    before = ms.get_context("opt_level")
    ms.set_context(opt_level=level)
    try:
        found = grad(case)(X)
        forward = [jvp(case, X, e)[1] for e in np.eye(3)]
        curved = hessian(case)(X)
        along = hvp(case, X, np.array([1.0, -2.0, 0.5]))
    finally:
        ms.set_context(opt_level=before)
    np.testing.assert_allclose(found, first, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(forward, first, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(curved, second, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(along, np.array([1.0, -2.0, 0.5]) @ second, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_the_gradient_has_the_dtype_of_its_input(case):
    found = grad(case)(X.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, slope(case, X, 1e-5), rtol=1e-5, atol=1e-5)


def test_integers_among_the_results_are_given_a_sensitivity_without_effect():
    def both(x):
        return (x * 2).astype(np.int32), x * x

    (whole, _), found = value_and_grad(both)(X)
    assert whole.dtype == np.int32
    np.testing.assert_allclose(found, 2 * X)
    np.testing.assert_allclose(vjp(both, X)[1](np.ones(3, np.int32), np.ones(3))[0], 2 * X)
    assert not np.any(jvp(both, X, np.ones(3))[1][0])


def test_tensors_keep_mindspores_rule():
    """Measured on MindSpore 2.10, which gives these numbers in both modes."""

    def kept(x):
        return x - (x / 5).astype(ms.int32) * 5

    def back(x):
        return ms.ops.cast(ms.ops.cast(x * 3, ms.int32), ms.float32)

    x = Tensor(np.array([7.0, 12.5], np.float32))
    assert grad(kept)(x).asnumpy().tolist() == [0.0, 0.0]
    assert grad(back)(x).asnumpy().tolist() == [3.0, 3.0]
