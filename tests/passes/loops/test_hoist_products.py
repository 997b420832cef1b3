"""Loop fission: products that are computed before a loop, and loops that stay as they are."""

from __future__ import annotations

import pytest

from autodiff_compiler.ir.nodes import Function, Loop
from autodiff_compiler.ir.parser import parse_function
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


def test_nothing_to_do_gives_the_same_object():
    function = parse_function(RECURRENT.format(have=6, start=1))
    assert hoist_products(function) is function
