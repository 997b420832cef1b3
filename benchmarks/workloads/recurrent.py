"""A recurrent net: 64 steps, batch 32, 128 wide, tanh."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload, normal


def rnn() -> Workload:
    """The mean of squares of the last state; gradients in three weights."""

    def hand(x, w_in, w, b):
        steps, batch, width = x.shape
        flat = x.reshape(steps * batch, width)
        states = np.zeros((steps + 1, batch, width), np.float32)
        u = (flat @ w_in).reshape(steps, batch, width)
        u += b
        for k in range(steps):
            np.matmul(states[k], w, out=states[k + 1])
            states[k + 1] += u[k]
            np.tanh(states[k + 1], out=states[k + 1])
        h = states[steps]
        value = np.mean(h * h)
        d_h = h * np.float32(2 / h.size)
        w_t = w.T
        for k in reversed(range(steps)):
            d_u = u[k]  # read already
            np.multiply(states[k + 1], states[k + 1], out=d_u)
            np.subtract(1, d_u, out=d_u)
            d_u *= d_h
            np.matmul(d_u, w_t, out=d_h)
        d_flat = u.reshape(steps * batch, width)
        before = states[:-1].reshape(steps * batch, width)
        return value, flat.T @ d_flat, before.T @ d_flat, d_flat.sum(axis=0)

    weights = (
        normal(50, 128, 128, scale=0.1),
        normal(51, 128, 128, scale=0.08),
        normal(52, 128, scale=0.1),
    )
    return Workload("rnn", (normal(53, 64, 32, 128),), weights, hand, tolerance=1e-4)
