"""A write through a view of an array, or to an array with views, is visible under all names."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError

X = np.array([0.5, -1.25, 2.0])


def view_of_a_view(x):
    y = x * 1.0
    v = y[1:]
    w = v[1:]
    w[0] = x[0] * 4
    before = (y * x).sum() + (v * v).sum()
    y[2] = x[1]
    return before + (w * v[:1]).sum()


def base_written_in_a_branch(x):
    y = x * 1.0
    v, far = y[:2], y[1:][1:]
    y[2] = x[0] * 4
    if x.sum() > 0:
        y[0] = 5 * x[2]
    return (v * x[:2]).sum() + (far * far).sum()


def view_written_in_a_loop(x):
    y = x * 1.0
    v = y[:2]
    for i in range(2):
        v[i] = x[2] * 3 * v[1 - i]
        y[1] += x[0]
    return (y * x).sum() + v[0]


def rows(x):
    m = np.outer(x, x)
    for row in m:
        row *= x
    for i in range(3):
        row = m[i]
        row += x
        row[0] = 2 * x[1] * m[2, 2]
    a, b, _ = m
    a[0] = x[1] * b[1]
    return (m * m).sum() + m.T[0, 1]


def transposed(x):
    m = np.outer(x, x)
    t = m.T
    t[0, 1] = x[2] * 2
    m[1, 2] = x[0]
    return (m * m).sum() * t[2, 1]


def without_a_name(x):
    y = x * 1.0
    y[:2][0] = x[2] * 3
    y[::-1][0] *= 2
    y[1:] += x[0]
    return (y * x).sum()


def by_a_function(x):
    y = x * 1.0

    def put(v):
        v[0] = x[2] * 3
        return v

    w = put(y[1:])
    y[2] = x[0]
    return (y * x).sum() + w[1]


def added_at(x):
    y = np.zeros(3)
    np.add.at(y, [0, 2, 0], x)
    np.subtract.at(y, np.array([1, 1, 2]), x * x)
    np.multiply.at(y, [2], x[:1])
    return (y * y * x).sum()


def relaxed(x):
    u, v = np.zeros(5), np.zeros(5)
    u[0], u[4], v[0], v[4] = x[0], x[1], x[0], x[1]
    for _ in range(40):
        for i in range(1, 4):
            v[i] = 0.5 * (u[i - 1] + u[i + 1]) * x[2] * 0.4
        u, v = v, u
    return (u * v).sum()


def swapped(x):
    a, b = x * 1.0, x * 2.0
    for _ in range(int(x[2]) + 1):
        a[0] = b[1] * x[0]
        a, b = b, a
    return (a * b * x).sum()


def copied_by_positions(x):
    m = np.outer(x, x)
    some, chosen, mixed = m[np.argsort(x)], m[m > 0], m[:2, [2, 0]]
    m[0] = x * 2
    some[some < 0] *= 0.1
    mixed *= 3.0
    return (m * some).sum() + chosen.sum() + (mixed * m[:2, 1:]).sum()


def reshaped(x):
    m = np.outer(x, x).T * 1.0
    t = m.reshape(-1)  # a copy: the product keeps the order of its operand
    m[0] = x * 2
    return (t * t).sum()


PROGRAMS = [view_of_a_view, base_written_in_a_branch, view_written_in_a_loop, rows, transposed,
            without_a_name, by_a_function, added_at, relaxed, swapped,
            copied_by_positions, reshaped]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_every_name_sees_a_write(program):
    value, found = ms.value_and_grad(program)(X)
    assert value == pytest.approx(program(X.copy()))
    steps = 1e-6 * np.eye(3)
    slopes = [(program(X + step) - program(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(found, slopes, rtol=1e-5, atol=1e-6)


def view_of_either(x):
    y = x * 1.0
    v = y[:2] if x[0] > 0 else y[1:]
    y[1] = x[0]
    return (v * x[:2]).sum()


def one_under_two_names(x):
    a = x * 1.0
    b = a
    for _ in range(3):
        a[0] = b[1] * x[0]
        a, b = b, a * 1
    return (a * b * x).sum()


@pytest.mark.parametrize("program", [view_of_either, one_under_two_names])
def test_a_name_that_may_be_a_view_of_a_written_array_is_refused_where_it_is_read(program):
    with pytest.raises(CompileError, match="may share memory with the array"):
        ms.grad(program)(X)
