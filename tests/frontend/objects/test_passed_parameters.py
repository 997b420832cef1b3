"""Parameters that are written to under another name, or by a function that takes them."""

from __future__ import annotations

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.errors import CompileError


def subtracted(parameter, amount):
    ops.assign_sub(parameter, amount)


def twice(parameter, amount):
    subtracted(parameter, amount)
    return subtracted(parameter, amount)


class Passed(nn.Cell):
    """Writes to Parameters under other names, or passes them to functions."""

    def __init__(self, way):
        super().__init__()
        self.w, self.v = Parameter(Tensor([1.0])), Parameter(Tensor([5.0]))
        self.both = ms.ParameterTuple([self.w, self.v])
        self.way = way

    def construct(self, x):
        if self.way == "another name":
            p = self.w
            before = p + 0.0
            ops.assign_add(p, x)
            ops.assign_add(p, x)
            return p + 10.0 * before
        if self.way == "a function":
            twice(self.w, x)
            subtracted(self.v, self.w)
            return self.w + 10.0 * self.v
        if self.way == "a map":
            ops.HyperMap()(ops.partial(ops.assign_add), self.both, (x, 2.0 * x))
            return self.w + 10.0 * self.v
        if self.way == "one value for both":
            ops.assign(self.w, x)
            ops.assign(self.v, x)
            twice(self.v, x)
            return self.w + 10.0 * self.v
        for p in self.both:
            if x.sum() > 0:
                subtracted(p, x * p)
        return self.w + 10.0 * self.v


@pytest.mark.parametrize(
    "way", ["another name", "a function", "a map", "one value for both", "a branch"]
)
def test_parameters_that_are_passed_on(way: str) -> None:
    """The result agrees with the same function run eagerly."""
    one, other = Passed(way), Passed(way)
    expected = one(Tensor([3.0]))
    found = ms.jit(other)(Tensor([3.0]))
    values = [[cell.w.tolist(), cell.v.tolist()] for cell in (one, other)]
    assert values[0] == values[1] != [[1.0], [5.0]]
    assert found.tolist() == expected.tolist()


def test_gradients_through_a_parameter_that_was_passed_on() -> None:
    net = Passed("a function")
    d_x, (d_w, d_v) = ms.grad(net, 0, net.trainable_params())(Tensor([3.0]))
    # w + 10 v, both as they are held: no gradient passes through what was stored in them.
    assert (d_x.tolist(), d_w.tolist(), d_v.tolist()) == ([0.0], [1.0], [10.0])


class Held(nn.Cell):
    """A Cell with a method and a property that return its Parameter by way of an operator."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([10.0]))
        self.identity = ops.Identity()

    @property
    def same(self):
        return self.identity(self.w)

    def itself(self):
        return self.identity(self.w)


@pytest.mark.parametrize("read", [lambda held: held.same, lambda held: held.itself()])
def test_a_method_returns_the_parameter_that_its_caller_wrote(read) -> None:
    @ms.jit
    def written(held, x):
        ops.assign(held.w, x)
        return read(held) + 1.0

    assert written(Held(), Tensor([2.0])).tolist() == [3.0]


class WritesAnother(nn.Cell):
    """Writes to the Parameters of another Cell, and uses its argument afterwards."""

    def __init__(self, net):
        super().__init__()
        self.w = net.w

    def construct(self, x, y=2.0):
        self.w = self.w * y
        return (x * x).sum()


def test_an_argument_that_is_the_written_parameter_is_refused() -> None:
    """The function would read the value before the write under the argument's name."""
    net = Passed("a branch")
    cell = WritesAnother(net)
    for wanted in (ms.grad(cell), ms.jit(cell)):
        with pytest.raises(CompileError, match="an argument is that Parameter"):
            wanted(net.w)
    assert net.w.asnumpy() == 1.0
    assert ms.grad(cell)(net.v).asnumpy() == 10.0 and net.w.asnumpy() == 2.0
    assert ms.grad(cell)(net.w * 1).asnumpy() == 4.0
    for _ in range(3):  # by the fast path, too
        ms.grad(cell)(net.v)
    with pytest.raises(CompileError, match="an argument is that Parameter"):
        ms.grad(cell)(net.w)
