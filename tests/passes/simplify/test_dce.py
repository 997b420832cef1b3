# ruff: noqa: E501  (IR text has lines of its own length)
"""Dead code elimination: operations and ports that go, and ones that must stay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.ir.parser import parse_functions
from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.ir.types import FLOAT
from autodiff_compiler.passes.simplify.dce import dce
from tests.passes.conftest import Optimised

CASES = {
    "a chain of unused operations": (
        """
func @f(%x: float) -> (float) {
  %a: float = neg %x
  %b: float = neg %a
  %c: float = neg %x
  return %c
}
""",
        """
func @f(%x: float) -> (float) {
  %c: float = neg %x
  return %c
}
""",
    ),
    "unused results of a branch": (
        """
func @f(%x: float, %p: bool) -> (float) {
  %a: float = neg %x
  %b: float = neg %x
  %u: float, %v: float = if %p {
    %c: float = neg %a
    %d: float = neg %b
    yield %c, %d
  } else {
    yield %x, %a
  }
  return %v
}
""",
        """
func @f(%x: float, %p: bool) -> (float) {
  %a: float = neg %x
  %b: float = neg %x
  %v: float = if %p {
    %d: float = neg %b
    yield %d
  } else {
    yield %a
  }
  return %v
}
""",
    ),
    "a branch nobody reads": (
        """
func @f(%x: float, %p: bool) -> (float) {
  %u: float = if %p {
    %c: float = neg %x
    yield %c
  } else {
    yield %x
  }
  return %x
}
""",
        """
func @f(%x: float, %p: bool) -> (float) {
  return %x
}
""",
    ),
    "carries that feed only themselves or each other, stacks, reads": (
        """
func @f(%x: float, %l: list[float], %n: int) -> (float, list[float]) {
  %y: float = neg %x
  %a: float, %b: float, %c: float, %s: list[float], %t: list[float], %m: int = for %k, %i in (0, %n, 1) carry (%p: float = %x, %q: float = %x, %r: float = %y) read (%v: float = %l, %w: float = %l) {
    %g: float = mul %p, %w
    %h: float = mul %v, 2.0
    yield carry %g, %r, %q stack %h, %p
  }
  return %a, %t
}
""",
        """
func @f(%x: float, %l: list[float], %n: int) -> (float, list[float]) {
  %a: float, %t: list[float], %m: int = for %k, %i in (0, %n, 1) carry (%p: float = %x) read (%w: float = %l) {
    %g: float = mul %p, %w
    yield carry %g stack %p
  }
  return %a, %t
}
""",
    ),
    "a carry that only another carry reads stays": (
        """
func @f(%x: float) -> (float) {
  %a: float, %b: float, %m: int = for %k, %i in (0, 3, 1) carry (%p: float = %x, %q: float = %x) {
    %h: float = neg %q
    yield carry %q, %h
  }
  return %a
}
""",
        None,
    ),
    "what until and a test read stays, though its results do not matter": (
        """
func @f(%x: float) -> (int) {
  %a: float, %b: float, %m: int = while %k carry (%p: float = %x, %q: float = %x) test (%c: float, %d: float) {
    %t: bool = greater %c, 0.0
    yield %t
  } do {
    %h: float = neg %p
    %u: float = neg %q
    %stop: bool = greater %u, 1.0
    yield carry %h, %x until %stop
  }
  return %m
}
""",
        None,
    ),
    "a while's dead carry goes from its test too": (
        """
func @f(%x: float) -> (float) {
  %a: float, %b: float, %m: int = while %k carry (%p: float = %x, %q: float = %x) test (%c: float, %d: float) {
    %t: bool = greater %d, 0.0
    yield %t
  } do {
    %h: float = neg %p
    yield carry %h, %x
  }
  return %b
}
""",
        """
func @f(%x: float) -> (float) {
  %b: float, %m: int = while %k carry (%q: float = %x) test (%d: float) {
    %t: bool = greater %d, 0.0
    yield %t
  } do {
    yield carry %x
  }
  return %b
}
""",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_before_and_after(case: str, optimised: Optimised) -> None:
    before, after = CASES[case]
    result = optimised(before, dce)
    assert print_function(result) == (after or before).lstrip("\n")
    assert dce(result) is result


@pytest.fixture
def noise(monkeypatch: pytest.MonkeyPatch) -> OpDef:
    opdef = object.__new__(OpDef)
    facts = {**OPERATORS["neg"].__dict__, "name": "noise", "effect": True, "kind": "general"}
    facts |= {"result": lambda types: FLOAT}
    for name, fact in facts.items():
        object.__setattr__(opdef, name, fact)
    monkeypatch.setitem(OPERATORS, "noise", opdef)
    return opdef


def test_effects_stay_with_all_that_leads_to_them(noise: OpDef) -> None:
    text = """
func @g(%a: float) -> (float) {
  %n: float = noise %a
  return %a
}

func @f(%x: float, %p: bool) -> (float) {
  %u: float = call @g(%x)
  %a: float = neg %x
  %m: int = for %k, %i in (0, 3, 1) {
    if %p {
      %n: float = noise %a
      yield
    } else {
      yield
    }
    yield
  }
  return %x
}
"""
    functions = parse_functions(text, OPERATORS)
    assert dce(functions["f"]) is functions["f"]
    quiet = replace(functions["g"], body=replace(functions["g"].body, ops=()))
    ops = functions["f"].body.ops
    call = replace(ops[0], attrs={"callee": quiet})
    caller = replace(functions["f"], body=replace(functions["f"].body, ops=(call, *ops[1:])))
    assert [op.name for op in dce(caller).body.ops] == ["neg", "for"]
