"""``Cell.to_float``: what is cast, and in which dtype values and gradients come out.

Dtypes and the numbers beside them were measured on MindSpore 2.10 in GRAPH_MODE.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops

X = Tensor([1.0, 2.0])


class Scale(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0, 3.0]), name="w")
        self.c = Tensor([1.0, 4.0])

    def construct(self, x):
        return x * self.w


class Constant(Scale):
    def construct(self, x):
        return x * self.c


class Helped(Scale):
    def construct(self, x):
        return self.helper(x)

    def helper(self, x):
        return self.w * x


class CastByHand(Scale):
    def construct(self, x):
        return ops.cast(self.w, ms.float32) + x.astype(ms.float32)


class Made(Scale):
    def construct(self, x):
        return x * ops.ones((2,), ms.float32)


class Pair(Scale):
    def construct(self, pair):
        return pair[0] * pair[1]


class Around(nn.Cell):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def construct(self, x):
        return self.cell(x)


@pytest.mark.parametrize(
    ("kind", "dtype", "value", "d_x", "d_w"),
    [
        (Scale, ms.float16, [2, 6], [2, 3], [1, 2]),
        (Constant, ms.float16, [1, 8], [1, 4], [0, 0]),
        (Helped, ms.float16, [2, 6], [2, 3], [1, 2]),
        (CastByHand, ms.float32, [3, 5], [1, 1], [1, 1]),
        (Made, ms.float32, [1, 2], [1, 1], [0, 0]),
    ],
)
def test_what_is_cast(kind: Any, dtype: Any, value: Any, d_x: Any, d_w: Any) -> None:
    net = Around(kind().to_float(ms.float16))
    out = net(X)
    assert out.dtype == dtype
    np.testing.assert_array_equal(out.asnumpy(), value)
    found, (weight,) = ms.grad(net, 0, net.trainable_params())(X)
    assert found.dtype == weight.dtype == net.cell.w.dtype == ms.float32
    np.testing.assert_array_equal(found.asnumpy(), d_x)
    np.testing.assert_array_equal(weight.asnumpy(), d_w)


def test_parts_of_arguments_and_whole_numbers() -> None:
    pair = Pair().to_float(ms.float16)
    for given in ((X, X), [X, X]):
        assert pair(given).dtype == ms.float16
    whole = Tensor([1, 2])
    assert pair((whole, whole)).dtype == ms.int64


def test_digits_are_those_of_the_dtype() -> None:
    net = nn.Dense(3, 2)
    x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    w, b = (p.asnumpy().astype(np.float16) for p in (net.weight, net.bias))
    want = x.astype(np.float16) @ w.T + b
    out = net.to_float(ms.float16)(Tensor(x))
    assert out.dtype == ms.float16
    np.testing.assert_array_equal(out.asnumpy(), want)
    assert net.to_float(ms.float32)(Tensor(x)).dtype == ms.float32


def test_the_inner_word_counts() -> None:
    """A child that this is said to has its own precision; one that joins later has none."""
    net = Around(Around(Scale())).to_float(ms.float16)
    assert net(X).dtype == ms.float16
    net.cell.cell.to_float(ms.float32)
    assert net(X).dtype == ms.float32
    net.cell.cell = Scale()
    assert net(X).dtype == ms.float32
    assert copy.deepcopy(net.to_float(ms.float16))(X).dtype == ms.float16


def test_moving_statistics_keep_their_digits() -> None:
    """An average in float16 would not move by a ten-thousandth of 1."""
    net = nn.BatchNorm1d(1, momentum=0.9999).to_float(ms.float16).set_train()
    net.moving_mean.set_data(Tensor([1.0]))
    net(Tensor(np.zeros((2, 1), np.float32)))
    np.testing.assert_allclose(net.moving_mean.asnumpy(), [0.9999], rtol=1e-6)


def test_a_parameter_is_still_itself() -> None:
    class Counts(Scale):
        def construct(self, x):
            held = self.w
            ops.assign_add(held, x)
            return x

    net = Counts().to_float(ms.float16)
    assert net(X).dtype == ms.float16
    assert net.w.dtype == ms.float32
    np.testing.assert_array_equal(net.w.asnumpy(), [3, 5])


def test_what_is_refused() -> None:
    for wrong in (ms.int32, ms.float64, "float16", np.float16, None):
        with pytest.raises(ValueError, match="must be mstype.float32, mstype.float16 or mstype.bf"):
            Scale().to_float(wrong)
    net = Scale().to_float(ms.float16)
    with pytest.raises(ms.errors.DTypeError, match="dtype is not known"):
        ms.gradient_source(net, "any[...]")
