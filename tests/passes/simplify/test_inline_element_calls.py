"""Calls inside loops that read or write few items of an array: inlined, others stay calls."""

from __future__ import annotations

import pytest

from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.passes.simplify.inline_element_calls import inline_element_calls
from tests.passes.conftest import Optimised

READS = "%r: f32[] = index %a, %i {index=(('op', 0),)}"
ALL = "%r: f32[] = sum %a {axes=None, keepdims=False}"


def program(callee: str, more: str = "", marks: str = "") -> str:
    """Returns a loop that adds up what ``g`` returns for the array and a position."""
    return f"""
{more}
func @g(%a: f32[5], %i: int) -> (f32[]) {{
  {callee}
  return %r
}}
func @f(%x: f32[5], %z: f32[]) -> (f32[], f32[]) {{
  %y: f32[], %n: int = for %p, %k in (0, 5, 1) carry (%c: f32[] = %z) {{
    %v: f32[] = call @g(%x, %k){marks}
    %s: f32[] = add %c, %v
    yield carry %s
  }}
  %w: f32[] = call @g(%x, 2)
  return %y, %w
}}
"""


def calls(function: Function) -> list[bool]:
    """Returns for each call that is left if it stands in a loop."""
    outside = {op.results for op in function.body.ops}
    return [op.results not in outside for op in function.body.walk() if op.name == "call"]


def test_only_the_call_inside_the_loop_is_inlined(optimised: Optimised) -> None:
    assert calls(optimised(program(READS), inline_element_calls)) == [False]


def test_a_callee_that_reads_the_whole_array_stays_a_call(optimised: Optimised) -> None:
    assert calls(optimised(program(ALL), inline_element_calls)) == [True, False]


def test_a_written_item_counts_too(optimised: Optimised) -> None:
    writes = (
        "%b: f32[5] = set_item %a, 2.0, %i {index=(('op', 0),)}\n"
        "  %r: f32[] = sum %b {axes=None, keepdims=False}"
    )
    assert calls(optimised(program(writes), inline_element_calls)) == [False]


def test_items_that_a_callee_of_the_callee_reads_count(optimised: Optimised) -> None:
    inner = f"func @h(%a: f32[5], %i: int) -> (f32[]) {{\n  {READS}\n  return %r\n}}"
    text = program("%r: f32[] = call @h(%a, %i)", inner)
    after = optimised(text, inline_element_calls)
    assert calls(after) == [False]


@pytest.mark.parametrize(("most", "left"), [(1, [False]), (0, [True, False])])
def test_a_long_callee_stays_a_call(most: int, left: list[bool], optimised: Optimised) -> None:
    with changed_costs(inlined_operations=most):
        assert calls(optimised(program(READS), inline_element_calls)) == left


def test_an_array_that_the_callee_makes_is_no_argument(optimised: Optimised) -> None:
    own = "%b: f32[5] = sin %a\n  %r: f32[] = index %b, %i {index=(('op', 0),)}"
    assert calls(optimised(program(own), inline_element_calls)) == [True, False]
