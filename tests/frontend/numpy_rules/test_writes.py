"""Plain NumPy functions that write to arrays. An array that the function made is written to in
place, under every name."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import DTypeError, UnsupportedSyntax

X = np.array([0.5, -1.25, 2.0])
TABLE = np.array([1.0, 2.0, 3.0])


def trajectory(x):
    states = np.empty((5, 3))
    states[0] = x
    for i in range(4):
        a, b, c = states[i]
        states[i + 1] = states[i] + 0.1 * np.array([b - a, a * c, a * b])
    return states.sum()


def distances(x):
    costs = np.full((4, 4), 9.0)
    costs[0, 0] = 0
    for i in range(3):
        for j in range(3):
            before = np.minimum(costs[i, j + 1], costs[i + 1, j])
            costs[i + 1, j + 1] = (x[i] - x[j] * 2) ** 2 + np.minimum(before, costs[i, j])
    return costs[3, 3]


def filled(costs, x):
    costs[0] = x[0] * 2
    costs[1] += 1
    return costs


def made_by_one_filled_by_another(x):
    costs = np.ones(3)
    same = filled(costs, x)
    same[2] = x[1]
    return (costs * same * x).sum()


def new_in_every_iteration(x):
    total = 0.0
    for i in range(3):
        row = np.zeros(3)
        row[i] = x[0] * i
        total += (row * x).sum()
    return total


def second_name(x):
    y = x * 1.0
    z = y
    z -= 1.0
    return (y * x + z).sum()


def added(y, x):
    y += x
    return y


def by_another(x):
    y = x * 2
    z = added(y, x)
    return (y * x * z).sum()


def items(x):
    ys = [x * 1.0, x * 2]
    y = ys[0]
    ys[0] += x
    held = {"y": y}
    held["y"] *= ys[1]
    return (y * ys[0]).sum()


def leapfrog(x):
    x, v = x.copy(), x * 0.5
    for _ in range(40):
        v += -np.sin(x) * 0.1
        x += v * 0.1
    return (x * v).sum()


def momentum(x):
    m = np.zeros_like(x)
    w, s = x.copy(), np.arange(3.0)
    while m.sum() < 4:
        m *= 0.5
        m += w * w
        s -= m
    return (w * m * s).sum()


def empty_as_another(x):
    y = np.empty_like(x)
    for i in range(3):
        y[i] = x[i] ** 2 * (i + 1)
    return (y * x).sum()


PROGRAMS = (
    empty_as_another, trajectory, distances, made_by_one_filled_by_another, new_in_every_iteration,
    second_name, by_another, items, leapfrog, momentum,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_value_and_gradient(program):
    kept = X.copy()
    value, gradient = ms.value_and_grad(program)(X)
    steps = np.eye(3) * 1e-6
    numeric = [(program(X + step) - program(X - step)) / 2e-6 for step in steps]
    assert np.isclose(value, program(X.copy()), rtol=1e-12)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(X, kept)


def through_swapped_axes(x):
    y = np.outer(x, x) * 1
    rows = y.swapaxes(0, 1)
    rows[0] = x * 2
    rows.T[1, 2] = x[0]
    return (y * np.outer(x, x)).sum()


def through_a_flip(x):
    y = x * 1
    turned = np.flip(y, 0)
    turned[0] = x[1]
    return (y * x).sum()


def beside_an_empty_array(x):
    return (x * np.zeros(0).size + x * x).sum()


@pytest.mark.parametrize("program", [through_swapped_axes, through_a_flip, beside_an_empty_array])
def test_views_of_other_axes_and_of_empty_arrays(program):
    test_value_and_gradient(program)


def outside(x):
    table = TABLE
    table += x
    return table.sum()


def into_integers(x):
    y = np.zeros(3, int)
    y += x
    return y * x


def into_some_integers(x):
    y = np.zeros(3, int)
    y[:2] += x[:2]
    return y * x


def into_picked_integers(x):
    y = np.zeros(3, int)
    y[[0, 2]] *= x[0]
    return y * x


@pytest.mark.parametrize(
    "program, kind",
    [
        (outside, UnsupportedSyntax),
        (into_integers, DTypeError),
        (into_some_integers, DTypeError),
        (into_picked_integers, DTypeError),
    ],
)
def test_writes_that_numpy_refuses_are_refused(program, kind):
    with pytest.raises(kind):
        ms.grad(program)(X)
    assert TABLE[0] == 1.0


def test_a_value_set_in_an_integer_array_is_truncated_as_in_numpy():
    def program(x):
        y = np.zeros(3, int)
        y[0] += 2.5 * x[0]  # a number, not an array: added, and then set
        y[1:] = 2.5 * x[1:]
        return y

    assert ms.jit(program)(X.copy()).tolist() == program(X).tolist() == [1, -3, 5]


def scalar_filled(x, y):
    z = y * 2.0
    z.fill(0.7)
    return z * x.sum()


def scalar_put(x, y):
    z = y * 2.0
    z.put(0, 0.7)
    np.put(z, 0, 0.3)
    return z * x.sum()


def array_filled(x, y):
    z = np.array(y * 2.0)
    z.fill(0.7)
    return z * x.sum()


@pytest.mark.parametrize("function", [scalar_filled, scalar_put, array_filled])
def test_numpy_scalars_cannot_be_written_to(function) -> None:
    y = np.array(0.4)
    value, (d_x, d_y) = ms.value_and_grad(function, (0, 1))(X, y)
    factor = 0.7 if function is array_filled else 0.8
    assert value == pytest.approx(function(X, y)) == pytest.approx(factor * X.sum())
    np.testing.assert_allclose(d_x, [factor] * 3)
    np.testing.assert_allclose(d_y, 0.0 if function is array_filled else 2 * X.sum())


def copied_to_a_scalar(x, y):
    z = y * 2.0
    np.copyto(z, 0.3)
    return z * x.sum()


def filled_on_one_path(x, y):
    z = y
    if x[0] > 0:
        z = y * 2.0
    z.fill(0.7)
    return z * x.sum()


@pytest.mark.parametrize(
    ("function", "what"),
    [(copied_to_a_scalar, "a NumPy scalar"), (filled_on_one_path, "a NumPy scalar on some paths")],
)
def test_writes_to_what_is_or_may_be_a_numpy_scalar_are_refused(function, what: str) -> None:
    with pytest.raises(DTypeError, match=f"cannot write to {what}: only an array"):
        ms.grad(function, (0, 1))(X, np.array(0.4))
