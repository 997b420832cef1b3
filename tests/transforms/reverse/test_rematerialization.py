"""What backward computes again has the bits that forward had: a maximum is where it was."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.cost_model import changed_costs

SMALL = {"large_bytes": 1, "medium_bytes": 1, "rematerialised_bytes": 1}


def scaled_twice(y):
    a = 0.6 * y
    b = 0.8 * a
    return b.max() + np.sum(np.sin(np.abs(b)))


def shifted(y):
    a = y / 3.0
    b = a * 0.1 + 0.7
    return np.min(b) * 2.0 + np.sum(b * b)


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_a_maximum_is_where_forward_had_it(level: int, seed: int) -> None:
    y = np.random.default_rng(seed).uniform(-2, 2, 7)
    before = ms.get_context("opt_level")
    ms.set_context(opt_level=level)
    try:
        with changed_costs(**SMALL):
            found = [ms.grad(scaled_twice)(y), ms.grad(shifted)(y)]
    finally:
        ms.set_context(opt_level=before)
    b = 0.8 * (0.6 * y)
    np.testing.assert_allclose(found[0], 0.48 * ((y == y.max()) + np.cos(np.abs(b)) * np.sign(b)))
    b = y / 3.0 * 0.1 + 0.7
    np.testing.assert_allclose(found[1], (2.0 * (y == y.min()) + 2.0 * b) / 30.0)
