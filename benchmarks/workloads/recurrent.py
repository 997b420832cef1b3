"""Recurrent nets, batch 32, 128 wide: 64 steps of tanh, and 32 of an LSTM."""

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


def lstm() -> Workload:
    """The mean of squares of the last state; gradients in three weights, whose columns are those
    of the gates i, f, o and of what is let in."""

    def hand(x, w_in, w, b):
        steps, batch, width = x.shape
        flat = x.reshape(steps * batch, width)
        # A sigmoid of u is half a tanh of u / 2, and a half: one call for all gates.
        half = np.ones(4 * width, np.float32)
        half[: 3 * width] = 0.5
        gates = (flat @ (w_in * half)).reshape(steps, batch, 4 * width)
        gates += b * half
        w_half = w * half
        h = np.zeros((steps + 1, batch, width), np.float32)
        c = np.zeros((steps + 1, batch, width), np.float32)
        bent = np.empty((steps, batch, width), np.float32)  # tanh(c)
        scratch = np.empty((batch, 4 * width), np.float32)
        for k in range(steps):
            gates[k] += np.matmul(h[k], w_half, out=scratch)
            np.tanh(gates[k], out=gates[k])
            open_ = gates[k, :, : 3 * width]
            open_ *= np.float32(0.5)
            open_ += np.float32(0.5)
            i, f, o, g = (gates[k, :, n * width : (n + 1) * width] for n in range(4))
            np.multiply(f, c[k], out=c[k + 1])
            c[k + 1] += i * g
            np.tanh(c[k + 1], out=bent[k])
            np.multiply(o, bent[k], out=h[k + 1])
        value = np.vdot(h[steps], h[steps]) / np.float32(h[steps].size)
        d_h = h[steps] * np.float32(2 / h[steps].size)
        d_c = np.zeros((batch, width), np.float32)
        d_i, d_f, d_o, d_g = (scratch[:, n * width : (n + 1) * width] for n in range(4))
        w_t = w.T
        for k in reversed(range(steps)):
            i, f, o, g = (gates[k, :, n * width : (n + 1) * width] for n in range(4))
            np.multiply(d_h, bent[k], out=d_o)
            d_h *= o
            bent[k] *= bent[k]
            np.subtract(1, bent[k], out=bent[k])
            d_h *= bent[k]
            d_c += d_h
            np.multiply(d_c, g, out=d_i)
            np.multiply(d_c, c[k], out=d_f)
            np.multiply(d_c, i, out=d_g)
            d_c *= f
            g *= g
            np.subtract(1, g, out=g)
            g *= d_g
            open_, d_open = gates[k, :, : 3 * width], scratch[:, : 3 * width]
            d_open *= open_
            np.subtract(1, open_, out=open_)
            open_ *= d_open
            np.matmul(gates[k], w_t, out=d_h)
        d_flat = gates.reshape(steps * batch, 4 * width)
        before = h[:-1].reshape(steps * batch, width)
        return value, flat.T @ d_flat, before.T @ d_flat, d_flat.sum(axis=0)

    weights = (
        normal(54, 128, 512, scale=0.1),
        normal(55, 128, 512, scale=0.08),
        normal(56, 512, scale=0.1),
    )
    return Workload("lstm", (normal(57, 32, 32, 128),), weights, hand, tolerance=1e-4)
