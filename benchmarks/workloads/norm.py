"""Normalisations, each with what usually follows it."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload, normal

SLOPE, CUBE, TINY, GROUPS = 0.7978845608, 0.044715, 1e-5, 8


def norm_gelu() -> Workload:
    """A layer norm and a GELU (by tanh) on 1024 rows of 1024, and the sum; gradients in x, the
    scale and the shift."""

    def hand(x, scale, shift):
        c = x - x.mean(axis=-1, keepdims=True)
        u = c * c
        r = 1 / np.sqrt(u.mean(axis=-1, keepdims=True) + np.float32(TINY))
        c *= r
        y = c * scale
        y += shift
        np.multiply(y, y, out=u)
        u *= np.float32(CUBE)
        t = u + 1
        t *= y
        t *= np.float32(SLOPE)
        np.tanh(t, out=t)
        value = np.float32(0.5) * (np.sum(y) + np.vdot(y, t))
        u *= 3
        u += 1
        u *= np.float32(SLOPE / 2)
        u *= y
        np.multiply(t, t, out=y)
        np.subtract(1, y, out=y)
        u *= y
        t += 1
        t *= np.float32(0.5)
        u += t  # of y
        d_shift = u.sum(axis=0)
        np.multiply(u, c, out=t)
        d_scale = t.sum(axis=0)
        u *= scale
        np.multiply(u, c, out=t)
        c *= t.mean(axis=-1, keepdims=True)
        c += u.mean(axis=-1, keepdims=True)
        u -= c
        u *= r
        return value, u, d_scale, d_shift

    weights = (normal(84, 1024), normal(85, 1024))
    x = normal(83, 1024, 1024)
    return Workload("norm_gelu", (x,), weights, hand, asked="all", tolerance=1e-4)


def batch_norm() -> Workload:
    """A batch norm of 32 images as in training, a ReLU, and the mean square; gradients in the
    images, the scale and the shift."""

    def hand(x, scale, shift):
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
    x = normal(90, 32, 32, 28, 28)
    return Workload("batch_norm", (x,), weights, hand, asked="all", tolerance=1e-4)


def group_norm() -> Workload:
    """A group norm of 32 images, a SiLU, and the mean; gradients in the images, the scale and the
    shift."""

    def hand(x, scale, shift):
        upright, rows = (-1, 1, 1), x.reshape(len(x) * GROUPS, -1)
        each = rows.shape[1]
        c = rows - rows.mean(axis=1, keepdims=True)
        r = 1 / np.sqrt(np.einsum("ij,ij->i", c, c)[:, None] / each + np.float32(TINY))
        c *= r
        y = c.reshape(x.shape) * scale.reshape(upright)
        y += shift.reshape(upright)
        s = np.negative(y)
        np.exp(s, out=s)
        s += 1
        np.divide(1, s, out=s)
        value = np.vdot(y, s) / np.float32(y.size)
        u = np.subtract(1, s)
        u *= y
        u += 1
        u *= s
        u *= np.float32(1 / u.size)  # of y
        d_shift = u.sum(axis=(0, 2, 3))
        d_scale = np.einsum("nchw,nchw->c", u, c.reshape(x.shape))
        u *= scale.reshape(upright)
        u = u.reshape(rows.shape)
        c *= np.einsum("ij,ij->i", u, c)[:, None] / each
        c += u.mean(axis=1, keepdims=True)
        u -= c
        u *= r
        return value, u.reshape(x.shape), d_scale, d_shift

    weights = (normal(95, 32), normal(96, 32))
    x = normal(97, 32, 32, 28, 28)
    return Workload("group_norm", (x,), weights, hand, asked="all", tolerance=1e-4)
