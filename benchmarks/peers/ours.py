"""Ours: the workloads as a user of this package writes them, Cells and functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autodiff_compiler import Parameter, ParameterTuple, Tensor, compile_info, nn, ops
from benchmarks.workloads import attention, batch, newton, norm
from benchmarks.workloads.workload import Workload

Call = Callable[[], Any]


class Weighted(nn.Cell):
    """A Cell with the workload's weights as Parameters of the given names."""

    def __init__(self, names: str, weights: tuple[np.ndarray, ...]):
        super().__init__()
        for name, weight in zip(names.split(), weights, strict=True):
            setattr(self, name, Parameter(Tensor(weight), name=name))


class SeedNet(Weighted):
    """The net of the seed documents."""

    def construct(self, x, y):  # type: ignore[no-untyped-def]
        x = x * self.z
        out = ops.matmul(x, y)
        return out


class Line(Weighted):
    """The line of the tutorial."""

    def construct(self, x):  # type: ignore[no-untyped-def]
        return self.w * x + self.b


class Small(Weighted):
    """One hidden layer."""

    def construct(self, x, labels):  # type: ignore[no-untyped-def]
        h = ops.relu(ops.matmul(x, self.w1) + self.b1)
        logits = ops.matmul(h, self.w2) + self.b2
        return ops.cross_entropy(logits, labels)


class Large(Weighted):
    """Four wide layers."""

    def construct(self, x):  # type: ignore[no-untyped-def]
        h = ops.tanh(ops.matmul(x, self.w1) + self.b1)
        h = ops.tanh(ops.matmul(h, self.w2) + self.b2)
        h = ops.tanh(ops.matmul(h, self.w3) + self.b3)
        h = ops.tanh(ops.matmul(h, self.w4) + self.b4)
        return ops.mean(h * h)


class Rnn(Weighted):
    """A loop over the steps of a sequence."""

    def construct(self, x):  # type: ignore[no-untyped-def]
        h = ops.zeros_like(x[0])
        for k in range(x.shape[0]):
            h = ops.tanh(ops.matmul(x[k], self.w_in) + ops.matmul(h, self.w) + self.b)
        return ops.mean(h * h)


class Loss(Weighted):
    """The loss alone; what it is taken of is the weight."""

    def construct(self, labels, shares):  # type: ignore[no-untyped-def]
        return ops.cross_entropy(self.logits, labels, shares)


class LeNet(Weighted):
    """Convolutions, poolings, dense layers."""

    def construct(self, x, labels):  # type: ignore[no-untyped-def]
        x = ops.relu(ops.conv2d(x, self.k1, self.c1, pad_mode="pad", padding=2))
        x = ops.max_pool2d(x, 2, 2)
        x = ops.relu(ops.conv2d(x, self.k2, self.c2))
        x = ops.max_pool2d(x, 2, 2)
        x = ops.reshape(x, (x.shape[0], -1))
        x = ops.relu(ops.matmul(x, self.w1) + self.b1)
        x = ops.relu(ops.matmul(x, self.w2) + self.b2)
        return ops.cross_entropy(ops.matmul(x, self.w3) + self.b3, labels)


def chain(x):  # type: ignore[no-untyped-def]
    """Twelve operators, and the sum."""
    v = ops.sin(x * 1.5)
    t = ops.tanh(ops.exp((v + x) * 0.1))
    q = ops.sigmoid(t) * x
    return ops.sum((ops.log1p(q**2) + v) * t)


def root(a):  # type: ignore[no-untyped-def]
    """Newton's method, until the error is small."""
    x = ops.full_like(a, newton.START)
    while ops.sum(ops.abs(x * x - a)) > newton.TOLERANCE:
        x = 0.5 * (x + a / x)
    return ops.sum(x)


def attend(x, w, w_out):  # type: ignore[no-untyped-def]
    """Four heads of attention."""
    batch, steps, wide = x.shape
    split = (batch, steps, 3, attention.HEADS, attention.WIDTH)
    q, k, v = ops.matmul(x, w).reshape(split).transpose(2, 0, 3, 1, 4)
    p = ops.softmax(ops.matmul(q, k.swapaxes(-1, -2)) * attention.SCALE, -1)
    y = ops.matmul(p, v).transpose(0, 2, 1, 3).reshape((batch, steps, wide))
    out = ops.matmul(y, w_out)
    return ops.mean(out * out)


