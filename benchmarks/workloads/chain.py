"""Twelve elementwise operators in a row, and the sum of what comes out."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload, normal


def chain(size: int) -> Workload:
    """The value and the gradient in x."""

    def hand(x):
        u = x * np.float32(1.5)
        v = np.sin(u)
        e = v + x
        e *= np.float32(0.1)
        np.exp(e, out=e)
        t = np.tanh(e)
        s = np.negative(t)
        np.exp(s, out=s)
        s += 1
        np.divide(1, s, out=s)
        q = s * x
        p = q * q
        r = np.log1p(p)
        r += v
        scratch = r * t
        value = np.sum(scratch)
        p += 1
        d_q = np.divide(t, p, out=p)
        d_q *= q
        d_q *= 2
        d_x = np.multiply(d_q, s, out=q)
        d_q *= x
        np.subtract(1, s, out=scratch)
        scratch *= s
        d_q *= scratch
        d_q += r  # of tanh, which the product takes as well
        np.multiply(t, t, out=scratch)
        np.subtract(1, scratch, out=scratch)
        d_q *= scratch
        d_q *= e
        d_q *= np.float32(0.1)
        d_x += d_q
        d_q += t  # of sine, which the last sum takes as well
        np.cos(u, out=u)
        d_q *= u
        d_q *= np.float32(1.5)
        d_x += d_q
        return value, d_x

    return Workload("chain", (normal(40, size),), (), hand, asked="all")
