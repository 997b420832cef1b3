"""Inlining: fresh values, names, nesting, and the calls that stay."""

from __future__ import annotations

from functools import partial

from autodiff_compiler.ir.nodes import Op
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.passes.simplify.inline_calls import inline_calls
from tests.passes.conftest import Optimised

TEXT = """
func @inner(%a: float, %b: float) -> (float, float) {
  %c: float = mul %a, %b
  return %c, %a
}

func @outer(%p: float) -> (float) {
  %q: float, %r: float = call @inner(%p, 2.0)
  %s: float = neg %q
  return %s
}

func @f(%x: float) -> (float) {
  %y!: float = call @outer(%x)
  %h: float, %n: int = for %k, %i in (0, 3, 1) carry (%z: float = %y) {
    %w!: float = call @outer(%z)
    yield carry %w
  }
  return %h
}
"""


def always(call: Op) -> bool:
    return True


def test_calls_in_calls_and_in_loops(optimised: Optimised) -> None:
    result = optimised(TEXT, partial(inline_calls, should=always))
    assert (
        print_function(result)
        == """\
func @f(%x: float) -> (float) {
  %c: float = mul %x, 2.0
  %y!: float = neg %c
  %h: float, %n: int = for %k, %i in (0, 3, 1) carry (%z: float = %y) {
    %c.1: float = mul %z, 2.0
    %w!: float = neg %c.1
    yield carry %w
  }
  return %h
}
"""
    )


def test_only_requested_calls_are_inlined() -> None:
    function = parse_function(TEXT)
    result = inline_calls(function, lambda call: call.attrs["callee"].name == "outer")
    assert [op.name for op in result.body.walk()] == ["call", "neg", "for", "call", "neg"]
    assert inline_calls(function, lambda call: False) is function


def test_a_call_with_narrower_operands_stays() -> None:
    function = parse_function("""
func @g(%a: f32[?]) -> (f32[?]) {
  %b: f32[?] = neg %a
  return %b
}

func @f(%x: f32[2]) -> (f32[?]) {
  %y: f32[?] = call @g(%x)
  return %y
}
""")
    assert inline_calls(function, always) is function
