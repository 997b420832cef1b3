"""Programs that are refused for what stands in a text that they call: by which calls is told."""

from __future__ import annotations

import numpy as np

from autodiff_compiler import Parameter, Tensor, nn, ops
from tests.errors.cases import refused

X = np.array([0.5, 1.5, -0.5], np.float32)

F32 = np.float32


class Block(nn.Cell):
    def construct(self, x):
        return ops.matmul(x, x)


class Stage(nn.Cell):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def construct(self, x):
        y = ops.tanh(x)
        return self.block(y)


@refused(np.ones((2, 3), F32))
class CalledTwice(nn.Cell):
    """The same problem by two ways is told once."""

    def __init__(self):
        super().__init__()
        self.stage = Stage()

    def construct(self, x):
        for _ in range(3):
            x = self.stage(x)
        return x + self.stage(x)


def scaled(x, factor):
    return x * factr  # noqa: F821


@refused(np.ones(2, F32))
def called_through_a_closure(x):
    def inner(v):
        return scaled(v, 2.0)

    return sum(inner(row) for row in x)


def down(x, depth):
    if depth == 0:
        return x + "one"
    return level(x, depth)


def level(x, depth):
    return down(x, depth - 1)


@refused(np.ones(2, F32))
def called_through_many(x):
    return down(x, 6)


def given_up(x):
    yield x


@refused(np.ones(2, F32))
def called_and_is_no_text(x):
    y = x * 2.0
    return given_up(y)


def drawn(x):
    return ops.gamma((3,), x[0], 1.0)


def weighed(x):
    return x[0] * drawn(x)


@refused(np.ones(2, F32))
def called_without_a_derivative(x):
    y = ops.tanh(x)
    return weighed(y)


def chosen(table, key):
    return table[key]


@refused(np.ones(2, F32))
def called_with_what_a_run_knows(x):
    key = x[0]
    return chosen({1: x}, key)


class Doubling:
    """Not a property: what it does is its own affair, and the compiler does not see it."""

    def __get__(self, owner, kind):
        return owner.weight * 2


@refused(np.ones(2, F32))
class ComputedByADescriptor(nn.Cell):
    double = Doubling()

    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor(np.ones(2, F32)), name="weight")

    def construct(self, x):
        return x * self.double


@refused(X)
def method_without_an_operator(x):
    return x.tolist()[0] * x
