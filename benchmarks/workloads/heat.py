"""The heat equation on a plate: a loop over time, in which slices meet their neighbours."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload, normal

STEPS = 20


def heat() -> Workload:
    """Twenty steps on 128 x 128 points, whose border is held, and the mean square; gradients in the
    heat and in how well each point conducts it."""

    def hand(u, k):
        u = u.copy()
        middle, sides = u[1:-1, 1:-1], (u[2:, 1:-1], u[:-2, 1:-1], u[1:-1, 2:], u[1:-1, :-2])
        tape = np.empty((STEPS, *k.shape), np.float32)
        flow = np.empty_like(k)
        for bend in tape:
            np.multiply(middle, -4, out=bend)
            for side in sides:
                bend += side
            np.multiply(k, bend, out=flow)
            middle += flow
        value = np.vdot(u, u) / np.float32(u.size)
        u *= np.float32(2 / u.size)  # from here on its cotangent
        d_k = np.zeros_like(k)
        for bend in reversed(tape):
            bend *= middle
            d_k += bend
            np.multiply(middle, k, out=flow)
            for side in sides:
                side += flow
            flow *= 4
            middle -= flow
        return value, u, d_k

    share = np.random.default_rng(131).uniform(0.05, 0.2, (126, 126)).astype(np.float32)
    return Workload("heat", (), (normal(130, 128, 128), share), hand)
