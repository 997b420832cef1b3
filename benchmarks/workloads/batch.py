"""A batch norm of images, as in training, a ReLU, and the mean square."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload, normal

TINY = 1e-5


def batch_norm() -> Workload:
    """The value, and gradients in the images, the scale and the shift."""

    def hand(x, scale, shift):  # type: ignore[no-untyped-def]
        each, upright = x.size // x.shape[1], (-1, 1, 1)
        c = x - x.mean(axis=(0, 2, 3), keepdims=True)
        r = 1 / np.sqrt(np.einsum("nchw,nchw->c", c, c) / each + np.float32(TINY))
        c *= r.reshape(upright)
        y = c * scale.reshape(upright)
        y += shift.reshape(upright)
        np.maximum(y, 0, out=y)
        value = np.vdot(y, y) / np.float32(y.size)
        y *= np.float32(2 / y.size)
        d_shift = y.sum(axis=(0, 2, 3))
        d_scale = np.einsum("nchw,nchw->c", y, c)
        y -= (d_shift / each).reshape(upright)
        c *= (d_scale / each).reshape(upright)
        y -= c
        y *= (scale * r).reshape(upright)
        return value, y, d_scale, d_shift

    weights = (normal(91, 32), normal(92, 32))
    return Workload((normal(90, 32, 32, 28, 28),), weights, hand, tolerance=1e-4)
