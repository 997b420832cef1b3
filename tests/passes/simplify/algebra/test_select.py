# ruff: noqa: E501  (IR text has lines of its own length)
"""Select in a derivative: the same numbers for any cotangent."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

import autodiff_compiler as ms
import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import Tensor, ops
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.simplify.algebra.select import SELECT
from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
from autodiff_compiler.passes.simplify.dce import dce
from tests.passes.conftest import Optimised

W = "f32[4,6]"
A, B = f"%a: {W} = where %c, %x, 0.0", f"%b: {W} = where %c, 0.0, %d"
CASES = {
    "two parts": ([A, B, f"%o: {W} = add %a, %b"], 1),
    "the other way round": ([A, B, f"%o: {W} = add %b, %a"], 1),
    "times numbers": ([A, B, f"%u: {W} = mul -0.5, %a", f"%v: {W} = neg %u",
                       f"%w: {W} = mul %b, 3.0", f"%o: {W} = add %w, %v"], 1),
    "less": ([A, B, f"%o: {W} = sub %b, %a"], 1),
    "single numbers": ([f"%a: {W} = where %c, %d, 2.0", f"%u: {W} = mul %a, -0.1",
                        f"%o: {W} = neg %u"], 1),
    "the same side": ([A, f"%b: {W} = where %c, %d, 0.0", f"%o: {W} = add %a, %b"], 2),
    "another test": ([A, f"%b: {W} = where %e, 0.0, %d", f"%o: {W} = add %a, %b"], 2),
    "infinite": ([A, B, f"%u: {W} = mul %a, inf", f"%o: {W} = add %u, %b"], 2),
    "no zeros": ([A, f"%b: {W} = where %c, 1.0, %d", f"%o: {W} = add %a, %b"], 2),
    "a number alone": ([A, f"%b: {W} = where %c, 0.0, 2.0", f"%u: {W} = mul %x, %b",
                        f"%o: {W} = add %a, %u"], 2),
    "read twice": ([A, B, f"%u: {W} = add %a, %b", f"%o: {W} = mul %a, %u"], 2),
}  # fmt: skip


def program(lines: Iterable[str]) -> Function:
    text = "".join(f"  {line}  # adjoint\n" for line in lines)
    head = f"func @f(%x: {W}, %c: bool[4,6], %e: bool[4,6], %d: f32[]) -> ({W}) {{\n"
    return parse_function(f"{head}{text}  return %o\n}}\n")


@pytest.mark.parametrize("d", [0.3, -2.0, 0.0, np.inf, np.nan])
@pytest.mark.parametrize("case", CASES)
def test_before_and_after(case: str, d: float, optimised: Optimised) -> None:
    lines, choices = CASES[case]
    x = np.tile(np.array([np.nan, np.inf, -np.inf, 0.0, -2.5, 1.0], np.float32), (4, 1))
    rows = np.arange(4)[:, None] + np.zeros((1, 6), int)
    given = [x, rows % 2 == 0, rows > 1, np.float32(d)]
    after = optimised(program(lines), simplify_algebra, dce, inputs=given)
    assert sum(op.name == "where" for op in after.body.ops) == choices


def test_every_rule_has_a_case() -> None:
    hits: dict[str, int] = {}
    for lines, _ in CASES.values():
        simplify_algebra(program(lines), hits=hits)
    assert {row.name for row in SELECT} <= {*hits}


def test_the_text_of_the_user_stays() -> None:
    before = parse_function(
        f"func @f(%x: {W}, %c: bool[4,6], %d: f32[]) -> ({W}) {{\n  {A}\n  {B}\n"
        f"  %o: {W} = add %a, %b\n  return %o\n}}\n"
    )
    assert simplify_algebra(before) is before


def test_a_quantile_loss_chooses_once() -> None:
    def quantile(x, t):
        d = t - x
        return ops.mean(ops.where(d >= 0, 0.9 * d, -0.1 * d))

    x, t = np.random.default_rng(3).standard_normal((2, 5, 7))
    x[0] = t[0]
    found = ms.grad(quantile)(Tensor(x), Tensor(t)).asnumpy()
    np.testing.assert_allclose(found, np.where(t >= x, -0.9, 0.1) / 35, rtol=1e-14)
    source = ms.gradient_source(quantile, "f64[5,7]", "f64[5,7]")
    assert source[source.index("_backward(") :].count("np.where(") == 1
