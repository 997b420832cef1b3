"""dense and bias_add: values against NumPy, gradients of two orders."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler import Tensor, ops
from autodiff_compiler.ops import operations as P
from autodiff_compiler.testing import check_grads

RANDOM = np.random.default_rng(11)
X, W, B = (RANDOM.normal(size=s).astype(np.float32) for s in ((2, 3, 4), (5, 4), (5,)))


@pytest.mark.parametrize(
    "function, inputs, expected",
    [
        (lambda x, w: ops.dense(x, w), (X, W), X @ W.T),
        (lambda x, w, b: ops.dense(x, w, b), (X, W, B), X @ W.T + B),
        (lambda x, w: ops.dense(x, w), (X, W[0]), X @ W[0]),
        (lambda x, w, b: P.Dense()(x, w, b), (X, W, B), X @ W.T + B),
        (lambda x, b: ops.bias_add(x, b), (X, B[:3]), X + B[:3, None]),
        (lambda x, b: ops.bias_add(x, b), (X[0], B[:4]), X[0] + B[:4]),
    ],
)
def test_values_and_gradients(function, inputs, expected) -> None:  # type: ignore[no-untyped-def]
    got = function(*(Tensor(each) for each in inputs)).asnumpy()
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-6)
    check_grads(function, inputs)
