"""Dropout of whole channels: the shapes that each function takes, and its zeros."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import CompileError

SHAPES = {"dropout1d": (30, 20, 7), "dropout2d": (30, 20, 3, 2), "dropout3d": (30, 20, 2, 1, 3)}


@pytest.mark.parametrize("name", SHAPES)
def test_channels_are_kept_or_zeroed_as_a_whole(name: str) -> None:
    ms.set_seed(4)
    x = np.random.default_rng(2).uniform(1, 2, SHAPES[name])
    function = getattr(ops, name)
    out = function(Tensor(x), 0.25, True).asnumpy()
    kept = (out != 0).reshape(30, 20, -1)
    assert (kept.all(-1) == kept.any(-1)).all() and abs(kept.mean() - 0.75) < 0.06
    np.testing.assert_allclose(out, np.where(out != 0, x / 0.75, 0), rtol=1e-12)
    np.testing.assert_array_equal(function(Tensor(x), 0.25, False).asnumpy(), x)
    with pytest.raises((CompileError, ValueError)):
        function(Tensor(np.ones(3)), 0.5, True)
