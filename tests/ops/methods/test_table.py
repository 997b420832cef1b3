"""Methods of Tensor that take the shape of another one, and extremes with their positions."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.errors import CompileError

X = np.arange(6.0, dtype=np.float32).reshape(2, 3)


def test_shapes_of_other_tensors() -> None:
    x, other = Tensor(X), Tensor(np.zeros((3, 2)))
    for method in ("reshape_as", "view_as"):
        for call in (getattr(Tensor, method), ms.jit(lambda x, y, m=method: getattr(x, m)(y))):
            np.testing.assert_array_equal(call(x, other).asnumpy(), X.reshape(3, 2))
    wide = Tensor(np.zeros((4, 2, 3)))
    np.testing.assert_array_equal(x.expand_as(wide).asnumpy(), np.broadcast_to(X, (4, 2, 3)))
    slope = ms.grad(lambda x: (x.expand_as(wide) ** 2).sum())(x)
    np.testing.assert_allclose(slope.asnumpy(), 8 * X)
    with pytest.raises(CompileError):
        x.view_as(wide)


def test_new_tensors_have_the_dtype_of_the_old_one() -> None:
    x = Tensor(X)
    assert x.new_empty((2, 2)).dtype == ms.float32 and x.new_empty((2, 2)).shape == (2, 2)
    assert x.new_empty((3,), dtype=ms.int32).dtype == ms.int32


def test_the_largest_element_and_its_position() -> None:
    x = np.array([[1.0, 5.0, 5.0], [7.0, 0.0, 2.0]], np.float32)
    values, places = Tensor(x).argmax_with_value(axis=1, keep_dims=True)
    assert values.asnumpy().tolist() == [[5.0], [7.0]] and places.asnumpy().tolist() == [[1], [0]]
