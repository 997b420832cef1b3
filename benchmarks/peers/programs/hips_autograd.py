"""The workloads as users of HIPS autograd write them."""

from __future__ import annotations

import autograd.numpy as np
import numpy
from autograd import elementwise_grad, grad
from autograd.scipy.signal import convolve

from benchmarks.workloads.adaptive import END, MOST, STEP
from benchmarks.workloads.attention import HEADS, HIDDEN, SCALE, WIDTH
from benchmarks.workloads.heat import STEPS
from benchmarks.workloads.losses import POSITIVE
from benchmarks.workloads.newton import START, TOLERANCE
from benchmarks.workloads.norm import CUBE, GROUPS, SLOPE, TINY
from benchmarks.workloads.second import PENALTY


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


def causal_attention(x, mask, w_q, w_k, w_v, w_out):
    batch, steps, wide = x.shape
    split = (batch, steps, HEADS, WIDTH)
    q, k, v = (np.transpose(np.reshape(x @ w, split), (0, 2, 1, 3)) for w in (w_q, w_k, w_v))
    scores = np.where(mask, HIDDEN, (q @ np.swapaxes(k, -1, -2)) * SCALE)
    y = np.transpose(_softmax(scores) @ v, (0, 2, 1, 3))
    out = np.reshape(y, (batch, steps, wide)) @ w_out
    return np.mean(out * out)


def embedding_bag(words, table, w, b):
    h = np.tanh(np.mean(table[words], axis=1) @ w + b)
    return np.mean(h * h)


def graph(sources, targets, counts, nodes, w_own, w_near):
    # There is no derivative of np.add.at: edges stand in a matrix, which is made at every call.
    edges = numpy.zeros((len(nodes), len(nodes)), numpy.float32)
    numpy.add.at(edges, (targets, sources), 1)
    h = np.maximum(nodes @ w_own + (edges @ nodes / counts) @ w_near, 0)
    return np.mean(h * h)


def heat(u, k):
    for _ in range(STEPS):
        bend = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        u = u + np.pad(k * bend, 1, "constant")
    return np.mean(u * u)


def _sigmoid(x):
    return 0.5 * np.tanh(0.5 * x) + 0.5


def lstm(x, w_in, w, b):
    h = numpy.zeros_like(x[0])
    c = numpy.zeros_like(x[0])
    for k in range(len(x)):
        i, f, o, g = np.split(x[k] @ w_in + h @ w + b, 4, axis=1)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        h = _sigmoid(o) * np.tanh(c)
    return np.mean(h * h)


def group_norm(x, scale, shift):
    rows = np.reshape(x, (len(x) * GROUPS, -1))
    c = rows - np.mean(rows, axis=1, keepdims=True)
    c = c * (1 / np.sqrt(np.mean(c * c, axis=1, keepdims=True) + TINY))
    y = np.reshape(c, x.shape) * scale[:, None, None] + shift[:, None, None]
    return np.mean(y * _sigmoid(y))


def focal_loss(labels, logits):
    p = _sigmoid(logits)
    loss = np.maximum(logits, 0) - logits * labels + np.log1p(np.exp(-np.abs(logits)))
    right = p * labels + (1 - p) * (1 - labels)
    share = POSITIVE * labels + (1 - POSITIVE) * (1 - labels)
    return np.mean(share * (1 - right) ** 2 * loss)


def hvp(x, y, v1, c1, v2, c2, w1, b1, w2, b2):
    def loss(weights):
        w1, b1, w2, b2 = weights
        error = np.tanh(x @ w1 + b1) @ w2 + b2 - y
        return np.mean(error * error)

    def slope(weights):
        gradients = zip(grad(loss)(weights), (v1, c1, v2, c2))
        return sum(np.sum(gradient * v) for gradient, v in gradients)

    return grad(slope)((w1, b1, w2, b2))


def gradient_penalty(x, w1, b1, w2):
    def critic(x):
        return np.sum(np.tanh(x @ w1 + b1) @ w2)

    d_x = elementwise_grad(critic)(x)
    long = np.sqrt(np.sum(d_x * d_x, axis=1))
    return critic(x) / len(x) + PENALTY * np.mean((long - 1) ** 2)


def adaptive(y, w, b):
    t, step = 0.0, STEP
    while t < END:
        first = np.tanh(y @ w + b)
        second = np.tanh((y + step * first) @ w + b)
        error = 0.5 * step * np.max(np.abs(second - first))
        if error > MOST:
            step = step * 0.5
        else:
            y = y + 0.5 * step * (first + second)
            t = t + step
            if error < MOST / 4:
                step = step * 2
    return np.mean(y * y)
