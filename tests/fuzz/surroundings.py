"""What every random program stands on: functions and Cells that it may call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from autodiff_compiler import Parameter, Tensor, nn, ops

POWER = 2


def blend(a, b=0.5, *rest, scale=1.0, **more):
    out = ops.sin(a * scale) + b
    for item in rest:
        out = out * item
    for key in more:
        out = out + more[key] * 0.1
    return out


def ordered(a, b):
    if ops.sum(a) > ops.sum(b) + 0.01:
        return a, b
    return b, ops.sin(a)


def repeated(a, n):
    if n <= 0:
        return a
    for j in range(n):
        a = ops.tanh(a + 0.1 * j)
        if ops.sum(a) > 1.5:
            return a * 0.5
    return a


def halved(a, n):
    """Calls itself as often as the number that comes with the call says."""
    return a if n <= 0 else ops.sin(a) * halved(a * 0.5, n - 1)


def checked(a, most):
    if ops.sum(a) > most:
        raise ValueError(f"more than {most}")
    return a * 0.5


def filled(buffer, value, place=0):
    buffer[place] = value
    return buffer


def grown(items, value):
    items.append(ops.sin(value))
    items[0] = value
    return items[-1]


class Pair(NamedTuple):
    first: Any
    second: Any = 0.5


@dataclass
class Scale:
    by: Any
    shift: float = 0.25


def doubled(function):
    def twice(*args):
        return function(*args) * 2

    return twice


class Unit(nn.Cell):
    def __init__(self, seed):
        super().__init__()
        self.w = Parameter(Tensor(np.random.RandomState(seed).uniform(-1, 1, (3,))))
        self.gain = 0.3 * seed

    def construct(self, x, bias=0.1):
        return ops.tanh(x * self.w + bias) * self.gain + x * 0.1


class Base(nn.Cell):
    """Parameters, a tensor that is none, Cells of which one is shared, and what may be written."""

    WRITTEN = ("calls", "state")

    def __init__(self):
        super().__init__()
        rng = np.random.RandomState(7)
        self.w = Parameter(Tensor(rng.uniform(-1, 1, (3,))))
        self.u = Parameter(Tensor(rng.uniform(-1, 1, (3, 3))))
        self.const = Tensor(rng.uniform(-1, 1, (3,)))
        self.a = Unit(1)
        self.b = Unit(2)
        self.layers = nn.CellList([self.a, self.b, self.a])
        self.chain = nn.SequentialCell(self.b, Unit(3))
        self.flag = True
        self.rate = 0.25
        self.calls = 0
        self.state = Tensor(rng.uniform(-1, 1, (3,)))
        self.seen = Parameter(Tensor(np.zeros(3)), requires_grad=False)

    def method(self, x, y=None, *, k=2):
        if y is None:
            y = self.w
        for i in range(k):
            x = ops.sin(x * y) + self.rate * i
        return x


class Scaled:
    """A plain context manager."""

    def __init__(self, by):
        self.by = by

    def __enter__(self):
        self.by = self.by * 0.5
        return self

    def __exit__(self, *error):
        self.by = 0
