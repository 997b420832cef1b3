"""In-place scans: the same numbers, and only in arrays of the function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, gradient_source, ops, value_and_grad
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.passes.memory.scan_in_place import scan_in_place
from autodiff_compiler.testing import check_grads

RANDOM = np.random.default_rng(8)
X = RANDOM.normal(size=(5, 6))


@pytest.fixture(autouse=True)
def everything_is_large() -> Iterator[None]:
    with changed_costs(large_bytes=1):
        yield


def rows(x: Any) -> Any:
    return ops.sum(ops.tanh(ops.cumsum(x, 1)) ** 2)


def columns(x: Any) -> Any:
    y = ops.cumsum(ops.sin(x), 0)
    return ops.sum(y * y * x)


def of_the_argument(x: Any) -> Any:
    y = ops.flip(ops.cumsum(ops.flip(x, (0,)), 0), (0,))
    return ops.sum(y * x) + ops.sum(x * x)


def products(x: Any) -> Any:
    y = ops.cumprod(ops.exp(x) + 0.5, 1)
    return ops.sum(y * y)


@pytest.mark.parametrize("function", [rows, columns, of_the_argument, products])
def test_gradients_of_two_orders(function: Any) -> None:
    check_grads(function, (X,))


@pytest.mark.parametrize("function", [rows, columns, of_the_argument])
def test_the_numbers_are_those_of_sums_elsewhere(function: Any) -> None:
    for dtype in (np.float16, np.float32, np.float64):
        x = Tensor(X.astype(dtype))
        call = value_and_grad(function)
        found = [call(x)[1].asnumpy().copy() for _ in range(2)]
        np.testing.assert_array_equal(x.asnumpy(), X.astype(dtype))
        with changed_costs(large_bytes=2**16):
            wanted = value_and_grad(lambda x: function(x))(x)[1].asnumpy()
        for each in found:
            np.testing.assert_array_equal(each, wanted)


def test_a_sum_from_the_end_is_made_in_its_operand() -> None:
    source = gradient_source(rows, Tensor(X.astype(np.float32)))
    assert "d_cumsum_x_flipped.cumsum(axis=1, out=d_cumsum_x_flipped)" in source
    assert "cumsum(axis=0, out=x" not in gradient_source(of_the_argument, Tensor(X))


def test_values_read_later_and_other_flips_stay() -> None:
    head = "func @f(%x: f32[4,3]) -> (f32[4,3]) {\n"
    flip, run = "flip %{} {{axes=(0,)}}", "%c: f32[4,3] = cumsum %r {axis=0}"
    for first, last, given in (
        ("%a: f32[4,3] = sin %x", flip.format("c"), "add %y, %a"),
        ("%a: f32[4,3] = sin %x", flip.format("c"), "add %y, %c"),
        ("%a: f32[4,3] = sin %x", "flip %c {axes=(1,)}", "neg %y"),
        ("%a: f32[4,3] = flip %x {axes=(1,)}", flip.format("c"), "neg %y"),
    ):
        text = (
            f"{head}  {first}\n  %r: f32[4,3] = {flip.format('a')}\n  {run}\n"
            f"  %y: f32[4,3] = {last}\n  %z: f32[4,3] = {given}\n  return %z\n}}\n"
        )
        function = parse_function(text)
        assert scan_in_place(function) is function, print_function(scan_in_place(function))
