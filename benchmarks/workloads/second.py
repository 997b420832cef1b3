"""Derivatives of derivatives, of small nets."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload, normal

PENALTY = 10.0


def hvp() -> Workload:
    """The Hessian of the mean square error of a net 128-256-64, batch 128, in its four weights,
    times a direction; and no gradient."""

    def hand(x, y, v1, c1, v2, c2, w1, b1, w2, b2):
        h = x @ w1
        h += b1
        np.tanh(h, out=h)
        slope = h * h
        np.subtract(1, slope, out=slope)
        d_out = h @ w2
        d_out += b2
        d_out -= y
        d_out *= np.float32(2 / d_out.size)
        dot_h = x @ v1
        dot_h += c1
        dot_h *= slope
        dot_d_out = h @ v2
        dot_d_out += dot_h @ w2
        dot_d_out += c2
        dot_d_out *= np.float32(2 / d_out.size)
        dot_d_u = dot_d_out @ w2.T
        dot_d_u += d_out @ v2.T
        dot_d_u *= slope
        d_h = d_out @ w2.T
        d_h *= h
        d_h *= dot_h
        d_h *= 2
        dot_d_u -= d_h
        dot_d_w2 = h.T @ dot_d_out
        dot_d_w2 += dot_h.T @ d_out
        return x.T @ dot_d_u, dot_d_u.sum(axis=0), dot_d_w2, dot_d_out.sum(axis=0)

    sizes = ((128, 256), (256,), (256, 64), (64,))
    along = tuple(normal(140 + k, *size) for k, size in enumerate(sizes))
    weights = tuple(normal(145 + k, *size, scale=0.08) for k, size in enumerate(sizes))
    inputs = (normal(150, 128, 128), normal(151, 128, 64), *along)
    return Workload("hvp", inputs, weights, hand, asked="nothing")


def gradient_penalty() -> Workload:
    """The mean of a critic 128-256-1 over 256 examples, and a penalty where its gradient in an
    example is not as long as 1; gradients in three weights."""

    def hand(x, w1, b1, w2):
        h = x @ w1
        h += b1
        np.tanh(h, out=h)
        slope = h * h
        np.subtract(1, slope, out=slope)
        row = w2[:, 0]
        d_u = slope * row
        d_x = d_u @ w1.T
        long = np.sqrt(np.einsum("ij,ij->i", d_x, d_x))
        off = long - 1
        count = np.float32(len(x))
        value = (np.sum(h @ w2) + np.float32(PENALTY) * np.vdot(off, off)) / count
        off /= long
        off *= 2 * np.float32(PENALTY) / count
        d_x *= off[:, None]  # from here on cotangents of the penalty
        d_w1 = d_x.T @ d_u
        d_d_u = np.matmul(d_x, w1, out=d_u)
        d_w2 = np.einsum("ij,ij->j", d_d_u, slope)
        d_w2 += h.mean(axis=0)
        d_d_u *= h
        d_d_u *= -2
        d_d_u += 1 / count
        d_d_u *= row
        d_d_u *= slope
        d_w1 += x.T @ d_d_u
        return value, d_w1, d_d_u.sum(axis=0), d_w2[:, None]

    weights = (
        normal(160, 128, 256, scale=0.1),
        normal(161, 256, scale=0.1),
        normal(162, 256, 1, scale=0.2),
    )
    return Workload("gradient_penalty", (normal(163, 256, 128),), weights, hand)
