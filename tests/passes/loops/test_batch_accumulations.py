"""Loop fission: sums of products that are computed after a loop, and loops that stay."""

from __future__ import annotations

import pytest

from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.loops.batch_accumulations import batch_accumulations
from autodiff_compiler.passes.simplify.dce import dce
from tests.passes.conftest import Optimised
from tests.passes.loops.test_hoist_products import ALIKE, products_in_loops

TOTAL = """
func @f(%x: f32[5,{rows},8], %z: f32[8,8], %y: f32[8]) -> (f32[8,8], f32[8], f32[]) {{
  %d: f32[8,8], %e: f32[8], %m: f32[], %n: int = for %p, %k in (0, {stop}, 1) \
carry (%c: f32[8,8] = %z, %b: f32[8] = %y, %o: f32[] = %q) read (%i: f32[{rows},8] = %x) {{
    %v: f32[{rows},8] = sin %i
    %t: f32[8,{rows}] = swap_last_axes %i
    %r: f32[8,8] = matmul %t, %v
    %s: f32[8,8] = add %c, %r
    %g: f32[8] = sum %v {{axes=(0,), keepdims=False}}
    %l: f32[8] = add %g, %b
    %w: f32[] = sum {seen} {{axes=None, keepdims=False}}
    %j: f32[] = add %o, %w
    yield carry %s, %l, %j
  }}
  return %d, %e, %m
}}
""".replace("%y: f32[8])", "%y: f32[8], %q: f32[])")


@pytest.mark.parametrize(
    "rows, stop, seen, products",
    [(2, 5, "%v", 0), (2, 4, "%v", 0), (8, 5, "%v", 1), (2, 5, "%c", 1), (2, 0, "%v", 1)],
    ids=["few rows", "not all rows", "many rows", "a carry that is read", "no step"],
)
def test_totals_are_computed_after_the_loop(rows, stop, seen, products, optimised: Optimised):
    text = TOTAL.format(rows=rows, stop=stop, seen=seen)
    after = optimised(text, batch_accumulations, dce, **ALIKE)
    assert products_in_loops(after) == products


def test_nothing_to_do_gives_the_same_object():
    function = parse_function(TOTAL.format(rows=2, stop=0, seen="%v"))
    assert batch_accumulations(function) is function
