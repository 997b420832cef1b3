"""The workloads as users of JAX write them."""

from __future__ import annotations

import jax
from jax import lax
from jax import numpy as jnp

from benchmarks.workloads.adaptive import END, MOST, STEP
from benchmarks.workloads.attention import HEADS, HIDDEN, SCALE, WIDTH
from benchmarks.workloads.heat import STEPS
from benchmarks.workloads.losses import POSITIVE
from benchmarks.workloads.newton import START, TOLERANCE
from benchmarks.workloads.norm import CUBE, GROUPS, SLOPE, TINY
from benchmarks.workloads.second import PENALTY

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


def causal_attention(x, mask, w_q, w_k, w_v, w_out):
    batch, steps, wide = x.shape
    split = (batch, steps, HEADS, WIDTH)
    q, k, v = ((x @ w).reshape(split).transpose(0, 2, 1, 3) for w in (w_q, w_k, w_v))
    scores = jnp.where(mask, HIDDEN, (q @ k.swapaxes(-1, -2)) * SCALE)
    y = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3)
    out = y.reshape((batch, steps, wide)) @ w_out
    return jnp.mean(out * out)


def embedding_bag(words, table, w, b):
    h = jnp.tanh(jnp.mean(table[words], axis=1) @ w + b)
    return jnp.mean(h * h)


def graph(sources, targets, counts, nodes, w_own, w_near):
    near = jax.ops.segment_sum(nodes[sources], targets, len(nodes)) / counts
    h = jax.nn.relu(nodes @ w_own + near @ w_near)
    return jnp.mean(h * h)


def heat(u, k):
    def step(u, _):
        bend = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        return u.at[1:-1, 1:-1].add(k * bend), None

    u, _ = lax.scan(step, u, None, STEPS)
    return jnp.mean(u * u)


def lstm(x, w_in, w, b):
    def step(state, x_k):
        h, c = state
        i, f, o, g = jnp.split(x_k @ w_in + h @ w + b, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    (h, _), _ = lax.scan(step, (jnp.zeros_like(x[0]), jnp.zeros_like(x[0])), x)
    return jnp.mean(h * h)


def group_norm(x, scale, shift):
    rows = x.reshape(len(x) * GROUPS, -1)
    c = rows - jnp.mean(rows, axis=1, keepdims=True)
    c = c * lax.rsqrt(jnp.mean(c * c, axis=1, keepdims=True) + TINY)
    y = c.reshape(x.shape) * scale[:, None, None] + shift[:, None, None]
    return jnp.mean(jax.nn.silu(y))


def focal_loss(labels, logits):
    p = jax.nn.sigmoid(logits)
    loss = jax.nn.softplus(logits) - logits * labels
    right = p * labels + (1 - p) * (1 - labels)
    share = POSITIVE * labels + (1 - POSITIVE) * (1 - labels)
    return jnp.mean(share * (1 - right) ** 2 * loss)


def hvp(x, y, v1, c1, v2, c2, w1, b1, w2, b2):
    def loss(w1, b1, w2, b2):
        error = jnp.tanh(x @ w1 + b1) @ w2 + b2 - y
        return jnp.mean(error * error)

    gradient = jax.grad(loss, (0, 1, 2, 3))
    return jax.jvp(gradient, (w1, b1, w2, b2), (v1, c1, v2, c2))[1]


def gradient_penalty(x, w1, b1, w2):
    def critic(x):
        return jnp.tanh(x @ w1 + b1) @ w2

    d_x = jax.grad(lambda x: critic(x).sum())(x)
    long = jnp.sqrt(jnp.sum(d_x * d_x, axis=1))
    return jnp.mean(critic(x)) + PENALTY * jnp.mean((long - 1) ** 2)


def adaptive(y, w, b):
    def attempt(state):
        t, step, y = state
        first = jnp.tanh(y @ w + b)
        second = jnp.tanh((y + step * first) @ w + b)
        error = 0.5 * step * jnp.max(jnp.abs(second - first))
        ahead = (t + step, jnp.where(error < MOST / 4, step * 2, step))
        ahead += (y + 0.5 * step * (first + second),)
        return lax.cond(error > MOST, lambda: (t, step * 0.5, y), lambda: ahead)

    def turn(state, _):
        return lax.cond(state[0] < END, attempt, lambda state: state, state), None

    (_, _, y), _ = lax.scan(turn, (jnp.float32(0), jnp.float32(STEP), y), None, BOUND)
    return jnp.mean(y * y)
