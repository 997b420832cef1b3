"""MindSpore in graph mode, on the CPU: value and gradient in one compiled graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops

from benchmarks.workloads import attention, batch, newton, norm
from benchmarks.workloads.workload import Workload

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")


def seed_net(x, y, z):  # type: ignore[no-untyped-def]
    return ops.matmul(x * z, y)


def line(x, w, b):  # type: ignore[no-untyped-def]
    return w * x + b


def mlp_small(w1, b1, w2, b2, x, labels):  # type: ignore[no-untyped-def]
    h = ops.relu(ops.matmul(x, w1) + b1)
    return ops.cross_entropy(ops.matmul(h, w2) + b2, labels)


def mlp_large(w1, b1, w2, b2, w3, b3, w4, b4, x):  # type: ignore[no-untyped-def]
    h = ops.tanh(ops.matmul(x, w1) + b1)
    h = ops.tanh(ops.matmul(h, w2) + b2)
    h = ops.tanh(ops.matmul(h, w3) + b3)
    h = ops.tanh(ops.matmul(h, w4) + b4)
    return ops.mean(h * h)


def chain(x):  # type: ignore[no-untyped-def]
    v = ops.sin(x * 1.5)
    t = ops.tanh(ops.exp((v + x) * 0.1))
    q = ops.sigmoid(t) * x
    return ops.sum((ops.log1p(q**2) + v) * t)


def rnn(w_in, w, b, x):  # type: ignore[no-untyped-def]
    h = ops.zeros_like(x[0])
    for k in range(x.shape[0]):
        h = ops.tanh(ops.matmul(x[k], w_in) + ops.matmul(h, w) + b)
    return ops.mean(h * h)


def root(a):  # type: ignore[no-untyped-def]
    x = ops.full_like(a, newton.START)
    while ops.sum(ops.abs(x * x - a)) > newton.TOLERANCE:
        x = 0.5 * (x + a / x)
    return ops.sum(x)


def lenet(k1, c1, k2, c2, w1, b1, w2, b2, w3, b3, x, labels):  # type: ignore[no-untyped-def]
    x = ops.relu(ops.conv2d(x, k1, c1, pad_mode="pad", padding=2))
    x = ops.max_pool2d(x, 2, 2)
    x = ops.relu(ops.conv2d(x, k2, c2))
    x = ops.max_pool2d(x, 2, 2)
    x = ops.reshape(x, (x.shape[0], -1))
    x = ops.relu(ops.matmul(x, w1) + b1)
    x = ops.relu(ops.matmul(x, w2) + b2)
    return ops.cross_entropy(ops.matmul(x, w3) + b3, labels)


def attend(x, w, w_out):  # type: ignore[no-untyped-def]
    batch, steps, wide = x.shape
    split = (batch, steps, 3, attention.HEADS, attention.WIDTH)
    q, k, v = ops.matmul(x, w).reshape(split).transpose(2, 0, 3, 1, 4)
    p = ops.softmax(ops.matmul(q, k.swapaxes(-1, -2)) * attention.SCALE, -1)
    y = ops.matmul(p, v).transpose(0, 2, 1, 3).reshape((batch, steps, wide))
    out = ops.matmul(y, w_out)
    return ops.mean(out * out)


def norm_gelu(x, scale, shift):  # type: ignore[no-untyped-def]
    c = x - ops.mean(x, -1, True)
    y = c * ops.rsqrt(ops.mean(c * c, -1, True) + norm.TINY) * scale + shift
    return ops.sum(0.5 * y * (1 + ops.tanh(norm.SLOPE * (y + norm.CUBE * y**3))))


def batch_norm(x, scale, shift):  # type: ignore[no-untyped-def]
    c = x - ops.mean(x, (0, 2, 3), True)
    r = ops.rsqrt(ops.mean(c * c, (0, 2, 3), True) + batch.TINY)
    y = c * r * scale.reshape((-1, 1, 1)) + shift.reshape((-1, 1, 1))
    y = ops.relu(y)
    return ops.mean(y * y)


def cross_entropy(logits, labels, shares):  # type: ignore[no-untyped-def]
    return ops.cross_entropy(logits, labels, shares)


def valley(x):  # type: ignore[no-untyped-def]
    a, b = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    return ops.sum(100 * a**2 + b**2)


def _of(
    function: Callable[..., Any], first: str = "all", sens: bool = False
) -> Callable[[Workload], Callable[[], Any]]:
    """The value (unless a sensitivity is given), and the gradients in what stands first: the
    weights, or all."""

    def make(work: Workload) -> Callable[[], Any]:
        inputs, weights = (list(map(Tensor, row)) for row in (work.inputs, work.weights))
        seed = [inputs.pop()] if sens else []
        given = [*weights, *inputs] if first == "weights" else [*inputs, *weights]
        places = tuple(range(len(weights) if first == "weights" else len(given)))
        if sens:
            gradient = ms.jit(ops.GradOperation(get_all=True, sens_param=True)(function))
        else:
            gradient = ms.jit(ms.value_and_grad(function, places))

        def call() -> Any:
            answer = gradient(*given, *seed)
            arrays(answer)  # waits
            return answer

        return call

    return make


CALLS: Mapping[str, Callable[[Workload], Callable[[], Any]]] = {
    "seed_net": _of(seed_net, sens=True),
    "line": _of(line),
    "mlp_small": _of(mlp_small, "weights"),
    "mlp_large": _of(mlp_large, "weights"),
    "chain_1e3": _of(chain),
    "chain_1e5": _of(chain),
    "chain_1e7": _of(chain),
    "rnn": _of(rnn, "weights"),
    "while": _of(root),
    "lenet": _of(lenet, "weights"),
    "attention": _of(attend),
    "norm_gelu": _of(norm_gelu),
    "batch_norm": _of(batch_norm),
    "cross_entropy": _of(cross_entropy, "weights"),
    "rosenbrock": _of(valley),
}


def arrays(answer: Any) -> list[np.ndarray]:
    """The arrays of an answer, in order."""
    if isinstance(answer, (tuple, list)):
        return [array for item in answer for array in arrays(item)]
    return [answer.asnumpy()]


def forget() -> None:
    """A maker's function is a new one, which MindSpore compiles again."""
