"""The triplet loss as a layer: the formula, for each norm, margin and reduction."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler import Tensor, nn
from autodiff_compiler.testing import check_grads

RANDOM = np.random.default_rng(9)
X, NEAR, FAR = (RANDOM.normal(size=(5, 4)) for _ in range(3))


def distance(a: np.ndarray, b: np.ndarray, p: float) -> np.ndarray:
    return (np.abs(a - b + 1e-6) ** p).sum(-1) ** (1 / p)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize(("p", "margin"), [(2, 1.0), (1, 0.5), (3, 2.0)])
def test_the_triplet_loss_is_its_formula(p: float, margin: float, swap: bool) -> None:
    far = distance(X, FAR, p)
    if swap:
        far = np.minimum(far, distance(NEAR, FAR, p))
    each = np.maximum(0, distance(X, NEAR, p) - far + margin)
    for reduction, wanted in (("none", each), ("mean", each.mean()), ("sum", each.sum())):
        layer = nn.TripletMarginLoss(p=p, swap=swap, reduction=reduction, margin=margin)
        found = layer(Tensor(X), Tensor(NEAR), Tensor(FAR)).asnumpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_its_slope_is_that_of_differences() -> None:
    check_grads(nn.TripletMarginLoss(), (X, NEAR, FAR), order=1)
