"""The fixture of a pass's test fails for passes that change the meaning of a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from autodiff_compiler.ir.nodes import Function, Op, Region
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.passes.core.traversal import rewrite_region, with_body
from tests.passes.conftest import Optimised

TEXT = """
func @f(%x: f32[3], %y: f32[3], %p: bool) -> (f32[3], float) {
  %a: f32[3] = add %x, %y
  %b: float = if %p {
    yield 1.0
  } else {
    yield 2.0
  }
  return %a, %b
}
"""


def subtracts(function: Function) -> Function:
    def visit(op: Op) -> Sequence[Op]:
        return (replace(op, opdef=OPERATORS["sub"]),) if op.name == "add" else (op,)

    return with_body(function, rewrite_region(function.body, {}, visit))


def swaps_branches(function: Function) -> Function:
    def visit(op: Op) -> Sequence[Op]:
        return (replace(op, regions=op.regions[::-1]),) if op.name == "if" else (op,)

    return with_body(function, rewrite_region(function.body, {}, visit))


def returns_another_type(function: Function) -> Function:
    a, _ = function.returns
    return with_body(function, Region(function.params, function.body.ops, (a, 1)))


@pytest.mark.parametrize("wrong", [subtracts, swaps_branches, returns_another_type])
def test_another_meaning_is_found(wrong, optimised: Optimised) -> None:
    with pytest.raises(AssertionError):
        optimised(TEXT, wrong)


def test_the_same_meaning_passes(optimised: Optimised) -> None:
    def with_another_order(function: Function) -> Function:
        ops = function.body.ops[::-1]
        return with_body(function, Region(function.params, ops, function.returns))

    assert [op.name for op in optimised(TEXT, with_another_order).body.ops] == ["if", "add"]
