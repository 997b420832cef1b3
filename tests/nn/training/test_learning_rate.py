"""Learning rates by hand; schedules inside optimizers are in ``test_optimizers.py``."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autodiff_compiler import Tensor, nn


def at(schedule: nn.Cell, step: int) -> float:
    return float(schedule(Tensor(np.array([step], np.int32))))


def test_schedules() -> None:
    assert at(nn.ExponentialDecayLR(0.5, 0.25, 2), 1) == pytest.approx(0.25)
    assert at(nn.ExponentialDecayLR(0.5, 0.25, 2, True), 3) == pytest.approx(0.125)
    cosine = nn.CosineDecayLR(0.0, 1.0, 4)
    assert [at(cosine, k) for k in (0, 2, 9)] == pytest.approx([1, 0.5, 0], abs=1e-6)
    assert at(nn.PolynomialDecayLR(1.0, 0.5, 4, 2.0), 2) == pytest.approx(0.625)
    assert at(nn.PolynomialDecayLR(1.0, 0.5, 4, 1.0, True), 6) == pytest.approx(0.625)
    warm = nn.WarmUpLR(0.5, 4)
    assert [at(warm, k) for k in (0, 1, 9)] == pytest.approx([0, 0.125, 0.5])


def test_lists() -> None:
    assert nn.piecewise_constant_lr([1, 3], [0.5, 0.25]) == [0.5, 0.25, 0.25]
    assert nn.exponential_decay_lr(0.5, 0.5, 3, 1, 2, True) == [0.5, 0.5, 0.25]
    want = [0.5 * (1 + math.cos(math.pi * epoch / 3)) for epoch in (0, 0, 1, 1, 2)]
    assert nn.cosine_decay_lr(0.0, 1.0, 5, 2, 3) == pytest.approx(want)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="min_lr < max_lr"):
        nn.CosineDecayLR(1.0, 0.5, 4)
    with pytest.raises(ValueError, match="'decay_rate' must be a float > 0"):
        nn.ExponentialDecayLR(0.5, 0.0, 2)
    with pytest.raises(ValueError, match="must be increasing"):
        nn.piecewise_constant_lr([3, 1], [0.5, 0.25])
    with pytest.raises(ValueError, match="must have one size"):
        nn.piecewise_constant_lr([3], [0.5, 0.25])
