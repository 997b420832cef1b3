"""The workloads as users of PyTorch write them."""

from __future__ import annotations

import torch
from torch.nn import functional

from benchmarks.workloads.adaptive import END, MOST, STEP
from benchmarks.workloads.attention import HEADS, SCALE, WIDTH
from benchmarks.workloads.heat import STEPS
from benchmarks.workloads.losses import POSITIVE
from benchmarks.workloads.newton import START, TOLERANCE
from benchmarks.workloads.norm import CUBE, GROUPS, SLOPE, TINY
from benchmarks.workloads.second import PENALTY


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


def causal_attention(x, mask, w_q, w_k, w_v, w_out):
    batch, steps, wide = x.shape
    split = (batch, steps, HEADS, WIDTH)
    q, k, v = ((x @ w).reshape(split).permute(0, 2, 1, 3) for w in (w_q, w_k, w_v))
    y = functional.scaled_dot_product_attention(q, k, v, attn_mask=~mask)
    out = y.permute(0, 2, 1, 3).reshape((batch, steps, wide)) @ w_out
    return torch.mean(out * out)


def embedding_bag(words, table, w, b):
    h = torch.tanh(functional.embedding_bag(words, table, mode="mean") @ w + b)
    return torch.mean(h * h)


def graph(sources, targets, counts, nodes, w_own, w_near):
    near = torch.zeros_like(nodes).index_add(0, targets, nodes[sources]) / counts
    h = torch.relu(nodes @ w_own + near @ w_near)
    return torch.mean(h * h)


def heat(u, k):
    for _ in range(STEPS):
        bend = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        u = u + functional.pad(k * bend, (1, 1, 1, 1))
    return torch.mean(u * u)


def lstm(x, w_in, w, b):
    h = torch.zeros_like(x[0])
    c = torch.zeros_like(x[0])
    for k in range(x.shape[0]):
        i, f, o, g = torch.chunk(x[k] @ w_in + h @ w + b, 4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return torch.mean(h * h)


def group_norm(x, scale, shift):
    return torch.mean(functional.silu(functional.group_norm(x, GROUPS, scale, shift, TINY)))


def focal_loss(labels, logits):
    p = torch.sigmoid(logits)
    loss = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    right = p * labels + (1 - p) * (1 - labels)
    share = POSITIVE * labels + (1 - POSITIVE) * (1 - labels)
    return torch.mean(share * (1 - right) ** 2 * loss)


def hvp(x, y, v1, c1, v2, c2, w1, b1, w2, b2):
    def loss(w1, b1, w2, b2):
        error = torch.tanh(x @ w1 + b1) @ w2 + b2 - y
        return torch.mean(error * error)

    gradient = torch.func.grad(loss, (0, 1, 2, 3))
    return torch.func.jvp(gradient, (w1, b1, w2, b2), (v1, c1, v2, c2))[1]


def gradient_penalty(x, w1, b1, w2):
    def critic(x):
        return torch.tanh(x @ w1 + b1) @ w2

    d_x = torch.func.grad(lambda x: critic(x).sum())(x)
    long = torch.sqrt(torch.sum(d_x * d_x, 1))
    return torch.mean(critic(x)) + PENALTY * torch.mean((long - 1) ** 2)


def adaptive(y, w, b):
    t, step = 0.0, STEP
    while t < END:
        first = torch.tanh(y @ w + b)
        second = torch.tanh((y + step * first) @ w + b)
        error = 0.5 * step * torch.max(torch.abs(second - first))
        if error > MOST:
            step = step * 0.5
        else:
            y = y + 0.5 * step * (first + second)
            t = t + step
            if error < MOST / 4:
                step = step * 2
    return torch.mean(y * y)
