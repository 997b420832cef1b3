"""Copy elision for arrays: updates in place, and that no overwritten value is read."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, gradient_source, ops
from autodiff_compiler.testing import check_grads

X = Tensor(np.array([[0.5, -1.0], [0.25, 2.0], [1.5, -0.75]], np.float32))


def filled(x):
    y = ops.zeros_like(x)
    for i in range(3):
        y[i] = ops.tanh(x[i]) * 2
    return y


def neighbours(x, n):
    s = 0.0
    for i in range(1, n):
        s = s + ops.sin(x[i] * x[i - 1]).sum()
    return s


def old_and_new(x):
    y = x * 2
    z = y
    y = y.copy()
    y[0] = x[1] * x[2]
    return y * z


def seen_before(x):
    y = x * x
    first = y[0] * 1
    view = y[1] * 1
    y[1] = first * view
    return y.sum(0) * view


def each_kept(x):
    y, kept = x * 1, []
    for i in range(3):
        y = y.copy()
        y[i] = ops.sin(y[i] * y[(i + 1) % 3])
        kept.append(y)
    return kept[0] * kept[1] + kept[2]


def swapped(x, n):
    a, b = x * 1, x * 2
    for i in range(n):
        a, b = b, a.copy()
        b[i] = a[i] * b[i]
    return a * b


def on_one_way(x):
    y = x * 3
    for i in range(3):
        if x[i].sum() > 0:
            y[i] = x[i] * y[i - 1]
    return y * y


def split(x):
    a, b, c = x[0], x[1], x[2]
    return a * b * c


def given(x):
    x[0] = x[1] * x[2]
    return x * x


def stretched(x):
    return x.sum() + x[1] * 2


def nested(x):
    y = ops.zeros((3, 3), ms.float32)
    for i in range(3):
        for j in range(3):
            y[i, j] = (x[i] * x[j]).sum()
    return ops.matmul(y, y)


CASES = {
    filled: (), neighbours: (3,), old_and_new: (), seen_before: (), each_kept: (), swapped: (3,),
    on_one_way: (), split: (), given: (), stretched: (), nested: (),
}  # fmt: skip


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_gradients(function):
    kept = X.asnumpy().copy()
    check_grads(function, (X, *CASES[function]))
    value, plain = ms.jit(function)(X, *CASES[function]), function(X.copy(), *CASES[function])
    assert np.allclose(value.asnumpy(), plain.asnumpy())
    assert np.array_equal(X.asnumpy(), kept)


def forward_of(function):
    return gradient_source(function, X, sens_param=True).split("\ndef ")[1]


def test_no_copies_where_the_array_is_the_functions_own():
    assert ".copy()" not in forward_of(filled)
    source = gradient_source(neighbours, X, "int")
    assert source.count("] += ") == 2 and "_scattered" not in source
    assert ".copy()" not in forward_of(nested)


def test_one_array_for_the_parts():
    source = gradient_source(split, X, sens_param=True)
    assert source.count("np.zeros(") == 1


def test_a_value_that_is_read_later_is_copied():
    assert ".copy()" in forward_of(each_kept)


def left_from_within(x, m):
    for row in m:
        row = row * 1
        for number in x:
            if number > 1:
                return x
            row[2] = number
    return row


def test_a_value_that_is_not_set_yet_is_not_copied():
    """The returned value is carried, and is unset until the loop is left by it."""
    m = Tensor(np.ones((2, 3), np.float32))
    for top, want in ((0.5, [0, 0, 1]), (1.5, [1, 1, 1])):
        x = Tensor(np.array([0.25, -0.5, top], np.float32))
        assert ms.grad(left_from_within)(x, m).asnumpy().tolist() == want
        value = ms.jit(left_from_within)(x, m).asnumpy()
        np.testing.assert_array_equal(value, left_from_within(x, m).asnumpy())


def small_part(x, y):
    z = ops.tanh(x)
    z = z.copy()
    z[1] = y
    return (z * z).sum()


def large_part(x, y):
    z = ops.tanh(x)
    z[1:] = y
    return (z * z).sum()


def changed_twice(x, y):
    z = x * x
    z[0] = y
    first = z[0] * 3
    z[0] = y * y
    return (z * z).sum() + (first * z[2]).sum()


@pytest.mark.parametrize("net", [small_part, large_part, changed_twice])
def test_a_part_that_is_read_later_is_copied(net):
    check_grads(net, (X.asnumpy().astype(float), np.array([0.3, -0.4])))


def test_a_small_part_is_copied_and_the_reader_of_a_large_one_moves_up():
    y = Tensor(np.array([0.3, -0.4], np.float32))
    backward = gradient_source(small_part, X, y, get_all=True).split("def small_part_backward")[1]
    assert "d_y = d_z[1].copy()" in backward and backward.count(".copy()") == 1
    backward = gradient_source(large_part, X, y, get_all=True).split("def large_part_backward")[1]
    assert backward.index(" d_y = ") < backward.index("d_z[1:] = 0.0") and ".copy()" not in backward


def written(x, y, i):
    z = x.copy()
    z[i] = y
    return (z * z * z).sum()


def test_a_later_gather_moves_before_the_write():
    x, y, i = (np.arange(12.0).reshape(6, 2), np.array([[3.0, 5.0], [7.0, 2.0]]), np.array([4, 1]))
    d_x, d_y = ms.grad(written, (0, 1))(Tensor(x), Tensor(y), Tensor(i))
    wanted = 3 * x * x
    wanted[i] = 0
    np.testing.assert_allclose(d_x.asnumpy(), wanted)
    np.testing.assert_allclose(d_y.asnumpy(), 3 * y * y)
    backward = gradient_source(written, Tensor(x), Tensor(y), Tensor(i), get_all=True)
    assert "_z.copy()" not in backward.split("def written_backward")[1]


def in_turn(x, n):
    oldest, c, b, a, u = x * 1.0, x * 2.0, x * 3.0, x * 4.0, ops.sin(x)
    newest, total = u, u * 0.0
    for i in range(n):
        made = ops.slice_scatter(oldest, x[:1] * i, 0, 0, 1)
        oldest, c, b, a, newest = c, b, a, newest, made
        total = total + u * i
    return total + oldest + 2 * c + 3 * b + 5 * a + 7 * newest


def test_carries_that_change_places_reach_the_write_after_many_iterations():
    """The array ``u`` is the oldest in the fifth iteration, and is still read."""
    for n in (3, 5, 12):
        expected = in_turn(X, n).asnumpy()
        np.testing.assert_array_equal(ms.jit(in_turn)(X, n).asnumpy(), expected)
    check_grads(in_turn, (X, 7))
