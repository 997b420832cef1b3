"""LeNet on 32 images of 28 x 28: two convolutions, two poolings, three dense layers."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload, normal

KERNEL = 5


def _columns(x: np.ndarray) -> np.ndarray:
    """The 5 x 5 windows of images (N, C, H, W), one a column: (C * 25, N * H' * W')."""
    view = np.lib.stride_tricks.sliding_window_view(x, (KERNEL, KERNEL), (2, 3))
    return view.transpose(1, 4, 5, 0, 2, 3).reshape(x.shape[1] * KERNEL**2, -1)


def _convolved(x, weight, bias):
    """Channels first: (C', N, H', W'), and the columns for the way back."""
    columns = _columns(x)
    out = weight.reshape(len(weight), -1) @ columns
    out += bias[:, None]
    size = x.shape[2] - KERNEL + 1
    return out.reshape(len(weight), len(x), size, size), columns


def _added_up(d_columns, batch, channels, size):
    """Columns back to images, channels first."""
    out = size - KERNEL + 1
    parts = d_columns.reshape(channels, KERNEL, KERNEL, batch, out, out)
    d_x = np.zeros((channels, batch, size, size), np.float32)
    for i in range(KERNEL):
        for j in range(KERNEL):
            d_x[:, :, i : i + out, j : j + out] += parts[:, i, j]
    return d_x


def _pooled(x):
    """The largest of each 2 x 2, from four views."""
    views = [x[..., i::2, j::2] for i in (0, 1) for j in (0, 1)]
    best = np.maximum(views[0], views[1])
    for view in views[2:]:
        np.maximum(best, view, out=best)
    return best


def _unpooled(d_best, best, x):
    """To the first of the largest."""
    d_x = np.empty_like(x)
    left = np.ones(best.shape, np.bool_)
    for i in (0, 1):
        for j in (0, 1):
            hit = x[..., i::2, j::2] == best
            hit &= left
            left &= ~hit
            np.multiply(d_best, hit, out=d_x[..., i::2, j::2])
    return d_x


def lenet() -> Workload:
    """The mean softmax cross-entropy and its gradients in ten weights."""

    def hand(x, labels, k1, c1, k2, c2, w1, b1, w2, b2, w3, b3):
        batch, rows = len(x), np.arange(len(x))
        u1, columns1 = _convolved(np.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2))), k1, c1)
        np.maximum(u1, 0, out=u1)
        p1 = _pooled(u1)
        u2, columns2 = _convolved(p1.transpose(1, 0, 2, 3), k2, c2)
        np.maximum(u2, 0, out=u2)
        p2 = _pooled(u2)
        flat = p2.transpose(1, 0, 2, 3).reshape(batch, -1)
        h1 = flat @ w1
        h1 += b1
        np.maximum(h1, 0, out=h1)
        h2 = h1 @ w2
        h2 += b2
        np.maximum(h2, 0, out=h2)
        p = h2 @ w3
        p += b3
        p -= p.max(axis=1, keepdims=True)
        picked = p[rows, labels]
        np.exp(p, out=p)
        total = p.sum(axis=1, keepdims=True)
        value = np.mean(np.log(total[:, 0]) - picked)

        p /= total
        p[rows, labels] -= 1
        p /= np.float32(batch)
        d_h2 = p @ w3.T
        d_h2 *= h2 > 0
        d_h1 = d_h2 @ w2.T
        d_h1 *= h1 > 0
        d_p2 = (d_h1 @ w1.T).reshape(batch, 16, 5, 5).transpose(1, 0, 2, 3)
        d_u2 = _unpooled(d_p2, p2, u2)
        d_u2 *= u2 > 0
        d_flat2 = d_u2.reshape(16, -1)
        d_columns2 = k2.reshape(16, -1).T @ d_flat2
        d_u1 = _unpooled(_added_up(d_columns2, batch, 6, 14), p1, u1)
        d_u1 *= u1 > 0
        d_flat1 = d_u1.reshape(6, -1)
        return (
            value,
            (d_flat1 @ columns1.T).reshape(k1.shape),
            d_flat1.sum(axis=1),
            (d_flat2 @ columns2.T).reshape(k2.shape),
            d_flat2.sum(axis=1),
            flat.T @ d_h1,
            d_h1.sum(axis=0),
            h1.T @ d_h2,
            d_h2.sum(axis=0),
            h2.T @ p,
            p.sum(axis=0),
        )

    labels = np.random.default_rng(60).integers(0, 10, 32).astype(np.int32)
    weights = (
        normal(61, 6, 1, 5, 5, scale=0.2),
        normal(62, 6, scale=0.1),
        normal(63, 16, 6, 5, 5, scale=0.08),
        normal(64, 16, scale=0.1),
        normal(65, 400, 120, scale=0.05),
        normal(66, 120, scale=0.1),
        normal(67, 120, 84, scale=0.09),
        normal(68, 84, scale=0.1),
        normal(69, 84, 10, scale=0.1),
        normal(70, 10, scale=0.1),
    )
    return Workload("lenet", (normal(71, 32, 1, 28, 28), labels), weights, hand, tolerance=1e-4)
