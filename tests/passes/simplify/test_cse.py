"""Common subexpressions: merged ones, ones that stay, and the name that stays."""

from __future__ import annotations

import pytest

from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.passes.simplify.cse import cse
from tests.passes.conftest import Optimised

CASES = {
    "chains": (
        """
func @f(%x: f32[2], %y: f32[2]) -> (f32[2], f32[2]) {
  %a: f32[2] = add %x, %y
  %b: f32[2] = neg %a
  %c: f32[2] = add %x, %y
  %d: f32[2] = neg %c
  return %b, %d
}
""",
        """
func @f(%x: f32[2], %y: f32[2]) -> (f32[2], f32[2]) {
  %a: f32[2] = add %x, %y
  %b: f32[2] = neg %a
  return %b, %b
}
""",
    ),
    "a branch may use what stands before it, siblings and what follows may not use a branch": (
        """
func @f(%x: float, %p: bool) -> (float, float) {
  %a: float = neg %x
  %u: float = if %p {
    %b: float = neg %x
    %c: float = mul %b, %b
    yield %c
  } else {
    %d: float = mul %a, %a
    yield %d
  }
  %e: float = mul %a, %a
  return %u, %e
}
""",
        """
func @f(%x: float, %p: bool) -> (float, float) {
  %a: float = neg %x
  %u: float = if %p {
    %c: float = mul %a, %a
    yield %c
  } else {
    %d: float = mul %a, %a
    yield %d
  }
  %e: float = mul %a, %a
  return %u, %e
}
""",
    ),
    "a given name wins, wherever it stood": (
        """
func @f(%x: float) -> (float, float) {
  %neg_x: float = neg %x
  %m: float = mul %neg_x, 2.0
  %h: float, %n: int = for %k, %i in (0, 3, 1) carry (%p: float = %x) {
    %mine!: float = neg %x
    %q: float = mul %mine, %p
    yield carry %q
  }
  return %h, %m
}
""",
        """
func @f(%x: float) -> (float, float) {
  %mine!: float = neg %x
  %m: float = mul %mine, 2.0
  %h: float, %n: int = for %k, %i in (0, 3, 1) carry (%p: float = %x) {
    %q: float = mul %mine, %p
    yield carry %q
  }
  return %h, %m
}
""",
    ),
    "a whole number beside floats": (
        """
func @f(%x: f32[2,2]) -> (f32[2,2], f32[2,2]) {
  %a: f32[2,2] = sub 1, %x
  %b: f32[2,2] = sub 1.0, %x
  return %a, %b
}
""",
        """
func @f(%x: f32[2,2]) -> (f32[2,2], f32[2,2]) {
  %a: f32[2,2] = sub 1, %x
  return %a, %a
}
""",
    ),
    "literals and attributes tell apart": (
        """
func @f(%x: f32[2,2], %n: i32[2,2]) -> (f32[2,2], f32[2,2], i32[2,2], f32[2,2], f32[2], f32[2]) {
  %a: f32[2,2] = mul %x, 0.0
  %b: f32[2,2] = mul %x, -0.0
  %c: i32[2,2] = mul %n, 2
  %g: f32[2,2] = mul %n, 2.0
  %d: f32[2] = sum %x {axes=(0,), keepdims=False}
  %e: f32[2] = sum %x {axes=(1,), keepdims=False}
  return %a, %b, %c, %g, %d, %e
}
""",
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_before_and_after(case: str, optimised: Optimised) -> None:
    before, after = CASES[case]
    result = optimised(before, cse)
    assert print_function(result) == (after or before).lstrip("\n")
    assert cse(result) is result


def test_calls_of_pure_functions_are_merged(optimised: Optimised) -> None:
    result = optimised(
        """
func @g(%a: float) -> (float) {
  return %a
}

func @f(%x: float) -> (float, float) {
  %u: float = call @g(%x)
  %v: float = call @g(%x)
  return %u, %v
}
""",
        cse,
    )
    assert len(result.body.ops) == 1
    assert result.returns[0] is result.returns[1]


def test_a_sum_that_keeps_its_axes_is_a_reshape_of_one_that_does_not(
    optimised: Optimised,
) -> None:
    result = optimised(
        """
func @f(%x: f32[4,5]) -> (f32[4], f32[4,1], f32[5]) {
  %a: f32[4] = sum %x {axes=(1,), keepdims=False}
  %b: f32[4,1] = sum %x {axes=(1,), keepdims=True}
  %c: f32[5] = sum %x {axes=(0,), keepdims=False}
  return %a, %b, %c
}
""",
        cse,
    )
    assert [op.name for op in result.body.ops] == ["sum", "reshape", "sum"]
