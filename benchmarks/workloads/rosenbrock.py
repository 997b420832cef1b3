"""Rosenbrock's valley in many dimensions: slices that overlap, and squares."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload, normal


def rosenbrock(size: int = 10**6) -> Workload:
    """The value and the gradient in x."""

    def hand(x):
        left = x[:-1]
        a = left * left
        np.subtract(x[1:], a, out=a)
        b = 1 - left
        value = 100 * np.vdot(a, a) + np.vdot(b, b)
        d_x = np.empty_like(x)
        d_x[0] = 0
        a *= 200
        d_x[1:] = a
        a *= left
        a += b
        a *= 2
        d_x[:-1] -= a
        return value, d_x

    x = normal(86, size, scale=0.5)
    return Workload("rosenbrock", (x,), (), hand, asked="all", tolerance=1e-4)
