"""``check_grads`` accepts right gradients, finds a single wrong sign, and restores all state."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.common.structures import leaves_of
from autodiff_compiler.ops.transforms.gradient import GradientFunction
from autodiff_compiler.ops.transforms.tangent import TangentFunction
from autodiff_compiler.testing import numeric
from autodiff_compiler.testing.numeric import check_grads


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(np.array([[1, 2, 3], [4, 5, 6]], np.float32))
        self.frozen = Parameter(np.array([2, 2, 2], np.float32), requires_grad=False)
        self.count = Parameter(np.array([1], np.int32))

    def construct(self, x, k):
        return x * self.w * self.frozen * k, (x * x).sum()


X = Tensor(np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5]], np.float32))


class Table(nn.Cell):
    def __init__(self):
        super().__init__()
        self.rows = Parameter(np.array([[1, 2], [3, 5], [7, 9]], np.float32), name="rows")

    def construct(self, ids):
        return ops.tanh(self.rows[ids] * 0.1).sum()


def test_a_cell_that_takes_whole_numbers_alone_is_checked_by_its_weights():
    modes = ("reverse", "forward", "forward-over-reverse")
    report = check_grads(Table(), [Tensor(np.array([0, 2, 2], np.int32))], modes=modes)
    rows = {(row.order, row.name) for row in report.rows}
    assert {(1, "rows"), (2, "rows")} <= rows
    assert all(row.good and row.error < 1e-6 for row in report.rows)


def test_a_cell_passes_in_every_order():
    net = Net()
    report = check_grads(net, [X, 2], order=2)
    orders = {(row.order, row.name) for row in report.rows}
    assert {(1, "x"), (1, "w"), (2, "w")} <= orders
    assert all(row.good and row.error < 1e-6 for row in report.rows)
    assert len(str(report).splitlines()) == len(report.rows) + 1


def test_parameters_come_back():
    net = Net()
    before = [p._data for p in net.get_parameters()]
    check_grads(net, [X, 2], order=1)
    with pytest.raises(TypeError, match="must be a Tensor or a number"):
        check_grads(net, [X, object()])
    assert all(p._data is data for p, data in zip(net.get_parameters(), before))
    assert ms.get_context("mode") == ms.PYNATIVE_MODE


def test_structures_arrays_and_numbers():
    def fn(x, n, y, s):
        return {"a": x * y * s, "b": [x, (y * n,)]}

    report = check_grads(fn, [np.ones((2, 2), np.float32), 3, X[0, :2], 0.5])
    assert {row.name for row in report.rows if row.order == 1} == {"x", "y", "s"}


def test_a_numpy_function_is_given_arrays():
    """A Tensor does not mix with ``np.eye``. Orders, names and kinds are as for tensors."""

    def quadratic(a, s, k):
        assert isinstance(a, np.ndarray) and isinstance(s, float) and isinstance(k, int)
        return {"y": (np.eye(3) + a * s) @ a[0] ** k, "n": math.sin(s)}

    a = np.linspace(-1, 1, 9).reshape(3, 3)
    report = check_grads(quadratic, [a, 0.5, 3], modes=["reverse", "forward"])
    assert {(row.order, row.name) for row in report.rows} >= {
        (order, name) for order in (1, 2) for name in ("a", "s")
    }


def test_arrays_for_a_function_of_tensors_are_wrapped():
    """One operator takes no array beside a Tensor, another takes arrays."""
    table = Tensor(np.array([1.0, 2.0, 4.0], np.float32))
    for function in (lambda x: (table * x).sum(), lambda x: ops.sin(x).sum()):
        report = check_grads(function, [np.array([0.5, 1.0, 2.0])])
        assert {row.name for row in report.rows} == {"x"}
    with pytest.raises(ZeroDivisionError):
        check_grads(lambda x: x * (1 / 0), [np.ones(3)])


def test_a_wrong_gradient_of_a_numpy_function_is_caught():
    with pytest.raises(AssertionError, match="order 1 in 'x' is wrong"):
        check_grads(lambda x: ops.stop_gradient(x).sum() * x.sum(), [np.ones(3)])


@pytest.mark.parametrize("given", [[X, X], {"a": np.ones(3)}, (X, X + 1)])
def test_a_container_is_not_passed_over(given):
    count = len(leaves_of(given))

    def summed(x):
        parts = x.values() if isinstance(x, dict) else x
        total = 0.0
        for part in parts:
            total = total + (part * part * part).sum()
        return total

    report = check_grads(summed, [given])
    assert len({row.name for row in report.rows}) == count
    with pytest.raises(AssertionError, match="order 1 in 'x"):
        check_grads(lambda x: ops.stop_gradient(summed(x)), [given])


def test_integer_inputs_are_skipped():
    report = check_grads(lambda x, i: x * i, [X, Tensor(np.ones((2, 3), np.int32))], order=1)
    assert {row.name for row in report.rows} == {"x"}


@pytest.mark.parametrize("place", [(0, 0), (1, 2)])
def test_one_wrong_sign_is_caught(monkeypatch, place):
    right = GradientFunction.__call__

    def wrong(self, *args, **kwargs):
        in_x, weights = right(self, *args, **kwargs)
        in_x.asnumpy()[place] *= -1
        return in_x, weights

    monkeypatch.setattr(numeric.GradientFunction, "__call__", wrong)
    with pytest.raises(AssertionError) as caught:
        check_grads(lambda x: x * x, [X], order=1)
    assert "the gradient of order 1 in 'x' is wrong along direction 1" in str(caught.value)
    assert "WRONG" in str(caught.value)


def test_a_wrong_second_order_is_caught(monkeypatch):
    """The first derivative is right, but its own derivative is wrong."""

    def stopped(x):
        return ms.ops.stop_gradient(x) * x * 2 - ms.ops.stop_gradient(x * x)

    def square(x):
        return x * x

    run = numeric.Subject.run

    def changed(self, inputs):
        return run(replace(self, fn=square) if self.fn is stopped else self, inputs)

    monkeypatch.setattr(numeric.Subject, "run", changed)
    with pytest.raises(AssertionError, match="the gradient of order 2"):
        check_grads(stopped, [X], order=2)


def test_wrong_weights_are_named(monkeypatch):
    right = GradientFunction.__call__

    def wrong(self, *args, **kwargs):
        inputs, weights = right(self, *args, **kwargs)
        weights[0].asnumpy()[...] *= 1.00001
        return inputs, weights

    monkeypatch.setattr(numeric.GradientFunction, "__call__", wrong)
    with pytest.raises(AssertionError, match="order 1 in 'w' is wrong"):
        check_grads(Net(), [X, 1], order=1)


class InSingle(nn.Cell):
    """A Cell that names float32 wherever a program can."""

    def __init__(self):
        super().__init__()
        self.factor = Tensor([[2.0, 0.5]])
        self.w = Parameter(Tensor([[1.0], [3.0]]), name="w")

    def construct(self, x):
        h = ops.matmul(Tensor([[1.0, 3.0], [0.5, 1.0]]), self.w * self.factor)
        for _ in range(2):
            h = ops.matmul(h, h) + ops.ones((2, 2), ms.float32) * x
        return h.astype(ms.float32) / Tensor(3, ms.int32)


def test_float32_is_doubled_wherever_a_program_says_it():
    report = check_grads(InSingle(), [X[:, :2]])
    assert {row.name for row in report.rows} >= {"x", "w"}
    assert max(row.error for row in report.rows) < 1e-6
    out = ms.grad(InSingle())(X[:, :2])  # and only while checking
    assert out.dtype == ms.float32


ALL_MODES = (
    "reverse", "forward", "forward-over-reverse", "reverse-over-forward", "forward-over-forward",
)  # fmt: skip


def test_every_mode_and_both_together():
    report = check_grads(Net(), [X, 1], modes=ALL_MODES)
    kinds = {(row.order, row.what) for row in report.rows}
    whats = ("gradient", "tangent", "inner product")
    assert kinds == {(order, what) for order in (1, 2) for what in whats}
    assert {row.name for row in report.rows if row.what == "tangent"} >= {"w"}
    third = check_grads(lambda x: x * x * x, [X], modes=("forward-over-reverse-over-forward",))
    assert {(row.order, row.what) for row in third.rows} == {
        (1, "tangent"), (2, "gradient"), (3, "tangent"),
    }  # fmt: skip


@pytest.mark.parametrize("mode", ["backward", "forward-over-", "reverse over forward", ""])
def test_an_unknown_mode_is_refused(mode):
    with pytest.raises(ValueError, match=f"there is no mode '{mode}'"):
        check_grads(lambda x: x * x, [X], modes=("reverse", mode))


def square(x):
    return x * x


@pytest.mark.parametrize("factor", [-1.0, 1.00001])
def test_a_wrong_tangent_is_caught(monkeypatch, factor):
    right = TangentFunction.__call__

    def wrong(self, *args, **kwargs):
        value, dot = right(self, *args, **kwargs)
        return value, dot * factor

    monkeypatch.setattr(numeric.TangentFunction, "__call__", wrong)
    with pytest.raises(AssertionError, match="the tangent of order 1 in 'x' is wrong"):
        check_grads(square, [X], modes=("forward",), order=1)


def test_modes_that_disagree_by_little_are_caught(monkeypatch):
    """The error is smaller than a numeric difference can show."""
    right = TangentFunction.__call__

    def wrong(self, *args, **kwargs):
        value, dot = right(self, *args, **kwargs)
        return value, dot * (1.0 + 1e-9)

    monkeypatch.setattr(numeric.TangentFunction, "__call__", wrong)
    check_grads(square, [X], modes=("forward",), order=1)
    with pytest.raises(AssertionError, match="the inner product of order 1"):
        check_grads(square, [X], modes=("reverse", "forward"), order=1)


def test_state_is_put_back():
    class Counting(nn.Cell):
        def __init__(self):
            super().__init__()
            self.seen = Parameter(np.zeros(1, np.float32), requires_grad=False)

        def construct(self, x):
            return x * x * self.seen

    net = Counting()
    data = net.seen._data
    check_grads(net, [X])
    assert net.seen._data is data


def test_values_written_to_a_parameter_are_held_fixed():
    class Writes(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([1.0, 2.0, 3.0], ms.float64), name="w")

        def construct(self, x):
            y = self.w * x
            self.w[1] = ops.sum(x)
            self.w.add_(x)
            return y + self.w * x * x

    check_grads(Writes(), (Tensor([0.1, 0.2, 0.3], ms.float64),))
