"""The workloads as users of MindSpore write them, for its graph mode."""

from __future__ import annotations

import mindspore as ms
from mindspore import ops

from benchmarks.workloads.adaptive import END, MOST, STEP
from benchmarks.workloads.attention import HEADS, HIDDEN, SCALE, WIDTH
from benchmarks.workloads.heat import STEPS
from benchmarks.workloads.losses import POSITIVE
from benchmarks.workloads.newton import START, TOLERANCE
from benchmarks.workloads.norm import CUBE, GROUPS, SLOPE, TINY
from benchmarks.workloads.second import PENALTY


def seed_net(x, y, z):
    return ops.matmul(x * z, y)


def line(x, w, b):
    return w * x + b


def mlp_small(x, labels, w1, b1, w2, b2):
    h = ops.relu(ops.matmul(x, w1) + b1)
    return ops.cross_entropy(ops.matmul(h, w2) + b2, labels)


def mlp_large(x, w1, b1, w2, b2, w3, b3, w4, b4):
    h = ops.tanh(ops.matmul(x, w1) + b1)
    h = ops.tanh(ops.matmul(h, w2) + b2)
    h = ops.tanh(ops.matmul(h, w3) + b3)
    h = ops.tanh(ops.matmul(h, w4) + b4)
    return ops.mean(h * h)


def chain(x):
    v = ops.sin(x * 1.5)
    t = ops.tanh(ops.exp((v + x) * 0.1))
    q = ops.sigmoid(t) * x
    return ops.sum((ops.log1p(q**2) + v) * t)


def rnn(x, w_in, w, b):
    h = ops.zeros_like(x[0])
    for k in range(x.shape[0]):
        h = ops.tanh(ops.matmul(x[k], w_in) + ops.matmul(h, w) + b)
    return ops.mean(h * h)


def newton(a):
    x = ops.full_like(a, START)
    while ops.sum(ops.abs(x * x - a)) > TOLERANCE:
        x = 0.5 * (x + a / x)
    return ops.sum(x)


def lenet(x, labels, k1, c1, k2, c2, w1, b1, w2, b2, w3, b3):
    x = ops.relu(ops.conv2d(x, k1, c1, pad_mode="pad", padding=2))
    x = ops.max_pool2d(x, 2, 2)
    x = ops.relu(ops.conv2d(x, k2, c2))
    x = ops.max_pool2d(x, 2, 2)
    x = ops.reshape(x, (x.shape[0], -1))
    x = ops.relu(ops.matmul(x, w1) + b1)
    x = ops.relu(ops.matmul(x, w2) + b2)
    return ops.cross_entropy(ops.matmul(x, w3) + b3, labels)


def attention(x, w, w_out):
    batch, steps, wide = x.shape
    split = (batch, steps, 3, HEADS, WIDTH)
    q, k, v = ops.matmul(x, w).reshape(split).transpose(2, 0, 3, 1, 4)
    p = ops.softmax(ops.matmul(q, k.swapaxes(-1, -2)) * SCALE, -1)
    y = ops.matmul(p, v).transpose(0, 2, 1, 3).reshape((batch, steps, wide))
    out = ops.matmul(y, w_out)
    return ops.mean(out * out)


def norm_gelu(x, scale, shift):
    c = x - ops.mean(x, -1, True)
    y = c * ops.rsqrt(ops.mean(c * c, -1, True) + TINY) * scale + shift
    return ops.sum(0.5 * y * (1 + ops.tanh(SLOPE * (y + CUBE * y**3))))


def batch_norm(x, scale, shift):
    c = x - ops.mean(x, (0, 2, 3), True)
    r = ops.rsqrt(ops.mean(c * c, (0, 2, 3), True) + TINY)
    y = c * r * scale.reshape((-1, 1, 1)) + shift.reshape((-1, 1, 1))
    y = ops.relu(y)
    return ops.mean(y * y)


def cross_entropy(labels, shares, logits):
    return ops.cross_entropy(logits, labels, shares)


def rosenbrock(x):
    a, b = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    return ops.sum(100 * a**2 + b**2)


