"""What was read while compiling may change: the next call must be right, and going back, quick."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from tests.changes import X, assert_follows, slope


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    ms.compile_info().clear()
    yield
    ms.compile_info().clear()


class Scaled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.factor = 2.0
        self.square = False
        self.inner = Inner(3.0)
        self.w = Parameter(Tensor(np.full(3, 2.0, np.float32)))

    def construct(self, x):
        return x * self.factor


class Inner(nn.Cell):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.w = Parameter(Tensor(np.full(3, factor, np.float32)))

    def construct(self, x):
        return x * self.factor * self.w


# ---- attributes


def test_an_attribute() -> None:
    net = Scaled()
    assert_follows(
        net, lambda: setattr(net, "factor", 5.0), lambda: setattr(net, "factor", 2.0),
        np.full(3, 2.0), np.full(3, 5.0),
    )  # fmt: skip


class Flagged(Scaled):
    def construct(self, x):
        return x * x if self.square else x * 3.0


def test_a_flag_that_chooses_code() -> None:
    net = Flagged()
    assert_follows(
        net, lambda: setattr(net, "square", True), lambda: setattr(net, "square", False),
        np.full(3, 3.0), 2 * X,
    )  # fmt: skip


def test_equal_numbers_of_another_kind() -> None:
    """1, 1.0 and True are equal, but are not the same configuration."""
    net = Chosen()
    for kind, expected in ((1, 2.0), (1.0, 3.0), (True, 5.0), (1, 2.0)):
        net.kind = kind
        np.testing.assert_array_equal(slope(net, X), np.full(3, expected))
    assert len(ms.compile_info()) == 3


class Chosen(nn.Cell):
    def __init__(self):
        super().__init__()
        self.kind: Any = 1

    def construct(self, x):
        if isinstance(self.kind, bool):
            return x * 5.0
        return x * 2.0 if isinstance(self.kind, int) else x * 3.0


class Training(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = TrainedInner()

    def construct(self, x):
        return self.inner(x) * 2.0


class TrainedInner(nn.Cell):
    def construct(self, x):
        return x * x if self.training else x


def test_set_train_reaches_below() -> None:
    net = Training()
    assert_follows(net, net.set_train, lambda: net.set_train(False), np.full(3, 2.0), 4 * X)


def test_an_attribute_that_appears() -> None:
    net = Optional()
    np.testing.assert_array_equal(slope(net, X), np.full(3, 1.0))
    net.extra = 4.0
    np.testing.assert_array_equal(slope(net, X), np.full(3, 4.0))
    del net.extra
    np.testing.assert_array_equal(slope(net, X), np.full(3, 1.0))
    assert len(ms.compile_info()) == 2


class Optional(nn.Cell):
    def construct(self, x):
        if hasattr(self, "extra"):
            return x * self.extra
        return x * 1.0


# ---- Cells and Parameters


class UsesInner(Scaled):
    def construct(self, x):
        return self.inner(x)


def test_a_replaced_cell() -> None:
    net = UsesInner()
    old, new = net.inner, Inner(4.0)
    assert_follows(
        net, lambda: setattr(net, "inner", new), lambda: setattr(net, "inner", old),
        np.full(3, 9.0), np.full(3, 16.0),
    )  # fmt: skip


class UsesWeight(Scaled):
    def construct(self, x):
        return x * self.w


def test_a_replaced_parameter() -> None:
    net = UsesWeight()
    old, new = net.w, Parameter(Tensor(np.full(3, 7.0, np.float32)), name="w")
    assert_follows(
        net, lambda: setattr(net, "w", new), lambda: setattr(net, "w", old),
        np.full(3, 2.0), np.full(3, 7.0),
    )  # fmt: skip


def test_the_value_of_a_parameter_needs_no_compiling() -> None:
    net = UsesWeight()
    for value in (2.0, 5.0, -1.0):
        net.w.set_data(Tensor(np.full(3, value, np.float32)))
        np.testing.assert_array_equal(slope(net, X), np.full(3, value))
    net.w.asnumpy()[:] = 9.0
    np.testing.assert_array_equal(slope(net, X), np.full(3, 9.0))
    assert len(ms.compile_info()) == 1


def test_the_shape_of_a_parameter() -> None:
    net = UsesWeight()
    assert_follows(
        net, lambda: net.w.set_data(Tensor(np.full((2, 3), 4.0, np.float32))),
        lambda: net.w.set_data(Tensor(np.full(3, 2.0, np.float32))),
        np.full(3, 2.0), np.full(3, 8.0),
    )  # fmt: skip


class OneWeight(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.full(3, 2.0, np.float32)))

    def construct(self, x):
        return x * self.w


def test_frozen_and_thawed_parameters() -> None:
    net = OneWeight()
    gradient = ops.GradOperation(get_by_list=True)
    for trainable in (True, False, True):
        net.w.requires_grad = trainable
        found = gradient(net, net.trainable_params())(Tensor(X))
        assert len(found) == trainable
        if trainable:
            np.testing.assert_array_equal(found[0].asnumpy(), X)
    found = gradient(net)(Tensor(X))
    assert len(found) == 1


def test_another_cell_of_the_class() -> None:
    first, second = UsesWeight(), UsesWeight()
    second.w.set_data(Tensor(np.full(3, 5.0, np.float32)))
    for _ in range(2):
        np.testing.assert_array_equal(slope(first, X), np.full(3, 2.0))
        np.testing.assert_array_equal(slope(second, X), np.full(3, 5.0))


def test_layers_of_a_list() -> None:
    net = nn.SequentialCell([Inner(2.0)])
    np.testing.assert_array_equal(slope(net, X), np.full(3, 4.0))
    net.append(Inner(3.0))
    np.testing.assert_array_equal(slope(net, X), np.full(3, 36.0))


# ---- inputs


def square_sum(x):
    return ops.sum(x * x)


def test_shapes_and_dtypes_of_inputs() -> None:
    shapes = [(3,), (2, 3), (1,), (), (4,)]
    dtypes = [np.float32, np.float64, np.float16]
    for _ in range(2):
        for shape in shapes:
            for dtype in dtypes:
                x = np.full(shape, 1.5, dtype)
                found = slope(square_sum, x)
                assert (found.dtype, found.shape) == (x.dtype, x.shape)
                np.testing.assert_array_equal(found, 2 * x)
    assert len(ms.compile_info()) == len(shapes) * len(dtypes)


def times(x, k):
    return x * k


def repeated(x, k):
    for _ in range(k):
        x = x * 2.0
    return x


def test_numbers_are_not_compiled_in() -> None:
    for k in (2, 3, 2, -1):
        np.testing.assert_array_equal(slope(times, X, k), np.full(3, k))
    for k in (0, 1, 5):
        np.testing.assert_array_equal(slope(repeated, X, k), np.full(3, 2.0**k))
    assert len(ms.compile_info()) == 2
    np.testing.assert_array_equal(slope(times, X, 2.5), np.full(3, 2.5))


def by_text(x, kind):
    return x * 2.0 if kind == "twice" else x * 3.0


def test_texts_are() -> None:
    for kind, expected in (("twice", 2.0), ("thrice", 3.0), ("twice", 2.0)):
        np.testing.assert_array_equal(slope(by_text, X, kind), np.full(3, expected))
    assert len(ms.compile_info()) == 2


def test_changes_below_a_gradient_inside_a_cell() -> None:
    class GradNet(nn.Cell):
        def __init__(self):
            super().__init__()
            self.net = Flagged()
            self.grad_op = ops.GradOperation()

        def construct(self, x):
            return self.grad_op(self.net)(x) * x

    net = GradNet()
    assert_follows(
        net, lambda: setattr(net.net, "square", True), lambda: setattr(net.net, "square", False),
        np.full(3, 3.0), 4 * X,
    )  # fmt: skip


def test_changes_below_a_gradient_made_outside() -> None:
    net = Flagged()
    inner = ops.GradOperation()(net)

    def times(x):
        return inner(x) * x

    assert_follows(
        times, lambda: setattr(net, "square", True), lambda: setattr(net, "square", False),
        np.full(3, 3.0), 4 * X,
    )  # fmt: skip


def test_compile_info_says_why() -> None:
    net = Scaled()
    slope(net, X)
    net.factor = 5.0
    slope(net, X)
    slope(net, X.astype(np.float64))
    ops.GradOperation(get_all=True)(net)(Tensor(X))
    reasons = [unit.reason for unit in ms.compile_info().units]
    assert reasons == [
        "first call", "fn.factor is no longer 2.0", "other argument types",
        "another gradient is requested",
    ]  # fmt: skip
