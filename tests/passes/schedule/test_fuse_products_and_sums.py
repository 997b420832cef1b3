"""Multiply-reduce fusion: the values of the sum, and only where the product is large."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import Tensor, ops
from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.schedule.fuse_products_and_sums import fuse_products_and_sums
from autodiff_compiler.passes.schedule.tile_elementwise import tile_elementwise
from tests.interpreter import run
from tests.passes.conftest import Optimised


def program(
    shape: str, reduction: str, attrs: str, result: str, *, y: str = "", dtype: str = "f32"
) -> Function:
    return parse_function(
        f"""
        func @f(%x: {dtype}[{shape}], %y: {dtype}[{y or shape}]) -> ({dtype}[{result}]) {{
          %p: {dtype}[{shape}] = mul %y, %x
          %s: {dtype}[{result}] = {reduction} %p {{{attrs}}}
          return %s
        }}
        """
    )


CASES = {
    "a few": (program("1,2", "sum", "axes=None, keepdims=False", ""), "np.vdot"),
    "the mean of a few": (program("3,4", "mean", "axes=None, keepdims=False", ""), "np.vdot"),
    "all": (program("9,80", "sum", "axes=None, keepdims=False", ""), "np.vdot"),
    "every axis": (program("9,80", "sum", "axes=(0, 1), keepdims=False", ""), "np.vdot"),
    "all, kept": (program("9,80", "sum", "axes=(0, 1), keepdims=True", "1,1"), "np.einsum"),
    "rows": (program("9,80", "sum", "axes=(1,), keepdims=True", "9,1"), "np.vecdot"),
    "a row": (program("9,80", "sum", "axes=(1,), keepdims=False", "9", y="80"), "np.vecdot"),
    "columns": (program("9,80", "sum", "axes=(0,), keepdims=False", "80"), "np.einsum"),
    "planes": (program("4,5,6,7", "sum", "axes=(0, 2, 3), keepdims=True", "1,5,1,1"), "np.einsum"),
    "the mean": (program("9,80", "mean", "axes=(0,), keepdims=False", "80"), "np.einsum"),
    "doubles": (program("9,80", "mean", "axes=None, keepdims=False", "", dtype="f64"), "np.vdot"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_call_gives_the_sum(name: str, optimised: Optimised) -> None:
    before, call = CASES[name]
    after = optimised(before, fuse_products_and_sums, stage="lowered", rtol=1e-5, atol=2e-6)
    (made,) = [op for op in after.body.ops if op.name == "sum_of_products"]
    assert made.opdef.template(made.types, made.attrs).startswith(call)
    assert "mul" not in {op.name for op in after.body.ops}


@pytest.mark.parametrize(
    "function",
    [
        program("3,4", "sum", "axes=(0, 1), keepdims=False", ""),
        program("3,4", "sum", "axes=None, keepdims=True", "1,1"),
        program("1,1", "sum", "axes=None, keepdims=False", ""),
        program("9,80", "sum", "axes=(0,), keepdims=False", "80", y="80"),
        program("9,80", "sum", "axes=(1,), keepdims=False", "9", y="9,1"),
        program("9,800", "sum", "axes=None, keepdims=False", "", dtype="f16"),
        program("9,80", "sum", "axes=None, keepdims=False", "", dtype="c64"),
        program(f"2,2,{costs().einsum_terms}", "sum", "axes=(1, 2), keepdims=False", "2"),
        program(f"{costs().blas_terms + 1}", "sum", "axes=None, keepdims=False", ""),
        program(f"{costs().blas_terms},3", "sum", "axes=None, keepdims=False", ""),
        program(f"2,{costs().blas_terms + 1}", "sum", "axes=(1,), keepdims=False", "2"),
        program("?,80", "sum", "axes=None, keepdims=False", ""),
    ],
)
def test_others_stay(function: Function) -> None:
    assert fuse_products_and_sums(function) is function


def test_very_many_singles_are_added_up_row_by_row() -> None:
    after = fuse_products_and_sums(program("5000,1000", "sum", "axes=None, keepdims=False", ""))
    assert [op.name for op in after.body.ops] == ["sum_of_products", "sum"]
    tenths = np.full((5000, 1000), 0.1, np.float32)
    (total,) = run(after, [tenths, tenths])
    np.testing.assert_allclose(total, 5e6 * float(np.float32(0.1)) ** 2, rtol=2e-6)


def test_a_product_with_another_reader_stays() -> None:
    function = parse_function(
        """
        func @f(%x: f32[9,80]) -> (f32[], f32[9,80]) {
          %p: f32[9,80] = mul %x, %x
          %s: f32[] = sum %p {axes=None, keepdims=False}
          return %s, %p
        }
        """
    )
    assert fuse_products_and_sums(function) is function


def test_dots_add_up_in_tiles(optimised: Optimised) -> None:
    function = parse_function(
        """
        func @f(%x: f32[2000,200], %y: f32[2000,200]) -> (f32[], f32[200], f32[2000]) {
          %a: f32[2000,200] = sin %x
          %b: f32[2000,200] = exp %a
          %c: f32[2000,200] = mul %b, %y
          %s: f32[] = sum_of_products %a, %y {axes=(0, 1), keepdims=False}
          %t: f32[200] = sum_of_products %b, %c {axes=(0,), keepdims=False}
          %r: f32[2000] = sum_of_products %c, %x {axes=(1,), keepdims=False}
          return %s, %t, %r
        }
        """
    )
    tiled = optimised(function, tile_elementwise, stage="lowered", rtol=1e-4, atol=2e-4)
    (loop,) = [op for op in tiled.body.ops if op.name == "for"]
    assert [op.name for op in loop.regions[0].walk()].count("sum_of_products") + 1 == 3


def test_the_mean_of_very_many_halves_is_no_sum() -> None:
    """Their sum and their count overflow half precision."""
    x = np.full((256, 257), 3.0, np.float16)
    assert ms.jit(lambda x: ops.mean(x))(Tensor(x)).asnumpy() == 3.0


def test_of_few_numbers_the_users_name_for_a_product_stays() -> None:
    def loss(x, y):
        error = x * y
        return error.sum()

    x = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4))
    ms.value_and_grad(loss)(x, x)
    source = ms.compile_info().units[-1].source
    assert "error = x * y" in source and "vdot" not in source


@pytest.mark.parametrize("numbers", [(np.inf, 0.0), (np.nan, 1.0), (-0.0, 2.0), (3e30, 3e30)])
def test_extreme_numbers_are_added_as_by_the_sum(numbers: tuple[float, float]) -> None:
    def loss(x, y):
        return (x * y.T).sum() + (x * x).mean()

    x = np.full((2, 3), numbers[0], np.float32)
    y = np.full((3, 2), numbers[1], np.float32)
    value, (d_x, d_y) = ms.value_and_grad(loss, (0, 1))(Tensor(x), Tensor(y))
    with np.errstate(all="ignore"):
        want = (x * y.T).sum() + np.square(x).sum() / np.float32(6)
        np.testing.assert_array_equal(value.asnumpy(), want)
        np.testing.assert_allclose(d_x.asnumpy(), y.T + x / 3, rtol=1e-6)
    np.testing.assert_array_equal(d_y.asnumpy(), x.T)
