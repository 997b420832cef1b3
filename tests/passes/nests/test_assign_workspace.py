"""Temporaries share the workspace if they are not live at once; small ones are on the stack."""

from __future__ import annotations

import pytest

from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.emit.c.source import emit_c
from autodiff_compiler.loop_ir.nodes import Function
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.loop_ir.verifier import verify_nests
from autodiff_compiler.passes.nests.assign_workspace import assign_workspace


def chain(count: int, sizes: list[int], dtype: str = "f64") -> Function:
    """Returns a function whose array k is computed from the reversed array k - 1."""
    lines = [f"func f(x: {dtype}[{sizes[0]}]) -> (y: {dtype}[{sizes[-1]}]) {{"]
    lines += [f"  alloc t{k}: {dtype}[{sizes[k]}]" for k in range(count)]
    names = ["x", *(f"t{k}" for k in range(count)), "y"]
    for k in range(count + 1):
        size = sizes[min(k, count - 1)]
        lines += [f"  for i in 0:{size} {{", f"    {names[k + 1]}[i] = {names[k]}[0]", "  }"]
    return read_nests("\n".join([*lines, "}"]))


def offsets(function: Function, stack: int = 0) -> dict[str, int]:
    with changed_costs(stack_bytes=stack):
        after = assign_workspace(function)
        verify_nests(after)
        emit_c([after])
    return {buffer.name: offset for buffer, offset in after.offsets}


def test_a_chain_needs_two_arrays() -> None:
    assert offsets(chain(6, [100] * 6)) == {f"t{k}": 832 * (k % 2) for k in range(6)}


def test_offsets_are_multiples_of_64() -> None:
    assert all(each % 64 == 0 for each in offsets(chain(5, [3, 50, 7, 33, 9], "f32")).values())


def test_small_arrays_are_on_the_stack() -> None:
    function = chain(3, [4, 1000, 8])
    assert offsets(function, stack=256) == {"t1": 0}
    assert offsets(function, stack=2**14) == {}


def test_a_large_array_holds_two_small_ones() -> None:
    text = """\
func f(x: f64[8]) -> (y: f64[8]) {
  alloc a: f64[64]
  alloc b: f64[32]
  alloc c: f64[32]
  a[0] = x[0]
  y[0] = a[0]
  b[0] = x[0]
  c[0] = x[0]
  y[1] = b[0] + c[0]
}
"""
    assert offsets(read_nests(text)) == {"a": 0, "b": 0, "c": 256}


def test_arrays_that_share_bytes_are_not_restricted() -> None:
    with changed_costs(stack_bytes=0):
        after = assign_workspace(chain(3, [100] * 3))
        text = emit_c([after])
    assert "double *t0 = (double *)(workspace);" in text.text
    assert "double *restrict t1 = (double *)((char *)workspace + 832);" in text.text
    assert text.entries[0].workspace == 1664


def test_an_array_that_a_loop_takes_over_shares_nothing() -> None:
    text = """\
func f(x: f64[8]) -> (y: f64[8]) {
  alloc a: f64[64]
  alloc b: f64[64]
  serial for i in 0:8 {
    a[i] = x[i]
    y[i] = a[0]
    b[i] = x[i]
    y[i] += b[0]
  }
}
"""
    assert offsets(read_nests(text)) == {"a": 0, "b": 512}


def test_large_arrays_need_the_pass() -> None:
    with pytest.raises(AssertionError, match="assign_workspace"):
        emit_c([chain(2, [10000] * 2)])
