"""Layers of products: one hidden layer and a softmax cross-entropy, and four wide layers."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload, normal


def small() -> Workload:
    """784-128-10, ReLU, batch 32, the mean softmax cross-entropy of labels."""

    def hand(x, labels, w1, b1, w2, b2):
        batch, rows = len(x), np.arange(len(x))
        h = x @ w1
        h += b1
        np.maximum(h, 0, out=h)
        p = h @ w2
        p += b2
        p -= p.max(axis=1, keepdims=True)
        picked = p[rows, labels]
        np.exp(p, out=p)
        total = p.sum(axis=1, keepdims=True)
        value = np.mean(np.log(total[:, 0]) - picked)
        p /= total
        p[rows, labels] -= 1
        p /= np.float32(batch)
        d_h = p @ w2.T
        d_h *= h > 0
        return value, x.T @ d_h, d_h.sum(axis=0), h.T @ p, p.sum(axis=0)

    labels = np.random.default_rng(7).integers(0, 10, 32).astype(np.int32)
    weights = (
        normal(8, 784, 128, scale=0.05),
        normal(9, 128, scale=0.1),
        normal(10, 128, 10, scale=0.1),
        normal(11, 10, scale=0.1),
    )
    return Workload("mlp_small", (normal(12, 32, 784), labels), weights, hand)


def large() -> Workload:
    """Four layers of 1024 with tanh, batch 256, the mean of squares of what comes out."""

    def hand(x, w1, b1, w2, b2, w3, b3, w4, b4):
        weights = (w1, b1, w2, b2, w3, b3, w4, b4)
        kept, h = [x], x
        for w, b in zip(weights[::2], weights[1::2]):
            h = h @ w
            h += b
            np.tanh(h, out=h)
            kept.append(h)
        value = np.mean(h * h)
        d_h = h * np.float32(2 / h.size)
        found = []
        for k in reversed(range(4)):
            d_u = kept[k + 1] * kept[k + 1]
            np.subtract(1, d_u, out=d_u)
            d_u *= d_h
            found += [d_u.sum(axis=0), kept[k].T @ d_u]
            if k:
                d_h = d_u @ weights[2 * k].T
        return value, *reversed(found)

    weights = []
    for layer in range(4):
        weights.append(normal(20 + layer, 1024, 1024, scale=1 / 32))
        weights.append(normal(30 + layer, 1024, scale=0.1))
    return Workload("mlp_large", (normal(13, 256, 1024),), tuple(weights), hand, tolerance=1e-4)
