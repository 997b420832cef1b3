"""The workloads as users of PyTorch write them."""

from __future__ import annotations

import torch
from torch.nn import functional

from benchmarks.workloads.attention import HEADS, SCALE, WIDTH
from benchmarks.workloads.newton import START, TOLERANCE
from benchmarks.workloads.norm import CUBE, SLOPE, TINY


def seed_net(x, y, z):
    return (x * z) @ y


def line(x, w, b):
    return w * x + b


def mlp_small(x, labels, w1, b1, w2, b2):
    h = torch.relu(x @ w1 + b1)
    return functional.cross_entropy(h @ w2 + b2, labels)


def mlp_large(x, w1, b1, w2, b2, w3, b3, w4, b4):
    h = torch.tanh(x @ w1 + b1)
    h = torch.tanh(h @ w2 + b2)
    h = torch.tanh(h @ w3 + b3)
    h = torch.tanh(h @ w4 + b4)
    return torch.mean(h * h)


def chain(x):
    v = torch.sin(x * 1.5)
    t = torch.tanh(torch.exp((v + x) * 0.1))
    q = torch.sigmoid(t) * x
    return torch.sum((torch.log1p(q**2) + v) * t)


def rnn(x, w_in, w, b):
    h = torch.zeros_like(x[0])
    for k in range(x.shape[0]):
        h = torch.tanh(x[k] @ w_in + h @ w + b)
    return torch.mean(h * h)


def newton(a):
    x = torch.full_like(a, START)
    while torch.sum(torch.abs(x * x - a)) > TOLERANCE:
        x = 0.5 * (x + a / x)
    return torch.sum(x)


def lenet(x, labels, k1, c1, k2, c2, w1, b1, w2, b2, w3, b3):
    x = functional.max_pool2d(torch.relu(functional.conv2d(x, k1, c1, padding=2)), 2)
    x = functional.max_pool2d(torch.relu(functional.conv2d(x, k2, c2)), 2)
    x = x.reshape(x.shape[0], -1)
    x = torch.relu(x @ w1 + b1)
    x = torch.relu(x @ w2 + b2)
    return functional.cross_entropy(x @ w3 + b3, labels)


def attention(x, w, w_out):
    batch, steps, wide = x.shape
    split = (batch, steps, 3, HEADS, WIDTH)
    q, k, v = (x @ w).reshape(split).permute(2, 0, 3, 1, 4)
    p = torch.softmax((q @ k.swapaxes(-1, -2)) * SCALE, -1)
    y = (p @ v).permute(0, 2, 1, 3).reshape((batch, steps, wide))
    out = y @ w_out
    return torch.mean(out * out)


def norm_gelu(x, scale, shift):
    c = x - torch.mean(x, -1, True)
    y = c * torch.rsqrt(torch.mean(c * c, -1, True) + TINY) * scale + shift
    return torch.sum(0.5 * y * (1 + torch.tanh(SLOPE * (y + CUBE * y**3))))


def batch_norm(x, scale, shift):
    y = functional.batch_norm(x, None, None, scale, shift, True, eps=TINY)
    y = torch.relu(y)
    return torch.mean(y * y)


def cross_entropy(labels, shares, logits):
    return functional.cross_entropy(logits, labels, shares)


def rosenbrock(x):
    a, b = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    return torch.sum(100 * a**2 + b**2)