def norm_gelu(x, scale, shift):  # type: ignore[no-untyped-def]
    """A layer norm and a GELU."""
    c = x - ops.mean(x, -1, True)
    y = c * ops.rsqrt(ops.mean(c * c, -1, True) + norm.TINY) * scale + shift
    return ops.sum(0.5 * y * (1 + ops.tanh(norm.SLOPE * (y + norm.CUBE * y**3))))


def batch_norm(x, scale, shift):  # type: ignore[no-untyped-def]
    """A batch norm in training."""
    y = ops.batch_norm(x, None, None, scale, shift, True, eps=batch.TINY)
    y = ops.relu(y)
    return ops.mean(y * y)


def valley(x):  # type: ignore[no-untyped-def]
    """Rosenbrock's valley."""
    a, b = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    return ops.sum(100 * a**2 + b**2)


def _of_weights(cell: Weighted, work: Workload, position: int | None = None) -> Call:
    """The value, and the gradients in all weights (and in one input)."""
    weights = ParameterTuple(cell.trainable_params())
    gradient = ops.value_and_grad(cell, position, weights)
    inputs = [Tensor(array) for array in work.inputs]
    return lambda: gradient(*inputs)


def _of_input(function: Callable[..., Any], work: Workload) -> Call:
    gradient = ops.value_and_grad(function)
    (x,) = [Tensor(array) for array in work.inputs]
    return lambda: gradient(x)


def _of_all(function: Callable[..., Any], work: Workload) -> Call:
    given = [Tensor(array) for array in (*work.inputs, *work.weights)]
    gradient = ops.value_and_grad(function, tuple(range(len(given))))
    return lambda: gradient(*given)


def _seed_net(work: Workload) -> Call:
    cell = SeedNet("z", work.weights)
    weights = ParameterTuple(cell.trainable_params())
    gradient = ops.GradOperation(get_all=True, get_by_list=True, sens_param=True)(cell, weights)
    inputs = [Tensor(array) for array in work.inputs]
    return lambda: gradient(*inputs)


LAYERS = "w1 b1 w2 b2 w3 b3 w4 b4"

CALLS: Mapping[str, Callable[[Workload], Call]] = {
    "seed_net": _seed_net,
    "line": lambda work: _of_weights(Line("w b", work.weights), work, 0),
    "mlp_small": lambda work: _of_weights(Small("w1 b1 w2 b2", work.weights), work),
    "mlp_large": lambda work: _of_weights(Large(LAYERS, work.weights), work),
    "chain_1e3": lambda work: _of_input(chain, work),
    "chain_1e5": lambda work: _of_input(chain, work),
    "chain_1e7": lambda work: _of_input(chain, work),
    "rnn": lambda work: _of_weights(Rnn("w_in w b", work.weights), work),
    "while": lambda work: _of_input(root, work),
    "lenet": lambda work: _of_weights(LeNet("k1 c1 k2 c2 w1 b1 w2 b2 w3 b3", work.weights), work),
    "attention": lambda work: _of_all(attend, work),
    "norm_gelu": lambda work: _of_all(norm_gelu, work),
    "batch_norm": lambda work: _of_all(batch_norm, work),
    "cross_entropy": lambda work: _of_weights(Loss("logits", work.weights), work),
    "rosenbrock": lambda work: _of_input(valley, work),
}


def arrays(answer: Any) -> list[np.ndarray]:
    """The arrays of an answer, in order."""
    if isinstance(answer, (tuple, list)):
        return [array for item in answer for array in arrays(item)]
    return [np.asarray(answer.asnumpy() if isinstance(answer, Tensor) else answer)]


def forget() -> None:
    """Drops what is compiled."""
    compile_info().clear()


def kept() -> int:
    """The bytes that are kept to work in, between calls."""
    return sum(unit.work_bytes for unit in compile_info().units)
