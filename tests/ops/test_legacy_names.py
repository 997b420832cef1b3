"""Names from before MindSpore 2: each computes what NumPy's operator does."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor
from autodiff_compiler.ops import legacy_names

X, Y = np.array([4.0, -3.5, 2.0]), np.array([3.0, 2.0, 2.0])
OPERATORS = {
    "tensor_add": operator.add, "tensor_sub": operator.sub, "tensor_mul": operator.mul,
    "tensor_div": operator.truediv, "tensor_floordiv": operator.floordiv,
    "tensor_mod": operator.mod, "tensor_pow": operator.pow, "tensor_gt": operator.gt,
    "tensor_ge": operator.ge, "tensor_lt": operator.lt, "tensor_le": operator.le,
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    found = getattr(legacy_names, name)(Tensor(X), Tensor(Y)).asnumpy()
    wanted: Any = OPERATORS[name](X, Y)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_other_names() -> None:
    x = Tensor(X)
    np.testing.assert_allclose(legacy_names.tensor_exp(x).asnumpy(), np.exp(X))
    np.testing.assert_array_equal(legacy_names.identity(x).asnumpy(), X)
    assert legacy_names.shape_(x) == (3,)
    assert legacy_names.make_range(3) == (0, 1, 2)
    assert legacy_names.make_tuple(1, "a") == (1, "a")
