"""HIPS autograd: NumPy traced at every call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import autograd.numpy as np
import numpy
from autograd import make_vjp, value_and_grad
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.scipy.signal import convolve

from benchmarks.workloads import attention, batch, newton, norm
from benchmarks.workloads.workload import Workload


def seed_net(x, y, z):  # type: ignore[no-untyped-def]
    return (x * z) @ y


def line(x, w, b):  # type: ignore[no-untyped-def]
    return w * x + b


def _cross_entropy(logits, labels):  # type: ignore[no-untyped-def]
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    picked = shifted[numpy.arange(len(labels)), labels]
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - picked)


def mlp_small(w1, b1, w2, b2, x, labels):  # type: ignore[no-untyped-def]
    h = np.maximum(x @ w1 + b1, 0)
    return _cross_entropy(h @ w2 + b2, labels)


def mlp_large(*given):  # type: ignore[no-untyped-def]
    *weights, h = given
    for w, b in zip(weights[::2], weights[1::2]):
        h = np.tanh(h @ w + b)
    return np.mean(h * h)


def chain(x):  # type: ignore[no-untyped-def]
    v = np.sin(x * 1.5)
    t = np.tanh(np.exp((v + x) * 0.1))
    q = 1 / (1 + np.exp(-t)) * x
    return np.sum((np.log1p(q**2) + v) * t)


def rnn(w_in, w, b, x):  # type: ignore[no-untyped-def]
    h = numpy.zeros_like(x[0])
    for k in range(len(x)):
        h = np.tanh(x[k] @ w_in + h @ w + b)
    return np.mean(h * h)


def root(a):  # type: ignore[no-untyped-def]
    x = numpy.full(a.shape, newton.START, a.dtype)
    while np.sum(np.abs(x * x - a)) > newton.TOLERANCE:
        x = 0.5 * (x + a / x)
    return np.sum(x)


def _convolved(x, weight):  # type: ignore[no-untyped-def]
    return convolve(x, weight[:, :, ::-1, ::-1], axes=([2, 3], [2, 3]),
                    dot_axes=([1], [1]), mode="valid")  # fmt: skip


def _pooled(x):  # type: ignore[no-untyped-def]
    n, c, height, width = x.shape
    return np.max(np.reshape(x, (n, c, height // 2, 2, width // 2, 2)), axis=(3, 5))


def lenet(k1, c1, k2, c2, w1, b1, w2, b2, w3, b3, x, labels):  # type: ignore[no-untyped-def]
    x = numpy.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2)))
    x = _pooled(np.maximum(_convolved(x, k1) + c1[:, None, None], 0))
    x = _pooled(np.maximum(_convolved(x, k2) + c2[:, None, None], 0))
    x = np.reshape(x, (len(x), -1))
    x = np.maximum(x @ w1 + b1, 0)
    x = np.maximum(x @ w2 + b2, 0)
    return _cross_entropy(x @ w3 + b3, labels)


def _softmax(x):  # type: ignore[no-untyped-def]
    powers = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return powers / np.sum(powers, axis=-1, keepdims=True)


def attend(x, w, w_out):  # type: ignore[no-untyped-def]
    batch, steps, wide = x.shape
    split = (batch, steps, 3, attention.HEADS, attention.WIDTH)
    q, k, v = np.transpose(np.reshape(x @ w, split), (2, 0, 3, 1, 4))
    p = _softmax((q @ np.swapaxes(k, -1, -2)) * attention.SCALE)
    y = np.reshape(np.transpose(p @ v, (0, 2, 1, 3)), (batch, steps, wide))
    out = y @ w_out
    return np.mean(out * out)


def norm_gelu(x, scale, shift):  # type: ignore[no-untyped-def]
    c = x - np.mean(x, axis=-1, keepdims=True)
    y = c * (1 / np.sqrt(np.mean(c * c, axis=-1, keepdims=True) + norm.TINY)) * scale + shift
    return np.sum(0.5 * y * (1 + np.tanh(norm.SLOPE * (y + norm.CUBE * y**3))))


def batch_norm(x, scale, shift):  # type: ignore[no-untyped-def]
    c = x - np.mean(x, axis=(0, 2, 3), keepdims=True)
    r = 1 / np.sqrt(np.mean(c * c, axis=(0, 2, 3), keepdims=True) + batch.TINY)
    y = c * r * scale[:, None, None] + shift[:, None, None]
    y = np.maximum(y, 0)
    return np.mean(y * y)


def cross_entropy(logits, labels, shares):  # type: ignore[no-untyped-def]
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    picked = shifted[numpy.arange(len(labels)), labels]
    share = shares[labels] / np.sum(shares[labels])
    return np.sum((np.log(np.sum(np.exp(shifted), axis=1)) - picked) * share)


def valley(x):  # type: ignore[no-untyped-def]
    a, b = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    return np.sum(100 * a**2 + b**2)


def _seed_net(work: Workload) -> Callable[[], Any]:
    x, y, sens = work.inputs

    def call() -> Any:
        backward, _ = make_vjp(seed_net, (0, 1, 2))(x, y, *work.weights)
        return backward(sens)

    return call


def _of(function: Callable[..., Any], first: str) -> Callable[[Workload], Callable[[], Any]]:
    """The value, and the gradients in what stands first: the weights, or all."""

    def make(work: Workload) -> Callable[[], Any]:
        weights = first == "weights"
        given = (*work.weights, *work.inputs) if weights else (*work.inputs, *work.weights)
        count = len(work.weights) if weights else len(given)
        gradient = value_and_grad(function, tuple(range(count)))
        return lambda: gradient(*given)

    return make


CALLS: Mapping[str, Callable[[Workload], Callable[[], Any]]] = {
    "seed_net": _seed_net,
    "line": _of(line, "all"),
    "mlp_small": _of(mlp_small, "weights"),
    "mlp_large": _of(mlp_large, "weights"),
    "chain_1e3": _of(chain, "all"),
    "chain_1e5": _of(chain, "all"),
    "chain_1e7": _of(chain, "all"),
    "rnn": _of(rnn, "weights"),
    "while": _of(root, "all"),
    "lenet": _of(lenet, "weights"),
    "attention": _of(attend, "all"),
    "norm_gelu": _of(norm_gelu, "all"),
    "batch_norm": _of(batch_norm, "all"),
    "cross_entropy": _of(cross_entropy, "weights"),
    "rosenbrock": _of(valley, "all"),
}


def arrays(answer: Any) -> list[numpy.ndarray]:
    """The arrays of an answer, in order."""
    if isinstance(answer, tuple):
        return [array for item in answer for array in arrays(item)]
    return [numpy.asarray(answer._value if isinstance(answer, ArrayBox) else answer)]


def forget() -> None:
    """Nothing is compiled."""
