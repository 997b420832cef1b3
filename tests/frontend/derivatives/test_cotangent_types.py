"""Custom rules over containers: ``bprop`` returns a dict, a tuple, a number, or too many values."""

from __future__ import annotations

from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn

X = np.array([0.5, 1.5, 2.5], np.float32)


def slope(fn: Any) -> np.ndarray:
    return ms.grad(fn)(Tensor(X)).asnumpy()


class OfDict(nn.Cell):
    def construct(self, parts):
        return parts["a"] * parts["b"]

    def bprop(self, parts, out, ct):
        return {"a": ct * 10, "b": ct * parts["a"]}, None, None


def test_a_dict_and_nones_behind_it() -> None:
    """The rule says 10 for a, and a for b: with a = 2x and b = x, 20 + 2x."""
    rule = OfDict()

    def program(x):
        return rule({"a": x * 2, "b": x})

    np.testing.assert_allclose(slope(program), 20 + 2 * X)


class OfTuple(nn.Cell):
    def construct(self, parts, k):
        return parts[0] * parts[1] * k

    def bprop(self, parts, k, out, ct):
        return (None, ct * 7), 3


def test_a_tuple_with_none_and_a_number() -> None:
    rule = OfTuple()

    def program(x):
        return rule((x, x * x), x.sum())

    np.testing.assert_allclose(slope(program), 7 * 2 * X + 3)


class Marks(ms._Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(True)
        order = x > 1
        ctx.mark_non_differentiable(order)
        ctx.save_for_backward(x)
        return x * x, order

    @staticmethod
    def backward(ctx, ct, d_order):
        (x,) = ctx.saved_tensors
        return ct * x * 100


def test_marks_of_a_function() -> None:
    def program(x):
        y, order = Marks.apply(x)
        return y * order

    np.testing.assert_allclose(slope(program), 100 * X * (X > 1))
