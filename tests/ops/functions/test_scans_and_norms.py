"""Norms with a least value: NumPy's norm where it is larger, without a slope where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.ops.functions.scans_and_norms import l2_normalize, lp_norm
from autodiff_compiler.testing import check_grads

X = np.array([[3.0, -4.0, 0.5], [1e-7, 0.0, -2e-7], [1.0, 2.0, -2.0]])


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("axis", [0, -1, (0, 1)])
def test_norms_are_numpys(axis: Any, p: int, keep: bool) -> None:
    axes = axis if isinstance(axis, tuple) else (axis,)
    wanted = (np.abs(X) ** p).sum(axis=axes, keepdims=keep) ** (1 / p)
    for found in (lp_norm(Tensor(X), axis, p, keep), ops.LpNorm(axis, p, keep)(Tensor(X))):
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-13)


def test_a_norm_below_epsilon_is_epsilon_and_has_no_slope() -> None:
    norms = lp_norm(Tensor(X), 1, 2, False, 1e-3).asnumpy()
    np.testing.assert_allclose(norms, [np.sqrt(25.25), 1e-3, 3.0], rtol=1e-14)
    slope = ms.grad(lambda x: lp_norm(x, 1, 2, False, 1e-3).sum())(Tensor(X)).asnumpy()
    wanted = X / np.linalg.norm(X, axis=1, keepdims=True)
    wanted[1] = 0
    np.testing.assert_allclose(slope, wanted, rtol=1e-14)


def test_a_normalized_vector_has_length_one() -> None:
    for found in (l2_normalize(Tensor(X), 1), ops.L2Normalize(1)(Tensor(X))):
        rows = found.asnumpy()
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1)[[0, 2]], 1.0)
        np.testing.assert_allclose(rows[1], X[1] / 1e-4)  # shorter than epsilon
    check_grads(lambda x: ops.sum(l2_normalize(x, 1) ** 3), (X[[0, 2]],), order=1)
