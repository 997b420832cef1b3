"""Steps through time as long as the error allows: a loop and its branches hang on the data."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload, normal

#: The first step, the end of time, and the error that a step may make.
STEP, END, MOST = 1.0, 2.0, 3e-2


def adaptive() -> Workload:
    """``y' = tanh(y w + b)`` from y on, by Heun's method: a step whose error is large is made
    again, half as long; where it is small the next one is twice as long. The mean square of the
    end, and gradients in y, w and b."""

    def hand(y, w, b):
        t, step, tape = 0.0, STEP, []
        while t < END:
            first = y @ w
            first += b
            np.tanh(first, out=first)
            between = first * np.float32(step)
            between += y
            second = between @ w
            second += b
            np.tanh(second, out=second)
            error = 0.5 * step * np.max(np.abs(second - first))
            if error > MOST:
                step *= 0.5
            else:
                tape.append((y, first, between, second, step))
                y = first + second
                y *= np.float32(0.5 * step)
                y += tape[-1][0]
                t += step
                if error < MOST / 4:
                    step *= 2
        value = np.vdot(y, y) / np.float32(y.size)
        d_y = y * np.float32(2 / y.size)
        befores, cotangents, w_t = [], [], w.T
        for y, first, between, second, step in reversed(tape):
            share = d_y * np.float32(0.5 * step)
            second *= second
            np.subtract(1, second, out=second)
            second *= share
            d_between = second @ w_t
            d_y += d_between
            d_between *= np.float32(step)
            d_between += share
            first *= first
            np.subtract(1, first, out=first)
            first *= d_between
            d_y += first @ w_t
            befores += between, y
            cotangents += second, first
        d_u = np.concatenate(cotangents)
        return value, d_y, np.concatenate(befores).T @ d_u, d_u.sum(axis=0)

    weights = (normal(170, 16, 32), normal(171, 32, 32, scale=1.5), normal(172, 32, scale=0.5))
    return Workload("adaptive", (), weights, hand)
