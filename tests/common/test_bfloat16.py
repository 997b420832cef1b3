"""bfloat16: numbers of eight bits of precision, where the package ml_dtypes is there to hold them.

Without it, whoever asks for the dtype is told what to install. Values are those of float32, rounded
by hand to the upper sixteen bits.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, gradient_source, nn, ops

THERE = importlib.util.find_spec("ml_dtypes") is not None


def rounded(numbers: Any) -> np.ndarray:
    """float32 rounded to the nearest bfloat16, ties to even, as float32."""
    bits = np.ascontiguousarray(numbers, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)


class Net(nn.Cell):
    def construct(self, x, y):
        return ops.exp(x) * y + 2.5 * x


X, Y = np.array([0.5, 1.0, 1.5], np.float32), np.array([2.0, 3.0, 0.25], np.float32)


def run() -> None:
    """Eager, compiled and differentiated."""
    x, y = Tensor(X, ms.bfloat16), Tensor(Y).astype("bfloat16")
    assert x.dtype is ms.bfloat16 and str(x.dtype) == "BFloat16"
    exp = rounded(np.exp(X))
    expected = rounded(rounded(exp * Y) + rounded(np.float32(2.5) * X))
    for value in (Net()(x, y), ms.jit(Net())(x, y)):
        assert value.dtype is ms.bfloat16
        assert value.astype(ms.float32).asnumpy().tolist() == expected.tolist()
    dx, dy = ops.GradOperation(get_all=True)(Net())(x, y)
    assert dx.dtype is dy.dtype is ms.bfloat16
    slope = rounded(rounded(rounded(np.ones(3)) * Y) * exp)
    assert np.allclose(dx.float().asnumpy(), slope + 2.5, rtol=2**-7)
    assert dy.float().asnumpy().tolist() == exp.tolist()
    assert (x + Tensor(X)).dtype is ms.float32  # the wider float wins
    assert (x + Tensor(np.array([1, 2, 3]))).dtype is ms.bfloat16
    assert (x > 1.0).dtype is ms.bool_ and x[1:].dtype is ms.bfloat16
    assert x.sum().dtype is ms.bfloat16 and ops.matmul(x, y).dtype is ms.bfloat16
    assert repr(Tensor(np.array([1, 2], np.float32), ms.bfloat16)) == (
        "Tensor(shape=[2], dtype=BFloat16, value= [1, 2])"
    )


def test_it_works_or_names_the_missing_package() -> None:
    if THERE:
        run()
        return
    for ask in (
        lambda: Tensor(X, ms.bfloat16), lambda: Tensor(X).astype("bfloat16"),
        lambda: Tensor(X).bfloat16(), lambda: ops.cast(Tensor(X), ms.bfloat16),
        lambda: ops.zeros((2,), ms.bfloat16),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"pip install autodiff-compiler\[bfloat16\]"):
            ask()


def test_the_source_says_where_the_dtype_comes_from() -> None:
    """Printing needs no array, so it needs no package."""
    text = gradient_source(Net(), "bf16[3]", "bf16[3]")
    head = text[: text.index("\n\n\n")]
    assert head.endswith("import ml_dtypes\nimport numpy as np")
    assert "np.bfloat16" not in text and ".astype(ml_dtypes.bfloat16)" in text
    large = gradient_source(Net(), "bf16[300000]", "bf16[300000]")
    assert ".astype(ml_dtypes.bfloat16)" in large and "np.bfloat16" not in large
    assert "ml_dtypes" not in gradient_source(Net(), "f32[3]", "f32[3]")
