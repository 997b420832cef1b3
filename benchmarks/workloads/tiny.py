"""So small that only calls cost: the net of the seed documents, and the line of the tutorial."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload, normal


def seed_net() -> Workload:
    """``out = (x * z) @ y`` with a sensitivity; gradients in x, y and z."""

    def hand(x, y, sens, z):
        u = x * z
        d_u = sens @ y.T
        d_y = u.T @ sens
        d_z = np.sum(d_u * x).reshape(1)
        return d_u * z, d_y, d_z

    return Workload(
        "seed_net",
        (normal(1, 2, 3), normal(2, 3, 3), normal(3, 2, 3)),
        (np.ones(1, np.float32),),
        hand,
        asked="pullback",
    )


def line() -> Workload:
    """``w * x + b``: value and gradients in x, w and b."""

    def hand(x, w, b):
        return w * x + b, w.copy(), x.copy(), np.ones(1, np.float32)

    return Workload("line", (normal(4, 1),), (normal(5, 1), normal(6, 1)), hand, asked="all")
