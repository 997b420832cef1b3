"""``stop_gradient``: what it lets through and what it stops, and what a Tensor does not have."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler import GradOperation, Parameter, ParameterTuple, Tensor, nn, ops

X, Y = np.array([1.0, 2.0], np.float32), np.array([3.0, 5.0], np.float32)


def gradients(fn):
    return [d.asnumpy() for d in GradOperation(get_all=True)(fn)(Tensor(X), Tensor(Y))]


def test_a_stopped_factor_is_a_constant():
    d_x, d_y = gradients(lambda x, y: ops.stop_gradient(x) * x * y)
    assert np.array_equal(d_x, X * Y) and np.array_equal(d_y, X * X)


def test_everything_inside_is_stopped():
    for d in gradients(lambda x, y: ops.stop_gradient(ops.sin(x) * y)):
        assert np.array_equal(d, np.zeros(2))


def test_a_stopped_output_gives_zeros_of_the_weights():
    class Line(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor(np.array([6.0], np.float32)), name="w")
            self.b = Parameter(Tensor(np.array([1.0], np.float32)), name="b")

        def construct(self, x):
            return ops.stop_gradient(self.w * x + self.b)

    net = Line()
    weights = ParameterTuple(net.trainable_params())
    found = GradOperation(get_by_list=True)(net, weights)(Tensor(X))
    assert [d.tolist() for d in found] == [[0.0], [0.0]]


@pytest.mark.parametrize("value", [3, None, "a", (1, 2), [1.5], {"k": 2}])
def test_what_is_no_tensor_comes_back_unchanged(value):
    assert ops.stop_gradient(value) == value
    assert type(ops.stop_gradient(value)) is type(value)


@pytest.mark.parametrize("name", ["requires_grad", "grad", "backward", "detach", "stop_gradient"])
def test_a_tensor_has_none_of_the_names_of_tapes(name):
    with pytest.raises(AttributeError):
        getattr(Tensor(X), name)
