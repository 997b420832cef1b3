"""In-place methods of Tensors: aliases that they leave alone, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, errors, nn, ops


def test_the_caller_keeps_his_tensor() -> None:
    def doubled(x):
        x.mul_(2.0)
        return x * x

    x = Tensor([1.0, 3.0])
    np.testing.assert_array_equal(ms.grad(doubled)(x).asnumpy(), [8.0, 24.0])
    np.testing.assert_array_equal(x.asnumpy(), [1.0, 3.0])


def test_eagerly_the_tensor_itself_is_changed() -> None:
    x = Tensor([1.0, 3.0])
    y = x
    assert x.add_(1, alpha=2).clamp_(0.0, 4.0) is y
    np.testing.assert_array_equal(y.asnumpy(), [3.0, 4.0])


def test_the_dtype_stays() -> None:
    def shifted(x):
        y = ops.ones_like(x).astype("int32")
        y.add_(x)
        return y

    found = ms.jit(shifted)(Tensor([1.0, 3.5]))
    assert found.dtype == ms.int32
    np.testing.assert_array_equal(found.asnumpy(), [2, 4])


class Counting(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = Parameter(Tensor([0.0]))

    def construct(self, x):
        self.count.add_(1.0)
        self.count.mul_(2.0)
        return x * self.count


def test_a_parameter_is_written_once_per_call() -> None:
    net = Counting()
    for expected in (2.0, 6.0, 14.0):
        gradient = ops.GradOperation()(net)(Tensor([1.0]))
        assert gradient.asnumpy() == expected == net.count.asnumpy()


def test_a_change_in_the_middle_of_an_expression_is_refused() -> None:
    def twice(x):
        y = x * 1
        return y + y.add_(x)

    with pytest.raises(errors.UnsupportedSyntax, match="within a larger expression"):
        ms.grad(twice)(Tensor([1.0]))


def test_a_larger_operand_is_refused() -> None:
    def grows(x, y):
        z = x * 1
        z.add_(y)
        return z

    with pytest.raises(errors.ShapeError, match="an in-place operation"):
        ms.grad(grows)(Tensor([1.0, 2.0]), Tensor([[1.0, 2.0]]))
