"""The workloads as users of JAX write them."""

from __future__ import annotations

import jax
from jax import lax
from jax import numpy as jnp

from benchmarks.workloads.attention import HEADS, SCALE, WIDTH
from benchmarks.workloads.newton import START, TOLERANCE
from benchmarks.workloads.norm import CUBE, SLOPE, TINY

#: Iterations of what is a ``while`` elsewhere; a finished one keeps its value.
BOUND = 64


def seed_net(x, y, z):
    return (x * z) @ y


def line(x, w, b):
    return w * x + b


def _cross_entropy(logits, labels):
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
    return -jnp.mean(picked)


def mlp_small(x, labels, w1, b1, w2, b2):
    h = jax.nn.relu(x @ w1 + b1)
    return _cross_entropy(h @ w2 + b2, labels)


def mlp_large(x, w1, b1, w2, b2, w3, b3, w4, b4):
    h = jnp.tanh(x @ w1 + b1)
    h = jnp.tanh(h @ w2 + b2)
    h = jnp.tanh(h @ w3 + b3)
    h = jnp.tanh(h @ w4 + b4)
    return jnp.mean(h * h)


def chain(x):
    v = jnp.sin(x * 1.5)
    t = jnp.tanh(jnp.exp((v + x) * 0.1))
    q = jax.nn.sigmoid(t) * x
    return jnp.sum((jnp.log1p(q**2) + v) * t)


def rnn(x, w_in, w, b):
    def step(h, x_k):
        return jnp.tanh(x_k @ w_in + h @ w + b), None

    h, _ = lax.scan(step, jnp.zeros_like(x[0]), x)
    return jnp.mean(h * h)


def newton(a):
    def step(x, _):
        goes_on = jnp.sum(jnp.abs(x * x - a)) > TOLERANCE
        return jnp.where(goes_on, 0.5 * (x + a / x), x), None

    x, _ = lax.scan(step, jnp.full_like(a, START), None, BOUND)
    return jnp.sum(x)


def _convolved(x, weight, bias, padding):
    return lax.conv(x, weight, (1, 1), padding) + bias[:, None, None]


def _pooled(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def lenet(x, labels, k1, c1, k2, c2, w1, b1, w2, b2, w3, b3):
    x = _pooled(jax.nn.relu(_convolved(x, k1, c1, "SAME")))
    x = _pooled(jax.nn.relu(_convolved(x, k2, c2, "VALID")))
    x = x.reshape(len(x), -1)
    x = jax.nn.relu(x @ w1 + b1)
    x = jax.nn.relu(x @ w2 + b2)
    return _cross_entropy(x @ w3 + b3, labels)


def attention(x, w, w_out):
    batch, steps, wide = x.shape
    split = (batch, steps, 3, HEADS, WIDTH)
    q, k, v = (x @ w).reshape(split).transpose(2, 0, 3, 1, 4)
    p = jax.nn.softmax((q @ k.swapaxes(-1, -2)) * SCALE)
    y = (p @ v).transpose(0, 2, 1, 3).reshape((batch, steps, wide))
    out = y @ w_out
    return jnp.mean(out * out)


def norm_gelu(x, scale, shift):
    c = x - jnp.mean(x, axis=-1, keepdims=True)
    y = c * lax.rsqrt(jnp.mean(c * c, axis=-1, keepdims=True) + TINY) * scale + shift
    return jnp.sum(0.5 * y * (1 + jnp.tanh(SLOPE * (y + CUBE * y**3))))


def batch_norm(x, scale, shift):
    c = x - jnp.mean(x, axis=(0, 2, 3), keepdims=True)
    r = lax.rsqrt(jnp.mean(c * c, axis=(0, 2, 3), keepdims=True) + TINY)
    y = c * r * scale[:, None, None] + shift[:, None, None]
    y = jax.nn.relu(y)
    return jnp.mean(y * y)


def cross_entropy(labels, shares, logits):
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)[:, 0]
    return -jnp.sum(picked * shares[labels]) / jnp.sum(shares[labels])


def rosenbrock(x):
    a, b = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    return jnp.sum(100 * a**2 + b**2)
