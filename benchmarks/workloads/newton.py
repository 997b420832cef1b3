"""A loop as long as its data ask for: square roots by Newton's method, from far away."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload

START = 1e12
TOLERANCE = 1e-4


def newton() -> Workload:
    """The sum of the roots, and its gradient; about 45 iterations."""

    def hand(a):
        x, tape = np.full_like(a, START), []
        while np.sum(np.abs(x * x - a)) > TOLERANCE:
            tape.append(x)
            x = 0.5 * (x + a / x)
        d_x, d_a = np.ones_like(a), np.zeros_like(a)
        for before in reversed(tape):
            d_x *= 0.5
            share = d_x / before
            d_a += share
            d_x -= share * (a / before)
        return np.sum(x), d_a

    return Workload("newton", (np.array([0.5, 2, 3, 7], np.float32),), (), hand, asked="all")
