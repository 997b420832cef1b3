"""The error function of large arrays goes step by step: the same numbers, and the right ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.cost_model import costs

SPECIAL = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 28.0, -28.0, math.inf, -math.inf]


@pytest.mark.usefixtures("memory_level")
@pytest.mark.parametrize("dtype, limit", [(np.float32, 4e-7), (np.float64, 2e-14)])
@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_parts_give_what_the_text_gives(name: str, dtype: type, limit: float) -> None:
    function: Callable[..., Any] = getattr(ops, name)
    x = np.concatenate([np.linspace(-7, 9, 20000), SPECIAL]).astype(dtype)
    value, _ = ms.value_and_grad(lambda x: function(x))(Tensor(x))
    few = [function(Tensor(each)).asnumpy() for each in np.array_split(x, 10)]
    assert few[0].nbytes < costs().large_bytes < x.nbytes
    np.testing.assert_array_equal(value.asnumpy(), np.concatenate(few))
    wanted = np.array([getattr(math, name)(float(each)) for each in x])
    seen = np.abs(wanted) > np.finfo(dtype).tiny
    np.testing.assert_allclose(value.asnumpy()[seen], wanted[seen], rtol=limit)


@pytest.mark.usefixtures("memory_level")
def test_the_polynomial_makes_no_array_for_each_coefficient() -> None:
    text = ms.gradient_source(lambda x: ops.erf(x), Tensor(np.ones((150, 150), np.float32)))
    assert "polyval" not in text and "out=" in text
