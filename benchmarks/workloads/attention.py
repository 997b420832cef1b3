"""Four heads of attention with two projections: batch 8, 64 steps, 128 wide."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload, normal

HEADS, WIDTH = 4, 32
SCALE = WIDTH**-0.5


def attention() -> Workload:
    """The mean of squares of what comes out; gradients in x and both projections."""

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
