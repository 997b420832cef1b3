"""Normalization functions and classes: values against NumPy, gradients of two orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, gradient_source, ops
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ops import operations as P
from autodiff_compiler.testing import check_grads

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(3, 4)).astype(np.float32)
IMAGE = RANDOM.normal(size=(2, 4, 2, 3)).astype(np.float32)
GAMMA, BETA, MEAN = (RANDOM.normal(size=4).astype(np.float32) for _ in range(3))
VARIANCE = np.array([0.5, 1.5, 2.0, 0.25], np.float32)
C = (1, 4, 1, 1)


def normal(x: np.ndarray, axes: Any, eps: float = 1e-5) -> np.ndarray:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def given(x: np.ndarray, shape: Any) -> np.ndarray:
    return (x - MEAN.reshape(shape)) / np.sqrt(VARIANCE.reshape(shape) + 1e-5)


GROUPED = normal(IMAGE.reshape(2, 2, 12), 2).reshape(IMAGE.shape)
BY_BATCH = normal(IMAGE, (0, 2, 3))
ROOT = 1 / np.sqrt((X * X).mean(1, keepdims=True) + 1e-6)

CALLS: list[tuple[Callable[..., Any], tuple[Any, ...], Any]] = [
    (lambda x: ops.layer_norm(x, (4,)), (X,), normal(X, 1)),
    (lambda x, w, b: ops.layer_norm(x, [4], w, b, 0.1), (X, GAMMA, BETA),
     normal(X, 1, 0.1) * GAMMA + BETA),
    (lambda x: ops.layer_norm(x, (2, 3)), (IMAGE,), normal(IMAGE, (2, 3))),
    (lambda x, w, b: P.LayerNorm()(x, w, b)[0], (X, GAMMA, BETA),
     normal(X, 1, 1e-7) * GAMMA + BETA),
    (lambda x, w, b: P.LayerNorm(-1, -1)(x, w, b)[1], (X, GAMMA, BETA), X.mean(1, keepdims=True)),
    (lambda x, w, b: P.LayerNorm(-1, -1)(x, w, b)[2], (X, GAMMA, BETA), X.var(1, keepdims=True)),
    (lambda x: ops.group_norm(x, 2), (IMAGE,), GROUPED),
    (lambda x, w, b: ops.group_norm(x, 2, w, b), (IMAGE, GAMMA, BETA),
     GROUPED * GAMMA.reshape(C) + BETA.reshape(C)),
    (lambda x, m, v, w, b: ops.batch_norm(x, m, v, w, b), (X, MEAN, VARIANCE, GAMMA, BETA),
     given(X, (1, 4)) * GAMMA + BETA),
    (lambda x, m, v: ops.batch_norm(x, m, v), (IMAGE, MEAN, VARIANCE), given(IMAGE, C)),
    (lambda x, m, v, w, b: ops.batch_norm(x, m, v, w, b, True),
     (IMAGE, MEAN, VARIANCE, GAMMA, BETA), BY_BATCH * GAMMA.reshape(C) + BETA.reshape(C)),
    (lambda x, w, b, m, v: P.BatchNorm()(x, w, b, m, v)[0], (X, GAMMA, BETA, MEAN, VARIANCE),
     given(X, (1, 4)) * GAMMA + BETA),
    (lambda x, w, b, m, v: P.BatchNorm(True)(x, w, b, m, v)[0], (X, GAMMA, BETA, MEAN, VARIANCE),
     normal(X, 0) * GAMMA + BETA),
    (lambda x, w, b, m, v: P.BatchNorm(True)(x, w, b, m, v)[2], (X, GAMMA, BETA, MEAN, VARIANCE),
     X.var(0)),
    (lambda x, w: ops.rms_norm(x, w)[0], (X, GAMMA), X * ROOT * GAMMA),
    (lambda x, w: ops.rms_norm(x, w)[1], (X, GAMMA), ROOT),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(CALLS)))
def test_values_and_gradients(case: int) -> None:
    function, inputs, expected = CALLS[case]
    got = function(*(Tensor(each) for each in inputs)).asnumpy()
    assert got.dtype == np.float32 and got.shape == np.shape(expected)
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-6)
    check_grads(function, inputs)


def test_far_from_zero_nothing_is_lost() -> None:
    """A difference of squares would cancel: 4096 ** 2 + 1 is not a float32."""
    far = Tensor(np.array([[4095.0, 4097.0]], np.float32))
    np.testing.assert_allclose(ops.layer_norm(far, (2,)).asnumpy(), [[-1, 1]], atol=1e-4)


def test_a_constant_row_is_only_the_shift() -> None:
    x, w, b = (Tensor(np.full(3, n, np.float32)) for n in (5.0, 2.0, 0.5))
    np.testing.assert_array_equal(ops.layer_norm(x, (3,), w, b).asnumpy(), [0.5, 0.5, 0.5])


def test_channels_that_make_no_groups() -> None:
    with pytest.raises(ShapeError, match="4 channels into 3 groups"):
        ops.group_norm(Tensor(IMAGE), 3)


def test_groups_of_unknown_sizes() -> None:
    def grouped(x: Any) -> Any:
        return ops.group_norm(x, 2)

    assert "def grouped_backward" in gradient_source(grouped, "f32[b,4,2,3]")
    with pytest.raises(ShapeError, match="all sizes except that of the batch"):
        gradient_source(grouped, "f32[b,4,?,3]")
