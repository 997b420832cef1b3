"""Writes to Parameters and attributes: once per call, in order, with the right gradient.

Eager Python is the oracle for the written values, central differences for the gradients.
"""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, gradient_source, nn, ops
from autodiff_compiler.errors import CompileError
from autodiff_compiler.frontend import lower
from autodiff_compiler.testing import check_grads

X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


class Moving(nn.Cell):
    """A moving mean, as in normalisation layers."""

    def __init__(self):
        super().__init__()
        self.mean = Parameter(np.zeros(2, np.float32), name="mean", requires_grad=False)

    def construct(self, x):
        if self.training:
            self.mean = self.mean * 0.75 + x.mean(0) * 0.25
        return x - self.mean


class Counting(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = Parameter(Tensor(0.0, ms.float32), name="count", requires_grad=False)
        self.calls = 0
        self.last = Tensor([0.0, 0.0], ms.float32)
        self.moving = Moving()
        self.weight = Parameter(np.array([1.0, 2.0], np.float32), name="weight")

    def construct(self, x, n):
        self.count = self.count + 1
        self.calls += 1
        y = self.moving(x)
        for i in range(n):
            self.count += 1
            if (y * i).sum() > 0:
                self.calls = self.calls + 10
        self.last = y.sum(0) * self.weight
        return (self.last * self.weight * self.calls).sum()


class Assigning(nn.Cell):
    def __init__(self):
        super().__init__()
        self.total = Parameter(np.zeros(2, np.float32), name="total")
        self.add = ops.AssignAdd()

    def construct(self, x):
        ops.assign(self.total, x[0])
        seen = self.add(self.total, x[1] * 2.0)
        ops.assign_sub(self.total, 1.0 * x[0])
        return (seen * self.total).sum()


def made(cls):
    cell = cls()
    cell.set_train()
    return cell


def held(cell):
    """Returns the state of the cells above."""
    kept = {p.name: p.asnumpy().copy() for p in cell.get_parameters()}
    for name in ("calls", "last"):
        if hasattr(cell, name):
            value = getattr(cell, name)
            kept[name] = value.asnumpy().copy() if isinstance(value, Tensor) else value
    return kept


def same(left, right):
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_allclose(left[name], right[name], rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("cls, args", [(Moving, ()), (Counting, (3,)), (Assigning, ())])
@pytest.mark.parametrize("calls", [1, 3])
def test_a_gradient_call_writes_what_one_eager_call_writes(cls, args, calls):
    eager, compiled, forward = made(cls), made(cls), made(cls)
    gradient = ops.GradOperation(get_all=True)(compiled)
    run = ms.jit(forward)
    for _ in range(calls):
        expected = eager(Tensor(X), *args)
        gradient(Tensor(X), *args)
        np.testing.assert_allclose(run(Tensor(X), *args).asnumpy(), expected.asnumpy(), rtol=1e-6)
    same(held(compiled), held(eager))
    same(held(forward), held(eager))


def test_written_values_do_not_cause_recompilation():
    cell = made(Counting)
    gradient = ops.GradOperation()(cell)
    for _ in range(4):
        gradient(Tensor(X), 2)
    units = [unit for unit in ms.compile_info().units if unit.title.startswith("Counting.")]
    assert units and units[-1].calls >= 4


def test_nothing_is_written_in_evaluation():
    cell = Moving()
    ops.GradOperation()(cell)(Tensor(X))
    np.testing.assert_array_equal(cell.mean.asnumpy(), [0.0, 0.0])


def test_no_gradient_passes_through_a_written_value():
    cell = made(Moving)

    def loss(x):
        y = cell(x)
        return (y * y).sum()

    got = ms.grad(loss)(Tensor(X.astype(np.float64))).asnumpy()
    np.testing.assert_allclose(got, 2 * (X - 0.25 * X.mean(0)), rtol=1e-12)


def test_the_user_s_array_is_not_the_parameter_s():
    cell = made(Assigning)
    x = Tensor(X)
    ops.GradOperation()(cell)(x)
    assert not np.shares_memory(cell.total.asnumpy(), x.asnumpy())
    np.testing.assert_array_equal(x.asnumpy(), X)


class Wrong(nn.Cell):
    def __init__(self):
        super().__init__()
        self.total = Parameter(np.zeros(3, np.float32), name="total")

    def construct(self, x):
        self.total = x
        return x


def test_another_shape_is_refused():
    with pytest.raises(
        ms.errors.ShapeError, match=r"'total' is f32\[3\] and is assigned f32\[2,2\]"
    ):
        ms.jit(made(Wrong))(Tensor(X))


def test_check_grads_of_a_cell_that_writes_nothing_here():
    check_grads(Moving(), [Tensor(X)])


class Bumping(nn.Cell):
    """Counts its calls in a number, and in a Parameter that the value depends on."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.seen = Parameter(np.zeros(2, np.float32), requires_grad=False)

    def construct(self, x):
        self.calls = self.calls + 1
        self.seen = self.seen + x
        return x * x * self.calls


def test_the_owner_of_a_called_method_is_computed_once():
    class Chained(nn.Cell):
        def __init__(self):
            super().__init__()
            self.bump = Bumping()

        def construct(self, x):
            return (self.bump(x) * self.bump(x)).sum().reshape(1)

    net = Chained()
    gradient = ms.GradOperation()(net)(Tensor([1.0, 2.0]))
    assert net.bump.calls == 2  # 1 x^2 * 2 x^2
    np.testing.assert_allclose(gradient.asnumpy(), [8.0, 64.0])


def test_writes_below_a_gradient_inside_a_function():
    """The gradients are 2 x and 4 x, and their product is 8 x^2. ``seen`` adds 2 x to the value and
    nothing to the gradient."""

    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.bump = Bumping()
            self.gradient = ms.GradOperation()(self.bump)

        def construct(self, x):
            return (self.gradient(x) * self.gradient(x)).sum() + self.bump.seen.sum()

    x = Tensor([1.0, 2.0])
    net = Outer()
    assert float(net(x)) == 46.0 and net.bump.calls == 2
    net = Outer()
    gradient = ms.GradOperation()(net)(x)
    np.testing.assert_allclose(gradient.asnumpy(), [16.0, 32.0])
    assert net.bump.calls == 2
    np.testing.assert_allclose(net.bump.seen.asnumpy(), [2.0, 4.0])


class Counter(nn.Cell):
    """Keeps a decaying sum of its inputs."""

    def __init__(self, size):
        super().__init__()
        self.seen = Parameter(Tensor(np.zeros(size, np.float32)), requires_grad=False)
        self.w = Parameter(Tensor(np.ones(size, np.float32)))

    def construct(self, x):
        self.seen = self.seen * 0.5 + x
        return ops.tanh(x * self.w + self.seen)


class Chain(nn.Cell):
    def __init__(self, count):
        super().__init__()
        self.parts = nn.CellList([Counter(3) for _ in range(count)])

    def construct(self, x):
        for part in self.parts:
            x = part(x)
        return x


@pytest.mark.thorough
def test_one_generated_function_serves_every_cell_that_writes():
    x = Tensor(np.array([0.5, -1.0, 0.25], np.float32))
    net, plain = Chain(7), Chain(7)
    source = gradient_source(net, x, get_all=True, get_by_list=True)
    assert source.count("def counter_forward(") == source.count("def counter") - 1 == 1
    gradient = ms.value_and_grad(net, 0, net.trainable_params())
    for _ in range(2):
        value, _ = gradient(x)
        wanted = plain(x)
        assert np.allclose(value.asnumpy(), wanted.asnumpy(), rtol=1e-6)
        for mine, its in zip(net.parts, plain.parts):
            assert np.allclose(mine.seen.asnumpy(), its.seen.asnumpy(), rtol=1e-6)
    check_grads(net, [x])


def test_all_writes_are_found_at_once(monkeypatch):
    begun = []
    real = lower.Compilation
    monkeypatch.setattr(lower, "Compilation", lambda **facts: begun.append(facts) or real(**facts))
    gradient_source(Chain(9), Tensor(np.ones(3, np.float32)))
    assert len(begun) == 2


class Branches(nn.Cell):
    """Rolling the loop is tried first; it is unrolled, since the layer must be known."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.CellList([nn.BatchNorm1d(2) for _ in range(5)])

    def construct(self, x: Tensor) -> Tensor:
        found = []
        for i in range(len(self.norms)):
            found.append(self.norms[i](x))
        return ops.stack(found)


def test_all_writes_are_found_in_one_lowering(monkeypatch: pytest.MonkeyPatch) -> None:
    lowerings, once = [], lower._lower_once
    monkeypatch.setattr(lower, "_lower_once", lambda *args: lowerings.append(1) or once(*args))
    net = Branches().set_train()
    x = Tensor(np.array([[1.0, 2.0], [3.0, 8.0]], np.float32))
    ms.grad(net, None, net.trainable_params())(x)
    assert len(lowerings) == 2
    for norm in net.norms:
        np.testing.assert_allclose(norm.moving_mean.asnumpy(), [0.2, 0.5], rtol=1e-6)


def _written_list(x):
    x[:2] = [0.1, x[2] * x[2]]
    return x * x


def _written_rows(x):
    rows = ops.stack((x, x))
    rows[:, 1:] = [[1, 2.5], (x[:2] * x[1])]
    return rows


def _written_numbers(x):
    x[0] = 0.1
    x[1:] = (0.3, 4)
    return x


@pytest.mark.parametrize(
    "write, expected",
    [
        (_written_list, [0.1**2, 64.0**2, 64.0]),
        (_written_rows, [[6.0, 1.0, 2.5], [6.0, 42.0, 49.0]]),
        (_written_numbers, [0.1, 0.3, 4.0]),
    ],
)
def test_a_list_may_be_written_to_a_part_of_an_array(write, expected):
    """The numbers keep the precision of the array, eagerly and compiled."""
    for run in (write, ms.jit(write)):
        x = Tensor(np.array([6.0, 7.0, 8.0]))
        assert run(x).asnumpy().tolist() == np.array(expected).tolist()
    check_grads(write, [Tensor(np.array([6.0, 7.0, 8.0]))])


def _written_word(x):
    x[:2] = ["a", 2.0]
    return x


def _written_row(x):
    x[0] = x[1:2]
    return x


@pytest.mark.parametrize(
    "write, message",
    [
        (_written_word, "a list that contains 'a' cannot be written"),
        (_written_row, "write a single number"),
    ],
)
def test_impossible_writes_are_refused_while_compiling(write, message):
    with pytest.raises(CompileError, match=message):
        gradient_source(lambda x: write(x * 1).sum(), "f32[3]")


def _spread(x):
    x = x * 1.0
    x[:2] = [x[2], x[0]]
    return (x * x).sum()


def test_a_list_that_is_assigned_may_hold_parts_of_what_it_is_assigned_to():
    x = Tensor([2.0, 3.0, 5.0], ms.float32)
    assert ms.jit(_spread)(x) == _spread(x) == 25 + 4 + 25
    assert ms.grad(_spread)(x).asnumpy().tolist() == [4.0, 0.0, 20.0]


def _set_first(x):
    x[0] = 5.0


def _seen_by_the_caller(x):
    x = x * 1.0
    part = x[:2]
    _set_first(x)
    return part


def _kept_in_a_list(x):
    x = x * 1.0
    parts = [x[:2], 1.0]
    x[0] = 5.0
    return parts[0]


@pytest.mark.parametrize("program", [_seen_by_the_caller, _kept_in_a_list])
def test_an_array_with_a_view_that_is_read_later_is_not_written_to(program):
    with pytest.raises(CompileError, match="shares its memory") as refused:
        ms.jit(program)(Tensor([1.0, 2.0, 3.0]))
    assert refused.value.problems[0].span is not None
