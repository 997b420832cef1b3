"""The workloads as users of HIPS autograd write them."""

from __future__ import annotations

import autograd.numpy as np
import numpy
from autograd.scipy.signal import convolve

from benchmarks.workloads.attention import HEADS, SCALE, WIDTH
from benchmarks.workloads.newton import START, TOLERANCE
from benchmarks.workloads.norm import CUBE, SLOPE, TINY


def seed_net(x, y, z):
    return (x * z) @ y


def line(x, w, b):
    return w * x + b


def _cross_entropy(logits, labels):
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    picked = shifted[numpy.arange(len(labels)), labels]
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - picked)


def mlp_small(x, labels, w1, b1, w2, b2):
    h = np.maximum(x @ w1 + b1, 0)
    return _cross_entropy(h @ w2 + b2, labels)


def mlp_large(h, *weights):
    for w, b in zip(weights[::2], weights[1::2]):
        h = np.tanh(h @ w + b)
    return np.mean(h * h)


def chain(x):
    v = np.sin(x * 1.5)
    t = np.tanh(np.exp((v + x) * 0.1))
    q = 1 / (1 + np.exp(-t)) * x
    return np.sum((np.log1p(q**2) + v) * t)


def rnn(x, w_in, w, b):
    h = numpy.zeros_like(x[0])
    for k in range(len(x)):
        h = np.tanh(x[k] @ w_in + h @ w + b)
    return np.mean(h * h)


def newton(a):
    x = numpy.full(a.shape, START, a.dtype)
    while np.sum(np.abs(x * x - a)) > TOLERANCE:
        x = 0.5 * (x + a / x)
    return np.sum(x)


def _convolved(x, weight):
    return convolve(x, weight[:, :, ::-1, ::-1], axes=([2, 3], [2, 3]),
                    dot_axes=([1], [1]), mode="valid")  # fmt: skip


def _pooled(x):
    n, c, height, width = x.shape
    return np.max(np.reshape(x, (n, c, height // 2, 2, width // 2, 2)), axis=(3, 5))


def lenet(x, labels, k1, c1, k2, c2, w1, b1, w2, b2, w3, b3):
    x = numpy.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2)))
    x = _pooled(np.maximum(_convolved(x, k1) + c1[:, None, None], 0))
    x = _pooled(np.maximum(_convolved(x, k2) + c2[:, None, None], 0))
    x = np.reshape(x, (len(x), -1))
    x = np.maximum(x @ w1 + b1, 0)
    x = np.maximum(x @ w2 + b2, 0)
    return _cross_entropy(x @ w3 + b3, labels)


def _softmax(x):
    powers = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return powers / np.sum(powers, axis=-1, keepdims=True)


def attention(x, w, w_out):
    batch, steps, wide = x.shape
    split = (batch, steps, 3, HEADS, WIDTH)
    q, k, v = np.transpose(np.reshape(x @ w, split), (2, 0, 3, 1, 4))
    p = _softmax((q @ np.swapaxes(k, -1, -2)) * SCALE)
    y = np.reshape(np.transpose(p @ v, (0, 2, 1, 3)), (batch, steps, wide))
    out = y @ w_out
    return np.mean(out * out)


def norm_gelu(x, scale, shift):
    c = x - np.mean(x, axis=-1, keepdims=True)
    y = c * (1 / np.sqrt(np.mean(c * c, axis=-1, keepdims=True) + TINY)) * scale + shift
    return np.sum(0.5 * y * (1 + np.tanh(SLOPE * (y + CUBE * y**3))))


def batch_norm(x, scale, shift):
    c = x - np.mean(x, axis=(0, 2, 3), keepdims=True)
    r = 1 / np.sqrt(np.mean(c * c, axis=(0, 2, 3), keepdims=True) + TINY)
    y = c * r * scale[:, None, None] + shift[:, None, None]
    y = np.maximum(y, 0)
    return np.mean(y * y)


def cross_entropy(labels, shares, logits):
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    picked = shifted[numpy.arange(len(labels)), labels]
    share = shares[labels] / np.sum(shares[labels])
    return np.sum((np.log(np.sum(np.exp(shifted), axis=1)) - picked) * share)


def rosenbrock(x):
    a, b = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    return np.sum(100 * a**2 + b**2)