def causal_attention(x, mask, w_q, w_k, w_v, w_out):
    batch, steps, wide = x.shape
    split = (batch, steps, HEADS, WIDTH)
    q = ops.matmul(x, w_q).reshape(split).transpose(0, 2, 1, 3)
    k = ops.matmul(x, w_k).reshape(split).transpose(0, 2, 3, 1)
    v = ops.matmul(x, w_v).reshape(split).transpose(0, 2, 1, 3)
    scores = ops.masked_fill(ops.matmul(q, k) * SCALE, mask, HIDDEN)
    y = ops.matmul(ops.softmax(scores, -1), v).transpose(0, 2, 1, 3)
    out = ops.matmul(y.reshape((batch, steps, wide)), w_out)
    return ops.mean(out * out)


def embedding_bag(words, table, w, b):
    m = ops.mean(ops.gather(table, words, 0), 1)
    h = ops.tanh(ops.matmul(m, w) + b)
    return ops.mean(h * h)


def graph(sources, targets, counts, nodes, w_own, w_near):
    near = ops.unsorted_segment_sum(nodes[sources], targets, nodes.shape[0]) / counts
    h = ops.relu(ops.matmul(nodes, w_own) + ops.matmul(near, w_near))
    return ops.mean(h * h)


def heat(u, k):
    for _ in range(STEPS):
        bend = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        u = u + ops.pad(k * bend, (1, 1, 1, 1))
    return ops.mean(u * u)


def lstm(x, w_in, w, b):
    h = ops.zeros_like(x[0])
    c = ops.zeros_like(x[0])
    for k in range(x.shape[0]):
        i, f, o, g = ops.chunk(ops.matmul(x[k], w_in) + ops.matmul(h, w) + b, 4, 1)
        c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
        h = ops.sigmoid(o) * ops.tanh(c)
    return ops.mean(h * h)


def group_norm(x, scale, shift):
    return ops.mean(ops.silu(ops.group_norm(x, GROUPS, scale, shift, TINY)))


def focal_loss(labels, logits):
    p = ops.sigmoid(logits)
    loss = ops.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    right = p * labels + (1 - p) * (1 - labels)
    share = POSITIVE * labels + (1 - POSITIVE) * (1 - labels)
    return ops.mean(share * (1 - right) ** 2 * loss)


def hvp(x, y, v1, c1, v2, c2, w1, b1, w2, b2):
    def loss(w1, b1, w2, b2):
        error = ops.matmul(ops.tanh(ops.matmul(x, w1) + b1), w2) + b2 - y
        return ops.mean(error * error)

    def slope(w1, b1, w2, b2):
        d_w1, d_b1, d_w2, d_b2 = ms.grad(loss, (0, 1, 2, 3))(w1, b1, w2, b2)
        slopes = ops.sum(d_w1 * v1), ops.sum(d_b1 * c1), ops.sum(d_w2 * v2), ops.sum(d_b2 * c2)
        return slopes[0] + slopes[1] + slopes[2] + slopes[3]

    return ms.grad(slope, (0, 1, 2, 3))(w1, b1, w2, b2)


def gradient_penalty(x, w1, b1, w2):
    def critic(x):
        return ops.matmul(ops.tanh(ops.matmul(x, w1) + b1), w2)

    d_x = ms.grad(critic)(x)
    long = ops.sqrt(ops.sum(d_x * d_x, 1))
    return ops.mean(critic(x)) + PENALTY * ops.mean((long - 1) ** 2)


def adaptive(y, w, b):
    t = ops.zeros((), y.dtype)
    step = ops.full((), STEP, dtype=y.dtype)
    while t < END:
        first = ops.tanh(ops.matmul(y, w) + b)
        second = ops.tanh(ops.matmul(y + step * first, w) + b)
        error = 0.5 * step * ops.max(ops.abs(second - first))[0]
        if error > MOST:
            step = step * 0.5
        else:
            y = y + 0.5 * step * (first + second)
            t = t + step
            if error < MOST / 4:
                step = step * 2
    return ops.mean(y * y)
