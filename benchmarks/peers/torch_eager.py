"""PyTorch as it is: operators run one by one and are written down on a tape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from benchmarks.workloads import attention, batch, newton, norm
from benchmarks.workloads.workload import Workload


def seed_net(x, y, z):  # type: ignore[no-untyped-def]
    return (x * z) @ y


def line(x, w, b):  # type: ignore[no-untyped-def]
    return w * x + b


def mlp_small(w1, b1, w2, b2, x, labels):  # type: ignore[no-untyped-def]
    h = torch.relu(x @ w1 + b1)
    return functional.cross_entropy(h @ w2 + b2, labels)


def mlp_large(w1, b1, w2, b2, w3, b3, w4, b4, x):  # type: ignore[no-untyped-def]
    h = torch.tanh(x @ w1 + b1)
    h = torch.tanh(h @ w2 + b2)
    h = torch.tanh(h @ w3 + b3)
    h = torch.tanh(h @ w4 + b4)
    return torch.mean(h * h)


def chain(x):  # type: ignore[no-untyped-def]
    v = torch.sin(x * 1.5)
    t = torch.tanh(torch.exp((v + x) * 0.1))
    q = torch.sigmoid(t) * x
    return torch.sum((torch.log1p(q**2) + v) * t)


def rnn(w_in, w, b, x):  # type: ignore[no-untyped-def]
    h = torch.zeros_like(x[0])
    for k in range(x.shape[0]):
        h = torch.tanh(x[k] @ w_in + h @ w + b)
    return torch.mean(h * h)


def root(a):  # type: ignore[no-untyped-def]
    x = torch.full_like(a, newton.START)
    while torch.sum(torch.abs(x * x - a)) > newton.TOLERANCE:
        x = 0.5 * (x + a / x)
    return torch.sum(x)


def lenet(k1, c1, k2, c2, w1, b1, w2, b2, w3, b3, x, labels):  # type: ignore[no-untyped-def]
    x = functional.max_pool2d(torch.relu(functional.conv2d(x, k1, c1, padding=2)), 2)
    x = functional.max_pool2d(torch.relu(functional.conv2d(x, k2, c2)), 2)
    x = x.reshape(x.shape[0], -1)
    x = torch.relu(x @ w1 + b1)
    x = torch.relu(x @ w2 + b2)
    return functional.cross_entropy(x @ w3 + b3, labels)


def attend(x, w, w_out):  # type: ignore[no-untyped-def]
    batch, steps, wide = x.shape
    split = (batch, steps, 3, attention.HEADS, attention.WIDTH)
    q, k, v = (x @ w).reshape(split).permute(2, 0, 3, 1, 4)
    p = torch.softmax((q @ k.swapaxes(-1, -2)) * attention.SCALE, -1)
    y = (p @ v).permute(0, 2, 1, 3).reshape((batch, steps, wide))
    out = y @ w_out
    return torch.mean(out * out)


def norm_gelu(x, scale, shift):  # type: ignore[no-untyped-def]
    c = x - torch.mean(x, -1, True)
    y = c * torch.rsqrt(torch.mean(c * c, -1, True) + norm.TINY) * scale + shift
    return torch.sum(0.5 * y * (1 + torch.tanh(norm.SLOPE * (y + norm.CUBE * y**3))))


def batch_norm(x, scale, shift):  # type: ignore[no-untyped-def]
    y = torch.nn.functional.batch_norm(x, None, None, scale, shift, True, eps=batch.TINY)
    y = torch.relu(y)
    return torch.mean(y * y)


def cross_entropy(logits, labels, shares):  # type: ignore[no-untyped-def]
    return torch.nn.functional.cross_entropy(logits, labels, shares)


def valley(x):  # type: ignore[no-untyped-def]
    a, b = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    return torch.sum(100 * a**2 + b**2)


def _tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array.astype(np.int64) if array.dtype.kind == "i" else array.copy())


def of(
    function: Callable[..., Any], first: str = "all", sens: bool = False
) -> Callable[[Workload], Callable[[], Any]]:
    """The value (unless a sensitivity is given), and the gradients in what stands first: the
    weights, or all."""

    def make(work: Workload) -> Callable[[], Any]:
        inputs, weights = map(_tensor, work.inputs), list(map(_tensor, work.weights))
        *inputs, seed = (*inputs, None) if not sens else inputs
        given = [*weights, *inputs] if first == "weights" else [*inputs, *weights]
        wanted = weights if first == "weights" else given
        for tensor in wanted:
            tensor.requires_grad_()

        def call() -> Any:
            out = function(*given)
            gradients = torch.autograd.grad(out, wanted, seed)
            return gradients if sens else (out.detach(), *gradients)

        return call

    return make


CALLS: Mapping[str, Callable[[Workload], Callable[[], Any]]] = {
    "seed_net": of(seed_net, sens=True),
    "line": of(line),
    "mlp_small": of(mlp_small, "weights"),
    "mlp_large": of(mlp_large, "weights"),
    "chain_1e3": of(chain),
    "chain_1e5": of(chain),
    "chain_1e7": of(chain),
    "rnn": of(rnn, "weights"),
    "while": of(root),
    "lenet": of(lenet, "weights"),
    "attention": of(attend),
    "norm_gelu": of(norm_gelu),
    "batch_norm": of(batch_norm),
    "cross_entropy": of(cross_entropy, "weights"),
    "rosenbrock": of(valley),
}


def arrays(answer: Any) -> list[np.ndarray]:
    """The arrays of an answer, in order."""
    return [tensor.numpy() for tensor in answer]


def forget() -> None:
    """Nothing is compiled."""
