"""Reductions under their older names: they are those of the newer names, and NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

X = np.array([[[1.5, -2.0, 0.0], [4.0, 0.5, 1.0]], [[3.0, -1.0, 2.0], [0.25, 7.0, -3.0]]])
NAMES = {
    "reduce_sum": np.sum, "reduce_mean": np.mean, "reduce_max": np.max, "reduce_min": np.min,
    "reduce_prod": np.prod, "reduce_all": np.all, "reduce_any": np.any,
}  # fmt: skip


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axis", [(), 1, (0, -1)])
def test_values_are_numpys(axis: Any, keep: bool) -> None:
    given = X > 0 if axis == 1 else X
    axes = axis or None
    wanted = {name: each(given, axis=axes, keepdims=keep) for name, each in NAMES.items()}
    if given.dtype == bool:
        wanted = {name: wanted[name] for name in ("reduce_all", "reduce_any")}
    x = Tensor(given)
    for name, value in wanted.items():
        reduced = getattr(ops, name)
        for call in (
            reduced,
            ms.jit(lambda x, axis, keep, reduced=reduced: reduced(x, axis, keep)),
        ):
            found = call(x, axis, keep).asnumpy()
            assert found.shape == value.shape and found.dtype == value.dtype, name
            np.testing.assert_allclose(found, value, rtol=1e-14, err_msg=name)


def test_slopes_of_products_and_extremes() -> None:
    """A product's slope leaves one factor out; an extreme's goes to its element."""
    slope = ms.grad(lambda x: ops.reduce_prod(x, 2).sum())(Tensor(X)).asnumpy()
    for place in np.ndindex(X.shape):
        others = np.delete(X[place[:2]], place[2])
        assert slope[place] == pytest.approx(others.prod())
    slope = ms.grad(lambda x: ops.reduce_max(x, 0).sum())(Tensor(X)).asnumpy()
    np.testing.assert_array_equal(slope, X.max(0) == X)
