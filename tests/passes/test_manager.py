"""The pass manager: rounds to a fixed point, callees once and first, statistics."""

from __future__ import annotations

import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.printer import print_functions
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.passes import manager
from autodiff_compiler.passes.log import PassLog
from autodiff_compiler.passes.registry import Pass

TEXT = """
func @leaf(%a: f32[2]) -> (f32[2]) {
  %b: f32[2] = neg %a
  %c: f32[2] = neg %b
  %d: f32[2] = add %c, %c
  %e: f32[2] = mul %d, 2.0
  return %d
}

func @middle(%a: f32[2]) -> (f32[2]) {
  %b: f32[2] = call @leaf(%a)
  return %b
}

func @f(%x: f32[2]) -> (f32[2]) {
  %y: f32[2] = call @middle(%x)
  %z: f32[2] = call @leaf(%y)
  %t: bool = less 1.0, 2.0
  %o: f32[2] = if %t {
    %w: f32[2] = mul %z, 1.0
    yield %w
  } else {
    yield %x
  }
  return %o
}
"""

AFTER = """\
func @leaf(%a: f32[2]) -> (f32[2]) {
  %d: f32[2] = add %a, %a
  return %d
}

func @middle(%a: f32[2]) -> (f32[2]) {
  %b: f32[2] = call @leaf(%a)
  return %b
}

func @f(%x: f32[2]) -> (f32[2]) {
  %y: f32[2] = call @middle(%x)
  %z: f32[2] = call @leaf(%y)
  return %z
}
"""


def test_everything_at_once() -> None:
    function = parse_function(TEXT)
    log = PassLog()
    with manager.observed(log):
        result = manager.run_until_stable(function, tuple(manager.PASSES))
    verify(result, "typed: all")
    assert print_functions(result) == AFTER
    before = sum(manager.operation_count(each) for each in (*function.callees(), function))
    after = sum(manager.operation_count(each) for each in (*result.callees(), result))
    assert -sum(each.added for each in log.applications) == before - after == 10 - 4
    middle, leaf = (op.attrs["callee"] for op in result.body.ops)
    assert middle.body.ops[0].attrs["callee"] is leaf


def test_nothing_to_do_is_the_same_object() -> None:
    function = parse_function(AFTER)
    assert manager.run_until_stable(function) is function
    assert manager.run_until_stable(parse_function(TEXT), names=()).body.ops


def test_order_and_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def note(name: str) -> Pass:
        def run_pass(function: Function) -> Function:
            seen.append(f"{name} {function.name}")
            return Function(function.name, function.body, function.span)

        return Pass(name, f"Does {name}.", run_pass, repeats=True)

    monkeypatch.setattr(manager, "BY_NAME", {"a": note("a"), "b": note("b")})
    manager.run_until_stable(parse_function(AFTER), ("b", "a"), limit=2)
    names = [f"{name} {each}" for each in ("leaf", "middle", "f") for name in "baba"]
    assert seen == names
