"""A read of a variable that the taken path did not set raises there, with the variable's name."""

from __future__ import annotations

from typing import Any

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

ABOVE, BELOW = Tensor([1.0, 2.0]), Tensor([-1.0, -2.0])


def branch(x: Any) -> Any:
    if ops.sum(x) > 0:
        y = x * x
    return y


def name(x: Any) -> Any:
    if ops.sum(x) > 0:
        mode = "square"
    return x * x if mode == "square" else x


def loop(x: Any) -> Any:
    while ops.sum(x) > 2:
        y = x * 2
        x = y * 0.2
    return y


def earlier_iteration(x: Any) -> Any:
    for i in range(3):
        if ops.sum(x) > 0 or i > 0:
            x = x * y  # noqa: F821
        y = x + 1  # noqa: F841
    return x


def shadowing(x: Any) -> Any:
    if ops.sum(x) > 0:
        BELOW = x * 2
    return BELOW * x


CASES = [
    (branch, BELOW, "'y' may be unassigned here: the 'if' on line"),
    (name, BELOW, "'mode' may be unassigned here: the 'if' on line"),
    (loop, BELOW, "'y' may be unassigned here: only the body of the loop on line"),
    (earlier_iteration, ABOVE, "'y' may be unassigned here: only the body of the loop on line"),
    (shadowing, BELOW, "'BELOW' may be unassigned here: the 'if' on line"),
]


@pytest.mark.parametrize(("function", "x", "message"), CASES)
def test_the_read_raises_in_value_and_gradient(function: Any, x: Tensor, message: str) -> None:
    with pytest.raises(UnboundLocalError):
        function(x)
    for run in (ms.jit(function), ms.grad(function)):
        with pytest.raises(UnboundLocalError) as caught:
            run(x)
        line = function.__code__.co_firstlineno
        assert str(caught.value).startswith(f"{message} {line + 1}")


def test_one_check_serves_all_further_reads() -> None:
    def twice(x: Any) -> Any:
        if ops.sum(x) > 0:
            y = x * x
        return y * y + ops.sin(y)

    assert ms.gradient_source(twice, ABOVE).count("raise UnboundLocalError") == 1


def test_a_value_that_is_none_at_run_time_raises_by_name():
    def program(x):
        h = None
        if x.sum() > 1:
            h = x * x
        return h * x

    grad = ops.grad(program)
    assert grad(Tensor([2.0, 1.0])).tolist() == [12.0, 3.0]
    with pytest.raises(TypeError, match="'h' is None here"):
        grad(Tensor([0.2, 0.1]))
