"""Operator classes of reductions and extremes, which have settings and then operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

X = np.array([[3.0, 1.0, 2.0], [1.0, 4.0, 1.0]], np.float32)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(
    ("operator", "numpy", "given"),
    [
        ("ReduceAll", np.all, X > 1),
        ("ReduceAny", np.any, X > 3),
        ("ReduceMin", np.min, X),
        ("ReduceMax", np.max, X),
        ("ReduceMean", np.mean, X),
        ("ReduceProd", np.prod, X),
        ("ReduceSum", np.sum, X),
    ],
)
def test_reductions(operator: str, numpy: Any, given: np.ndarray, keep: bool) -> None:
    reduction = getattr(ops, operator)(keep_dims=keep)
    for axis in (0, -1, (0, 1)):
        found = reduction(Tensor(given), axis).asnumpy()
        wanted = numpy(given, axis=axis, keepdims=keep)
        assert found.shape == wanted.shape and found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("position", "pair", "numpy", "extreme"),
    [
        (ops.Argmax, ops.ArgMaxWithValue, np.argmax, np.max),
        (ops.Argmin, ops.ArgMinWithValue, np.argmin, np.min),
    ],
)
def test_extremes_and_their_positions(position: Any, pair: Any, numpy: Any, extreme: Any) -> None:
    """A tie goes to the first element."""
    for axis in (0, 1):
        at = position(axis=axis)(Tensor(X))
        assert at.dtype == ms.int32 and at.asnumpy().tolist() == numpy(X, axis=axis).tolist()
        for keep in (False, True):
            index, value = pair(axis=axis, keep_dims=keep)(Tensor(X))
            np.testing.assert_array_equal(index.asnumpy(), numpy(X, axis=axis, keepdims=keep))
            np.testing.assert_array_equal(value.asnumpy(), extreme(X, axis=axis, keepdims=keep))
    slope = ms.grad(lambda x: pair(axis=1)(x)[1].sum())(Tensor(X)).asnumpy()
    wanted = np.zeros_like(X)
    wanted[[0, 1], numpy(X, axis=1)] = 1
    np.testing.assert_array_equal(slope, wanted)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unstacked_items(axis: int) -> None:
    items = ops.Unstack(axis)(Tensor(X))
    assert [item.asnumpy().tolist() for item in items] == np.moveaxis(X, axis, 0).tolist()
