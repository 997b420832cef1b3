"""Attention of four heads, 128 wide: with two projections, and causal with four."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload, normal

HEADS, WIDTH = 4, 32
SCALE = WIDTH**-0.5
#: The score of a step that is not seen.
HIDDEN = -1e9


def attention() -> Workload:
    """Batch 8, 64 steps; the mean of squares of what comes out, and gradients in x and both
    projections."""

    def hand(x, w, w_out):
        batch, steps, wide = x.shape
        flat, split = x.reshape(batch * steps, wide), (batch, steps, 3, HEADS, WIDTH)
        q, k, v = np.ascontiguousarray((flat @ w).reshape(split).transpose(2, 0, 3, 1, 4))
        p = q @ k.swapaxes(-1, -2)
        p *= np.float32(SCALE)
        p -= p.max(axis=-1, keepdims=True)
        np.exp(p, out=p)
        p /= p.sum(axis=-1, keepdims=True)
        y = (p @ v).transpose(0, 2, 1, 3).reshape(batch * steps, wide)
        out = y @ w_out
        value = np.mean(out * out)
        out *= np.float32(2 / out.size)
        d_w_out = y.T @ out
        d_y = (out @ w_out.T).reshape(batch, steps, HEADS, WIDTH).transpose(0, 2, 1, 3)
        d_split = np.empty(split, np.float32)
        d_q, d_k, d_v = d_split.transpose(2, 0, 3, 1, 4)
        d_v[...] = p.swapaxes(-1, -2) @ d_y
        d_p = d_y @ v.swapaxes(-1, -2)
        d_p -= np.einsum("bhij,bhij->bhi", d_p, p)[..., None]
        d_p *= p
        d_p *= np.float32(SCALE)
        d_q[...] = d_p @ k
        d_k[...] = d_p.swapaxes(-1, -2) @ q
        d_flat = d_split.reshape(batch * steps, 3 * wide)
        return value, (d_flat @ w.T).reshape(x.shape), flat.T @ d_flat, d_w_out

    weights = (normal(81, 128, 384, scale=0.08), normal(82, 128, 128, scale=0.08))
    return Workload(
        "attention", (normal(80, 8, 64, 128),), weights, hand, asked="all", tolerance=1e-4
    )


def causal() -> Workload:
    """Batch 4, 128 steps, of which each sees those before it; the mean of squares of what comes
    out, and gradients in the projections."""

    def hand(x, mask, w_q, w_k, w_v, w_out):
        batch, steps, wide = x.shape
        flat, split = x.reshape(batch * steps, wide), (batch, steps, HEADS, WIDTH)

        def heads(array):
            return array.reshape(split).transpose(0, 2, 1, 3)

        q = flat @ w_q
        q *= np.float32(SCALE)
        q, k, v = heads(q), heads(flat @ w_k), heads(flat @ w_v)
        p = q @ k.swapaxes(-1, -2)
        p += np.where(mask, np.float32(HIDDEN), np.float32(0))
        p -= p.max(axis=-1, keepdims=True)
        np.exp(p, out=p)
        p /= p.sum(axis=-1, keepdims=True)
        y = np.empty((batch * steps, wide), np.float32)
        np.matmul(p, v, out=heads(y))
        out = y @ w_out
        value = np.vdot(out, out) / np.float32(out.size)
        out *= np.float32(2 / out.size)
        d_w_out = y.T @ out
        d_y = out @ w_out.T
        d_p = heads(d_y) @ v.swapaxes(-1, -2)
        np.matmul(p.swapaxes(-1, -2), heads(d_y), out=heads(out))
        y *= d_y  # whose sums over a head are those of d_p * p over a row
        d_p -= heads(y).sum(axis=-1, keepdims=True)
        d_p *= p
        np.matmul(d_p, k, out=heads(d_y))
        d_y *= np.float32(SCALE)
        np.matmul(d_p.swapaxes(-1, -2), q, out=heads(y))
        return value, flat.T @ d_y, flat.T @ y, flat.T @ out, d_w_out

    x, mask = normal(100, 4, 128, 128), np.triu(np.ones((128, 128), np.bool_), 1)
    weights = tuple(normal(101 + k, 128, 128, scale=0.09) for k in range(4))
    return Workload("causal_attention", (x, mask), weights, hand, tolerance=1e-4)
