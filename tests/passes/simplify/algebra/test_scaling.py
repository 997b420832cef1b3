"""Folding of numbers in derivatives: what a person writes, with the same bits or better ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.simplify.algebra.scaling import FOLDING, SCALING
from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
from autodiff_compiler.passes.simplify.dce import dce
from tests.passes.conftest import Optimised

DTYPES = [np.float32, np.float64]


def program(*lines: str, role: str = "adjoint") -> str:
    body = "".join(f"  {line}  # {role}\n".replace("  # primal", "") for line in lines)
    return f"func @f(%x: f32[6], %s: f32[2,1]) -> (f32[6]) {{\n{body}  return %o\n}}\n"


ONE = "%one: f32[] = full {dtype='float32', shape=(), value=1}"


@pytest.mark.parametrize(
    ("lines", "operations"),
    [
        ([ONE, "%a: f32[] = div %one, 6", "%o: f32[6] = mul %a, %x"], ["div"]),
        ([ONE, "%a: f32[] = div %one, 8", "%o: f32[6] = mul %x, %a"], ["div"]),
        ([ONE, "%a: f32[] = neg %one", "%b: f32[] = div %a, 6", "%o: f32[6] = mul %b, %x"],
         ["mul"]),
        (["%a: f32[6] = mul %x, 0.5", "%b: f32[6] = mul 4.0, %a", "%o: f32[6] = neg %b"],
         ["mul", "neg"]),
        (["%a: f32[6] = mul %x, 6.0", "%b: f32[6] = div %a, 2", "%o: f32[6] = neg %b"],
         ["mul", "neg"]),
        (["%a: f32[6] = mul %x, 0.1", "%o: f32[6] = mul %a, 0.3"], ["mul", "mul"]),  # not exact
        (["%a: f32[6] = mul %x, 0.5", "%b: f32[6] = mul %a, 4.0", "%o: f32[6] = add %a, %b"],
         ["mul", "mul", "add"]),  # read twice
        (["%a: f32[6] = mul %x, inf", "%o: f32[6] = mul %a, 2.0"], ["mul", "mul"]),
    ],
)  # fmt: skip
def test_products_with_numbers(
    lines: list[str], operations: list[str], optimised: Optimised
) -> None:
    after = optimised(program(*lines), simplify_algebra, dce, rtol=1.2e-7)
    assert [op.name for op in after.body.ops] == operations


def test_every_rule_applies() -> None:
    """The gradients of these functions need them all."""
    hits: dict[str, int] = {}
    lines = [
        ("%a: f32[6] = full {dtype='float32', shape=(6,), value=3}", "%o: f32[6] = mul %a, 2.5"),
        ("%a: f32[6] = full {dtype='float32', shape=(6,), value=3}", "%o: f32[6] = div %a, 7"),
        ("%a: f32[6] = mul %x, 2.0", "%o: f32[6] = mul %a, 8.0"),
        ("%a: f32[6] = mul %x, 2.0", "%o: f32[6] = div %a, 8"),
        ("%a: f32[6] = full {dtype='float32', shape=(6,), value=0.125}", "%o: f32[6] = mul %a, %x"),
        ("%a: f32[6,3] = full {dtype='float32', shape=(6, 3), value=0.5}",
         "%o: f32[6] = sum %a {axes=(1,), keepdims=False}"),
        ("%a: f32[6] = full {dtype='float32', shape=(6,), value=0.5}",
         "%b: bool[6] = greater %x, 0.0", "%o: f32[6] = where %b, %a, 0.0"),
        (ONE, "%n: int = dim %x {axis=0}", "%a: f32[] = div %one, %n", "%o: f32[6] = mul %a, %x"),
        (ONE, "%n: int = dim %x {axis=0}", "%a: f32[] = div %one, %n", "%b: f32[] = mul %a, 2.0",
         "%o: f32[6] = mul %b, %x"),
    ]  # fmt: skip
    for each in lines:
        simplify_algebra(parse_function(program(*each)), hits=hits)
    assert {row.name for row in (*SCALING, *FOLDING)} <= {*hits}


def test_the_users_own_products_stay(optimised: Optimised) -> None:
    lines = ["%a: f32[6] = mul %x, 3.0", "%o: f32[6] = mul %a, 5.0"]
    after = optimised(program(*lines, role="primal"), simplify_algebra, dce)
    assert [op.name for op in after.body.ops] == ["mul", "mul"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_users_own_constants_keep_their_bits(dtype: type) -> None:
    def scaled(x: Any) -> Any:
        return x * (np.full(3, 0.1, dtype) * 0.7 / 3)

    x = np.ones(3, dtype)
    np.testing.assert_array_equal(ms.jit(scaled)(x), scaled(x))


def mean_of_squares(x: Any) -> Any:
    return np.mean(x**2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [3, 7, 9, 49])
def test_the_gradient_of_an_odd_mean_has_the_bits_of_the_chain_rule(
    dtype: type, count: int
) -> None:
    x = np.random.default_rng(count).standard_normal(count).astype(dtype)
    chain = dtype(1) / count * 2.0 * x
    np.testing.assert_array_equal(np.asarray(ms.grad(mean_of_squares)(x)), chain)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [6, 10, 98, 1000])
def test_the_gradient_of_a_mean_is_rounded_once(dtype: type, count: int) -> None:
    """The gradient of mean(x ** 2) is the number nearest to 2 x / n."""
    x = np.random.default_rng(count).standard_normal(count).astype(dtype)
    gradient = ms.grad(mean_of_squares)(x)
    wide = 2 * x.astype(np.longdouble) / count
    np.testing.assert_array_equal(np.asarray(gradient), wide.astype(dtype))


def test_what_a_person_writes() -> None:
    assert "d_x = x / 3\n" in ms.gradient_source(mean_of_squares, "f32[6]")
    shifted = ms.gradient_source(lambda x: -np.mean(x * x * x), "f32[6]")
    assert "np.float32(1)" not in shifted and "0.1666" not in shifted
    assert "np.full(6, 1 / 6, np.float32)" in ms.gradient_source(lambda x: np.mean(x), "f32[6]")


def test_quotients_of_small_numbers_are_rounded_alike() -> None:
    """The quotient in double precision, rounded, is that in single precision: 53 >= 2 * 24 + 2."""
    numbers = np.arange(1, 4097)
    for numerator in (1, 2, 3, 5):
        single = np.float32(numerator) / numbers.astype(np.float32)
        np.testing.assert_array_equal((numerator / numbers).astype(np.float32), single)
