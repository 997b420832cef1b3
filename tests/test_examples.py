"""The examples of MindSpore's documentation, with the numbers and the text that it prints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn, ops

EXAMPLES = json.loads((Path(__file__).parent / "examples.json").read_text())
MODES = {"pynative": ms.PYNATIVE_MODE, "graph": ms.GRAPH_MODE}
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]\d+)?")


class Product(nn.Cell):
    def __init__(self):
        super().__init__()
        self.matmul = ops.MatMul()

    def construct(self, x, y):
        x = x * self.z
        out = self.matmul(x, y)
        return out


class Line(nn.Cell):
    def construct(self, x):
        return self.w * x + self.b


class LineSwapped(nn.Cell):
    def construct(self, x):
        return x * self.w + self.b


class Stopped(nn.Cell):
    def construct(self, x):
        out = x * self.w + self.b
        out = ops.stop_gradient(out)
        return out


CELLS = {
    "ops.MatMul()(x * self.z, y)": Product,
    "self.w * x + self.b": Line,
    "x * self.w + self.b": LineSwapped,
    "ops.stop_gradient(x * self.w + self.b)": Stopped,
}


class GradNet(nn.Cell):
    """The gradient inside a construct, as the documentation writes it."""

    def __init__(self, net, grad_op, by_list):
        super().__init__()
        self.net = net
        self.params = ms.ParameterTuple(net.trainable_params())
        self.grad_op = grad_op
        self.by_list = by_list

    def construct(self, *inputs):
        if self.by_list:
            gradient_function = self.grad_op(self.net, self.params)
        else:
            gradient_function = self.grad_op(self.net)
        return gradient_function(*inputs)


def tensor(record: dict[str, Any]) -> ms.Tensor:
    return ms.Tensor(np.array(record["data"], record["dtype"]).reshape(record["shape"]))


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def made(example: dict[str, Any]) -> tuple[nn.Cell, tuple]:
    net = CELLS[example["call"]]()
    for record in example["params"]:
        parameter = ms.Parameter(tensor(record), record["name"], record["requires_grad"])
        setattr(net, record["name"], parameter)
    sens = [] if example["sens"] is None else [example["sens"]]
    return net, tuple(map(tensor, [*example["inputs"], *sens]))


def assert_as_documented(found: Any, example: dict[str, Any]) -> None:
    expected = list(leaves(example["result"]))
    assert isinstance(found, tuple) == isinstance(example["result"], list)
    results = list(leaves(found))
    assert len(results) == len(expected)
    for one, record in zip(results, expected):
        assert type(one) is ms.Tensor
        assert (str(one.dtype).lower(), list(one.shape)) == (record["dtype"], record["shape"])
        np.testing.assert_allclose(one.asnumpy().ravel(), record["data"], rtol=1e-6)
    # The last digit may differ with the order in which a product of matrices is summed.
    text, documented = str(found), example["printed"]
    assert NUMBER.sub("#", text) == NUMBER.sub("#", documented)
    numbers = [list(map(float, NUMBER.findall(each))) for each in (text, documented)]
    np.testing.assert_allclose(*numbers, rtol=1e-6)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> Iterator[None]:
    before = ms.get_context("mode")
    ms.set_context(mode=MODES[request.param])
    yield
    ms.set_context(mode=before)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["name"])
def test_gradient_function(example: dict[str, Any]) -> None:
    net, inputs = made(example)
    flags = example["flags"]
    if example["api"] == "mindspore.grad":
        found = ms.grad(net)(*inputs)
    else:
        weights = net.trainable_params() if flags.get("get_by_list") else None
        found = ops.GradOperation(**flags)(net, weights)(*inputs)
    assert_as_documented(found, example)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["name"])
def test_gradient_inside_a_cell(example: dict[str, Any], mode: None) -> None:
    net, inputs = made(example)
    flags = example["flags"]
    grad_op = ms.grad if example["api"] == "mindspore.grad" else ops.GradOperation(**flags)
    found = GradNet(net, grad_op, flags.get("get_by_list", False))(*inputs)
    assert_as_documented(found, example)


# Measured values of higher orders.


def cube(x):
    return x * x * x


def square_of_product(x, y):
    return x * x * y * y


class WeightCubed(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor([2.0]))

    def construct(self, x):
        return x * x * self.w * self.w * self.w


class Gradient(nn.Cell):
    """The gradient of a Cell as a Cell, with the same weights asked for."""

    def __init__(self, net, by_list=False, **flags):
        super().__init__()
        self.net = net
        self.grad_op = ops.GradOperation(get_by_list=by_list, **flags)
        self.by_list = by_list
        self.weights = ms.ParameterTuple(net.trainable_params()) if by_list else None

    def construct(self, *inputs):
        if self.by_list:
            return self.grad_op(self.net, self.weights)(*inputs)
        return self.grad_op(self.net)(*inputs)


class Function(nn.Cell):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def construct(self, *inputs):
        return self.fn(*inputs)


@pytest.mark.parametrize("as_cells", [False, True])
def test_four_orders_of_the_cube(as_cells: bool, mode: None) -> None:
    fn: Any = Function(cube) if as_cells else cube
    for expected in ([3, 12], [6, 12], [6, 6], [0, 0]):
        fn = Gradient(fn) if as_cells else ops.GradOperation()(fn)
        np.testing.assert_array_equal(fn(ms.Tensor([1.0, 2.0])).asnumpy(), expected)


@pytest.mark.parametrize("as_cells", [False, True])
def test_four_orders_of_the_sine(as_cells: bool) -> None:
    x = np.array([0.3, -1.2, 2.5], np.float32)
    fn: Any = Function(ops.sin) if as_cells else ops.sin
    for expected in (np.cos(x), -np.sin(x), -np.cos(x), np.sin(x)):
        fn = Gradient(fn) if as_cells else ms.grad(fn)
        np.testing.assert_allclose(fn(ms.Tensor(x)).asnumpy(), expected, rtol=1e-6)


def test_all_gradients_of_all_gradients_are_summed() -> None:
    grad_op = ops.GradOperation(get_all=True)
    d_x, d_y = grad_op(grad_op(square_of_product))(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 5.0]))
    np.testing.assert_array_equal(d_x.asnumpy(), [30, 90])
    np.testing.assert_array_equal(d_y.asnumpy(), [14, 48])


def test_weights_of_a_gradient_of_weights() -> None:
    first = Gradient(WeightCubed(), by_list=True)
    assert [weight.name for weight in first.trainable_params()] == ["net.w"]
    second = Gradient(first, by_list=True)
    np.testing.assert_array_equal(first(ms.Tensor([1.0, 2.0]))[0].asnumpy(), [60])
    np.testing.assert_array_equal(second(ms.Tensor([1.0, 2.0]))[0].asnumpy(), [60])


def test_stop_gradient_is_the_identity_without_a_derivative() -> None:
    def stopped(x):
        return ops.stop_gradient(ops.sin(x)) * x * x + ops.stop_gradient(x)

    x = np.array([0.5, 2.0], np.float32)
    value, slope = ms.value_and_grad(stopped)(ms.Tensor(x))
    np.testing.assert_allclose(value.asnumpy(), np.sin(x) * x * x + x, rtol=1e-6)
    np.testing.assert_allclose(slope.asnumpy(), 2 * np.sin(x) * x, rtol=1e-6)
