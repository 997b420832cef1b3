"""Loop fission: products before and after loops, and loops that stay as they are."""

from __future__ import annotations

import pytest

from autodiff_compiler.ir.nodes import Function, Loop
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.loops.batch_accumulations import batch_accumulations
from autodiff_compiler.passes.loops.hoist_products import hoist_products
from autodiff_compiler.passes.simplify.dce import dce
from tests.passes.conftest import Optimised

RECURRENT = """
func @f(%x: f32[{have},2,8], %w: f32[8,8], %h: f32[2,8]) -> (f32[2,8]) {{
  %a: f32[2,8], %n: int = for %p, %k in ({start}, 5, 1) carry (%c: f32[2,8] = %h) {{
    %i: f32[2,8] = index %x, %k {{index=(('op', 0),)}}
    %u: f32[2,8] = matmul %i, %w
    %s: f32[2,8] = add %u, %c
    %t: f32[2,8] = tanh %s
    yield carry %t
  }}
  return %a
}}
"""

VIEWED = """
func @f(%x: f32[5,2,8], %w: f32[8,8], %h: f32[8,8]) -> (f32[8,8]) {{
  %a: f32[8,8], %n: int = for %p, %k in (0, 5, 1) \
carry (%c: f32[8,8] = %h) read (%i: f32[2,8] = %x) {{
    %v: f32[8,8] = swap_last_axes {seen}
    %r: f32[4,16] = reshape %v {{shape=(4, 16)}}
    %m: f32[8,8] = reshape %r {{shape=(8, 8)}}
    %u: f32[2,8] = matmul %i, %m
    %t: f32[8,2] = swap_last_axes %u
    %s: f32[8,8] = matmul %t, %i
    %d: f32[8,8] = tanh %s
    %y: f32[8,8] = add %d, %c
    yield carry %y
  }}
  return %a
}}
"""

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


ALIKE = {"rtol": 2e-5, "atol": 1e-5}


def products_in_loops(function: Function) -> int:
    loops = [op for op in function.body.ops if op.name == "for"]
    return sum(inner.name == "matmul" for op in loops for inner in Loop(op).body.ops)


@pytest.mark.parametrize(
    "have, start, products",
    [(5, 0, 0), (6, 0, 1), (5, 1, 1)],
    ids=["every row", "more rows than steps", "begins later"],
)
def test_items_are_multiplied_before_the_loop(have, start, products, optimised: Optimised):
    text = RECURRENT.format(have=have, start=start)
    after = optimised(text, hoist_products, dce, **ALIKE)
    assert products_in_loops(after) == products


@pytest.mark.parametrize("seen, products", [("%w", 0), ("%c", 1)], ids=["outside", "carried"])
def test_the_loop_may_read_a_matrix_by_views(seen, products, optimised: Optimised):
    after = optimised(VIEWED.format(seen=seen), hoist_products, dce, **ALIKE)
    assert products_in_loops(after) == 1 + products


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
    for pass_ in (hoist_products, batch_accumulations):
        function = parse_function(RECURRENT.format(have=6, start=1))
        assert pass_(function) is function
