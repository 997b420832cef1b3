"""Gradients at kinks, poles and ties, as they were measured or, where that is a fault, as they are.

Sensitivity is ones. ``docs/differences.md`` names the rows that differ from MindSpore.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, ops

inf, nan = np.inf, np.nan

#: A function, its inputs, its value (None: not compared) and its gradients.
ROWS: list[tuple[Callable[..., Any], list[Any], Any, list[Any]]] = [
    (lambda x: ops.relu(x), [[-1, 0, 1]], [0, 0, 1], [[0, 0, 1]]),
    (lambda x: ops.relu6(x), [[0, 6, 3]], [0, 6, 3], [[1, 1, 1]]),
    (lambda x: ops.leaky_relu(x, 0.1), [[-1, 0, 1]], [-0.1, 0, 1], [[0.1, 0.55, 1]]),
    (lambda x: ops.elu(x), [[-1, 0, 1]], [-0.63212, 0, 1], [[0.36788, 1, 1]]),
    (lambda x: ops.selu(x), [[-1, 0, 1]], [-1.1113, 0, 1.0507], [[0.64677, 1.7581, 1.0507]]),
    (lambda x: ops.hardtanh(x), [[-1, 0, 1]], [-1, 0, 1], [[0.5, 1, 0.5]]),
    (lambda x: ops.hardsigmoid(x), [[-3, 0, 3]], [0, 0.5, 1], [[0, 1 / 6, 0]]),
    (lambda x: ops.hardswish(x), [[-3, 0, 3]], [0, 0, 3], [[-0.5, 0.5, 1.5]]),
    (lambda x: ops.hardshrink(x, 0.5), [[-0.5, 0, 0.5, 1]], [0, 0, 0, 1], [[0, 0, 0, 1]]),
    (lambda x: ops.softshrink(x, 0.5), [[-0.5, 0, 0.5, 1]], [0, 0, 0, 0.5], [[0, 0, 0, 1]]),
    (lambda x, w: ops.prelu(ops.reshape(x, (3, 1)), w).reshape(-1), [[-1, 0, 1], [0.2]],
     [-0.2, 0, 1], [[0.2, 0.2, 1], [-1]]),
    (lambda x: ops.softsign(x), [[-1, 0, 1]], [-0.5, 0, 0.5], [[0.25, 1, 0.25]]),
    (lambda x: ops.logsigmoid(x), [[-100, 0, 100]], [-100, -0.69315, 0], [[1, 0.5, 0]]),
    (lambda x: ops.gelu(x), [[-1, 0, 1]], [-0.15866, 0, 0.84134], [[-0.083315, 0.5, 1.0833]]),
    (lambda x: ops.gelu(x, "tanh"), [[-1, 0, 1]], [-0.15881, 0, 0.84119],
     [[-0.082964, 0.5, 1.083]]),
    (lambda x: ops.mish(x), [[-1, 0, 1]], [-0.3034, 0, 0.8651], [[0.059216, 0.6, 1.049]]),
    (lambda x: ops.silu(x), [[-1, 0, 1]], [-0.26894, 0, 0.73106], [[0.07233, 0.5, 0.92767]]),
    (lambda x: ops.log2(x), [[0, 2]], [-inf, 1], [[inf, 0.72135]]),
    (lambda x, y: ops.DivNoNan()(x, y), [[1, 0, 2], [0, 0, 4]], [0, 0, 0.5],
     [[0, 0, 0.25], [0, 0, -0.125]]),
    (lambda x, y: ops.MulNoNan()(x, y), [[inf, 3, 2], [0, 0, 4]], [0, 0, 8],
     [[0, 0, 4], [0, 3, 2]]),
    (lambda x, y: ops.xlogy(x, y), [[0, 0, 1], [0, 2, 0]], [0, 0, -inf],
     [[0, 0.69315, -inf], [nan, 0, inf]]),
    (lambda x, y: ops.xdivy(x, y), [[0, 1], [0, 2]], [0, 0.5], [[0, 0.5], [0, -0.25]]),
    (lambda x, y: ops.fmax(x, y), [[1, 2, nan], [2, 2, 1]], [2, 2, 1], [[0, 1, 0], [1, 0, 1]]),
    (lambda x, y: ops.fmin(x, y), [[1, 2, 1], [2, 2, nan]], [1, 2, 1], [[1, 1, 1], [0, 0, 0]]),
    (lambda x, y: ops.fmod(x, y), [[5, -5], [3, 3]], [2, -2], [[1, 1], [-1, 1]]),
    (lambda x, y: ops.hypot(x, y), [[0, 3], [0, 4]], [0, 5], [[0, 0.6], [0, 0.8]]),
    (lambda x: ops.sinc(x), [[0, 0.5]], [1, 0.63662], [[0, -1.2732]]),
    (lambda x: ops.lgamma(x), [[1, 2.5]], [0, 0.28468], [[-0.57722, 0.70316]]),
    (lambda x, y: ops.lerp(x, y, 0.25), [[1, 2], [3, 4]], [1.5, 2.5],
     [[0.75, 0.75], [0.25, 0.25]]),
    (lambda x: ops.median(x, 0)[0], [[1, 2, 2, 3]], 2, [[0, 1, 0, 0]]),
    (lambda x: ops.cummax(x, 0)[0], [[1, 3, 3, 2]], [1, 3, 3, 3], [[1, 1, 2, 0]]),
    (lambda x: ops.cumprod(x, 0), [[2, 0, 3]], [2, 0, 0], [[1, 8, 0]]),
    (lambda x: ops.cumprod(x, 0), [[2, 0, 3, 0]], [2, 0, 0, 0], [[1, 8, 0, 0]]),
    (lambda x: ops.ReduceProd()(x), [[2, 0, 3]], 0, [[0, 6, 0]]),
    (lambda x: ops.norm(x), [[0, 0]], 0, [[0, 0]]),
    (lambda x: ops.norm(x, 1), [[0, 2]], 2, [[0, 1]]),
    (lambda x: ops.norm(x, float("inf")), [[2, -2, 1]], 2, [[1, 0, 0]]),
    (lambda x: ops.LpNorm(axis=0, p=2)(x), [[0, 0]], 1e-12, [[0, 0]]),
    (lambda x: ops.L2Normalize(axis=1)(x), [[[0, 0]]], [[0, 0]], [[[10000, 10000]]]),
    (lambda x, y: ops.cosine_similarity(x, y), [[[0, 0]], [[1, 0]]], [0],
     [[[1e8, 0]], [[0, 0]]]),
    (lambda x: ops.clip_by_value(x, 0.0, 1.0), [[-1, 0, 0.5, 1, 2]], None, [[0, 0.5, 1, 0.5, 0]]),
    (lambda x: ops.clamp(x, 0.0, 1.0), [[-1, 0, 0.5, 1, 2]], None, [[0, 1, 1, 1, 0]]),
    (lambda x, low: ops.clamp(x, low, None), [[-1, 0, 2], [0, 0, 0]], [0, 0, 2],
     [[0, 1, 1], [1, 0, 0]]),
]  # fmt: skip


@pytest.mark.parametrize("position", range(len(ROWS)))
def test_gradient_at_a_kink(position: int) -> None:
    function, inputs, value, gradients = ROWS[position]
    tensors = [Tensor(np.array(numbers, np.float32)) for numbers in inputs]
    if value is not None:
        got = function(*tensors).asnumpy()
        np.testing.assert_allclose(got, np.array(value), rtol=1e-4, atol=1e-6)
        assert got.dtype == np.float32
    with np.errstate(all="ignore"):
        found = ops.GradOperation(get_all=True)(function)(*tensors)
    for got, expected in zip(found, gradients, strict=True):
        np.testing.assert_allclose(got.asnumpy(), np.array(expected), rtol=1e-4, atol=1e-6)
