"""Gradients of reads from a Parameter after ``construct`` wrote to it.

No gradient passes through a stored value. Each read, before and after, counts for the Parameter
itself. The numbers were measured on MindSpore, where both modes agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Parameter, ParameterTuple, Tensor, jvp, nn, ops
from autodiff_compiler.testing import check_grads

X = np.array([1.5, 2.5], np.float32)


class Writing(nn.Cell):
    """Writes to its Parameters in all ways."""

    def __init__(self, way: str):
        super().__init__()
        self.w = Parameter(Tensor(np.array([3.0, 5.0], np.float32)), name="w")
        self.v = Parameter(Tensor(np.array([2.0, 4.0], np.float32)), name="v")
        self.way = way

    def construct(self, x: Tensor) -> Tensor:
        return getattr(self, self.way)(x)

    def set_and_read(self, x: Tensor) -> Tensor:
        self.w = x * 7
        return self.w * 2

    def assigned(self, x: Tensor) -> Tensor:
        ops.assign(self.w, x * 7)
        return self.w * 2

    def assign_returned(self, x: Tensor) -> Tensor:
        return ops.assign(self.w, x * 7) * 2

    def in_place(self, x: Tensor) -> Tensor:
        self.w += x * 7
        return self.w * 2

    def added(self, x: Tensor) -> Tensor:
        ops.assign_add(self.w, x * 7)
        return self.w * 2

    def add_returned(self, x: Tensor) -> Tensor:
        return ops.assign_add(self.w, x * 7) * 2

    def sub_returned(self, x: Tensor) -> Tensor:
        return ops.assign_sub(self.w, x * 7) * 2

    def by_itself(self, x: Tensor) -> Tensor:
        self.w = self.w * x
        return self.w * 2

    def read_write_read(self, x: Tensor) -> Tensor:
        y = self.w * x
        self.w = x * 7
        return y + self.w * x * 10

    def an_item(self, x: Tensor) -> Tensor:
        self.w[0] = x[1] * 7
        return self.w * 2

    def adds_to_an_item(self, x: Tensor) -> Tensor:
        self.w[0] += x[0]
        return self.w * x

    def of_the_other(self, x: Tensor) -> Tensor:
        self.w = self.v * x
        return self.w * 2

    def in_a_branch(self, x: Tensor) -> Tensor:
        if x[0] > 0:
            self.w = x * 7
        return self.w * 2

    def in_a_for(self, x: Tensor) -> Tensor:
        for _ in range(3):
            self.w = self.w + x
        return self.w * 2

    def in_a_while(self, x: Tensor) -> Tensor:
        n = x[0]
        while n > 0.5:
            self.w = self.w + x
            n = n - 0.7
        return self.w * x

    def used_in_a_loop(self, x: Tensor) -> Tensor:
        y = x
        for _ in range(3):
            self.w = self.w * x
            y = y * self.w
        return y

    def both(self, x: Tensor) -> Tensor:
        self.w = x * 3
        self.v = self.w * x
        return self.v * self.w

    def beside_a_variable(self, x: Tensor) -> Tensor:
        t = x * 7
        self.w = t
        return t * self.w

    def in_a_method(self, x: Tensor) -> Tensor:
        return self.updated(x) * self.w

    def updated(self, x: Tensor) -> Tensor:
        self.w = x * 7
        return self.w

    def held_before(self, x: Tensor) -> Tensor:
        p = self.w
        self.w = x * 7
        return p * x


TWO, NONE = [2.0, 2.0], [0.0, 0.0]
#: The gradients for x, w and v.
MEASURED: dict[str, tuple[list[float], list[float], list[float]]] = {
    "set_and_read": (NONE, TWO, NONE), "assigned": (NONE, TWO, NONE),
    "assign_returned": (NONE, TWO, NONE), "in_place": (NONE, TWO, NONE),
    "added": (NONE, TWO, NONE), "add_returned": ([14.0, 14.0], TWO, NONE),
    "sub_returned": ([-14.0, -14.0], TWO, NONE), "by_itself": (NONE, TWO, NONE),
    "read_write_read": ([108.0, 180.0], [16.5, 27.5], NONE), "an_item": (NONE, TWO, NONE),
    "adds_to_an_item": ([4.5, 5.0], [1.5, 2.5], NONE), "of_the_other": (NONE, TWO, NONE),
    "in_a_branch": (NONE, TWO, NONE), "in_a_for": (NONE, TWO, NONE),
    "in_a_while": ([6.0, 10.0], [1.5, 2.5], NONE),
    "used_in_a_loop": ([307.546875, 30517.578125], [216.421875, 9521.484375], NONE),
    "both": (NONE, [6.75, 18.75], [4.5, 7.5]),
    "beside_a_variable": ([73.5, 122.5], [10.5, 17.5], NONE),
    "in_a_method": (NONE, [21.0, 35.0], NONE), "held_before": ([10.5, 17.5], [1.5, 2.5], NONE),
}  # fmt: skip


def gradients(way: str, **options: Any) -> list[np.ndarray]:
    net = Writing(way)
    weights = ParameterTuple([net.w, net.v])
    of_x, of_weights = ops.GradOperation(get_all=True, get_by_list=True)(net, weights)(Tensor(X))
    return [found.asnumpy() for found in (*of_x, *of_weights)]


@pytest.mark.parametrize("way", MEASURED)
def test_the_gradients_are_those_that_were_measured(way: str) -> None:
    for found, wanted in zip(gradients(way), MEASURED[way], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("way", MEASURED)
def test_differences_with_the_stored_values_fixed_agree(way: str) -> None:
    if "item" not in way:  # an item is written where it stands: there is nothing to hold still
        check_grads(Writing(way), [Tensor(X)])


@pytest.mark.parametrize("way", MEASURED)
def test_the_state_afterwards_is_that_of_eager_python(way: str) -> None:
    eager, compiled = Writing(way), Writing(way)
    eager(Tensor(X))
    ops.GradOperation()(compiled)(Tensor(X))
    for one, other in (eager.w, compiled.w), (eager.v, compiled.v):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6)


def test_the_second_derivative_and_the_tangent_treat_it_as_fixed_too() -> None:
    class Twice(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Writing("times_squares")
            self.gradient = ops.GradOperation()(self.inner)

        def construct(self, x: Tensor) -> Tensor:
            return self.gradient(x)

    def times_squares(self: Writing, x: Tensor) -> Tensor:
        self.w = x * 7
        return self.w * x * x

    Writing.times_squares = times_squares  # type: ignore[attr-defined]
    found = ops.GradOperation()(Twice())(Tensor(X))
    np.testing.assert_allclose(found.asnumpy(), [21.0, 35.0], rtol=1e-6)
    _, dot = jvp(Writing("times_squares"), Tensor(X), Tensor(np.ones(2, np.float32)))
    np.testing.assert_allclose(dot.asnumpy(), [31.5, 87.5], rtol=1e-6)


def test_attributes_that_are_no_parameters_pass_the_gradient_on() -> None:
    class Keeping(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.last = Tensor(np.zeros(2, np.float32))

        def construct(self, x: Tensor) -> Tensor:
            self.last = x * 7
            return self.last * 2

    found = ops.GradOperation()(Keeping())(Tensor(X))
    np.testing.assert_allclose(found.asnumpy(), [14.0, 14.0])


def test_a_read_before_the_write_has_the_old_value() -> None:
    class Before(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(Tensor(np.array([3.0, 5.0], np.float32)), name="w")

        def construct(self, x: Tensor) -> Tensor:
            y = self.w * x
            self.w = x
            return y

    np.testing.assert_allclose(ops.GradOperation()(Before())(Tensor(X)).asnumpy(), [3.0, 5.0])
