"""A chain of operations on large arrays, and its gradient in closed form."""

from __future__ import annotations

import numpy as np

from autodiff_compiler import ops


def chain(x):
    return ops.sum(ops.exp(ops.tanh(x) * 0.5) * x)


def wanted(x: np.ndarray) -> np.ndarray:
    e = np.exp(np.tanh(x) * 0.5)
    return e + x * e * 0.5 * (1 - np.tanh(x) ** 2)


def arrays(count: int) -> list[np.ndarray]:
    return list(np.random.default_rng(0).standard_normal((count, 30000)).astype(np.float32))
