"""The workloads as users of MindSpore write them, for its graph mode."""

from __future__ import annotations

from mindspore import ops

from benchmarks.workloads.attention import HEADS, SCALE, WIDTH
from benchmarks.workloads.newton import START, TOLERANCE
from benchmarks.workloads.norm import CUBE, SLOPE, TINY


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
