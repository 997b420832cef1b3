"""Operator classes of random draws: shapes, dtypes and moments; a seed repeats them."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

COUNT = 40_000


def test_laplace_has_mean_zero_and_variance_two() -> None:
    ms.set_seed(3)
    drawn = ops.StandardLaplace()((COUNT,)).asnumpy()
    assert drawn.dtype == np.float32
    assert abs(drawn.mean()) < 0.05 and abs(drawn.var() - 2.0) < 0.1
    assert abs(np.abs(drawn).mean() - 1.0) < 0.03  # the scale


def test_bernoulli_draws_ones_with_its_probability() -> None:
    x = Tensor(np.zeros((COUNT,), np.float32))
    drawn = ops.Bernoulli(seed=5)(x, 0.3).asnumpy()
    assert set(drawn.tolist()) == {0.0, 1.0} and abs(drawn.mean() - 0.3) < 0.01


def test_multinomial_draws_positions_by_their_weights() -> None:
    weights = np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 2.0]], np.float32)
    drawn = ops.Multinomial(seed=7)(Tensor(weights), COUNT)
    assert drawn.dtype == ms.int32 and drawn.shape == (2, COUNT)
    for row, share in zip(drawn.asnumpy(), weights):
        found = np.bincount(row, minlength=3) / COUNT
        np.testing.assert_allclose(found, share / share.sum(), atol=0.02)


@pytest.mark.parametrize(("operator", "shape"), [
    (ops.Dropout2D, (50, 40, 2, 3)), (ops.Dropout3D, (50, 40, 2, 1, 3)),
])  # fmt: skip
def test_dropout_zeroes_whole_channels(operator: type, shape: tuple[int, ...]) -> None:
    ms.set_seed(11)
    x = np.random.default_rng(1).uniform(1, 2, shape).astype(np.float32)
    out, mask = (each.asnumpy() for each in operator(keep_prob=0.8)(Tensor(x)))
    assert mask.dtype == bool and mask.shape == shape
    np.testing.assert_allclose(out, np.where(mask, x / 0.8, 0), rtol=1e-6)
    per_channel = mask.reshape(*shape[:2], -1)
    assert (per_channel.all(-1) == per_channel.any(-1)).all()
    assert abs(per_channel[..., 0].mean() - 0.8) < 0.04
    with pytest.raises(ValueError, match="keep_prob"):
        operator(keep_prob=0)
