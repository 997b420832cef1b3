"""Parameters under other names: a variable that refers to one sees the written value."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.common.parameter import replacing_stored_values


class Named(nn.Cell):
    """Parameters that variables refer to."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(np.array([3.0, 4.0]), name="w")

    def construct(self, x):
        return getattr(self, self.way)(x)

    def assigned(self, x):
        v, y = self.w, x * 2
        held = [v, y]
        self.w = y
        ops.assign(self.w, x)
        return v * x * y * held[0] * held[1]

    def in_a_loop(self, x):
        v = self.w
        for i in range(3):
            self.w += v * x * i
        return v * self.w

    def on_one_way(self, x):
        v = self.w
        if ops.sum(x) > 0.5:
            self.w = x
        y = v * 1
        ops.assign_add(self.w, x)
        return v * y

    def written_inside(self, x):
        v = self.w

        def g(q):
            self.w = q
            return v * q

        return (g(x) + g(x * 2)) * v

    def given_on(self, x):
        v = self.given_back(self.w, x)
        self.w = x * x
        return v * x

    def given_back(self, same, x):
        v = self.w
        self.w = x
        return v * same

    def of_a_snapshot(self, x):
        v = ops.assign(self.w, x)
        y = self.w * 1
        ops.assign(self.w, x * x)
        return v * y * self.w


WAYS = [
    name
    for name in vars(Named)
    if not name.startswith("_") and name not in ("construct", "given_back")
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("x", [[0.3, 0.4], [-0.3, 0.2]], ids=["positive", "negative"])
def test_a_variable_that_holds_a_parameter_sees_what_is_written(way, x):
    def run(point, stored=None, shift=0.0):
        """Makes one call, with given values stored in place of the computed ones. No gradient
        passes through a stored value, and each read after it counts for the Parameter."""
        plain, seen = Named(), []
        plain.way, plain.w._data = way, plain.w._data + shift

        def instead(parameter, value):
            seen.append(value if stored is None else stored[len(seen)] + shift)
            return seen[-1]

        with replacing_stored_values(instead):
            return plain.construct(Tensor(np.array(point))), plain.w.asnumpy(), seen

    cell = Named()
    cell.way = way
    expected, left, stored = run(x)
    value, (slope, of_w) = ops.value_and_grad(cell, 0, cell.trainable_params())(Tensor(np.array(x)))
    np.testing.assert_allclose(value.asnumpy(), expected.asnumpy(), rtol=1e-12)
    np.testing.assert_allclose(cell.w.asnumpy(), left, rtol=1e-12)
    steps = [h * e for e in np.eye(2) for h in (1e-5, -1e-5)]
    in_x = [run(x + step, stored)[0].asnumpy().sum() for step in steps]
    in_w = [run(x, stored, step)[0].asnumpy().sum() for step in steps]
    for found, moved in (slope, in_x), (of_w[0], in_w):
        wanted = np.subtract(moved[::2], moved[1::2]) / 2e-5
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6, atol=1e-9)


def test_a_variable_that_may_hold_a_parameter_is_refused_after_a_write():
    cell = Named()
    cell.construct = lambda x: x

    def program(x):
        v = cell.w if ops.sum(x) > 0 else x
        cell.w = x * 7
        return v * x

    with pytest.raises(ms.errors.CompileError, match="'v' may share memory with the array"):
        ms.grad(program)(Tensor(np.array([0.3, 0.4])))


class Various(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(np.array([3.0, 4.0]), name="w")
        self.mode, self.sizes = "slow", (1, 2)

    def construct(self, x):
        self.fresh = x * 3
        self.mode = "fast"
        self.sizes = (3, x)
        self.w -= 0.5
        return x * self.w * self.fresh * self.sizes[0] * self.sizes[1]


def test_numbers_strings_and_tuples_are_written_too():
    plain, cell, x = Various(), Various(), Tensor(np.array([0.5, 2.0]))
    expected = plain.construct(x)
    value, slope = ops.value_and_grad(cell)(x)
    np.testing.assert_allclose(value.asnumpy(), expected.asnumpy(), rtol=1e-12)
    np.testing.assert_allclose(
        slope.asnumpy(), np.array([2.5, 3.5]) * 27 * x.asnumpy() ** 2, rtol=1e-12
    )
    assert cell.mode == plain.mode and cell.sizes[0] == 3
    for one, other in (cell.w, plain.w), (cell.fresh, plain.fresh), (cell.sizes[1], x):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
