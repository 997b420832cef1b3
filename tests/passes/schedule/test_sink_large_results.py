"""Large results wait for their first reader, and nothing as large lives longer for it."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.passes.memory.assign_buffers import assign_buffers
from autodiff_compiler.passes.schedule.sink_large_results import sink_large_results
from tests.interpreter import run

W, S = "f32[200,100]", "f32[200,1]"


def program(*lines: str, returns: str = "%y", types: str = W) -> Function:
    head = f"func @f(%x: {W}, %s: {S}) -> ({types}) {{"
    return parse_function(
        "\n".join([head, *(f"  {o}" for o in lines), f"  return {returns}", "}", ""])
    )


SUM = "{axes=(1,), keepdims=True}"
MOVES = {
    "past a sum": (
        program(f"%d: {W} = sin %x", f"%u: {W} = div %d, %s", f"%t: {S} = sum %d {SUM}",
                f"%y: {W} = sub %u, %t"), ["sin", "sum", "div", "sub"]),
    "one after the other": (
        program(f"%d: {W} = sin %x", f"%u: {W} = div %d, %s", f"%v: {W} = mul %d, %s",
                f"%t: {S} = sum %d {SUM}", f"%w: {W} = sub %u, %t", f"%y: {W} = mul %w, %v"),
        ["sin", "sum", "div", "sub", "mul", "mul"]),
    "to the end": (
        program(f"%d: {W} = sin %x", f"%u: {W} = neg %d", f"%t: {S} = sum %d {SUM}",
                returns="%u, %t", types=f"{W}, {S}"), ["sin", "sum", "neg"]),
    "a product of little": (
        program(f"%d: {W} = sin %x", "%v: f32[1,200] = reshape %s {shape=(1, 200)}",
                "%p: f32[200,200] = matmul %s, %v", f"%q: {W} = exp %d",
                f"%t: {S} = sum %q {SUM}", "%y: f32[200,200] = sub %p, %t",
                types="f32[200,200]"), ["sin", "reshape", "exp", "sum", "matmul", "sub"]),
    "a sum comes first": (
        program(f"%d: {W} = sin %x", f"%p: {S} = sum %d {SUM}", f"%e: {W} = exp %x",
                f"%q: {S} = sum %e {SUM}", f"%u: {W} = mul %d, %s", f"%w: {W} = add %u, %e",
                f"%t: {S} = sum %d {SUM}", f"%y: {W} = sub %w, %t",
                returns="%y, %p, %q", types=f"{W}, {S}, {S}"),
        ["sin", "sum", "exp", "sum", "sum", "mul", "add", "sub"]),
    "but not before what it reads, nor if others read later": (
        program(f"%d: {W} = sin %x", f"%u: {W} = mul %d, %s", f"%e: {W} = exp %u",
                f"%t: {S} = sum %e {SUM}", f"%q: {S} = sum %d {SUM}", f"%y: {W} = sub %d, %t",
                f"%z: {W} = sub %e, %q", returns="%y, %z", types=f"{W}, {W}"),
        ["sin", "mul", "exp", "sum", "sum", "sub", "sub"]),
    "a view lives on": (
        program(f"%d: {W} = sin %x", f"%r: {W} = reshape %d {{shape=(200, 100)}}",
                f"%u: {W} = neg %d", f"%t: {S} = sum %r {SUM}", f"%y: {W} = sub %u, %t"),
        ["sin", "reshape", "sum", "neg", "sub"]),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
def test_waits(name: str) -> None:
    before, wanted = MOVES[name]
    after = sink_large_results(before)
    verify(after, "lowered")
    assert [op.name for op in after.body.ops] == wanted
    assert sink_large_results(after) is after
    x = np.random.default_rng(0).standard_normal((200, 100)).astype(np.float32)
    given = [x, np.full((200, 1), 3, np.float32)]
    for old, new in zip(run(before, given), run(after, given), strict=True):
        np.testing.assert_array_equal(old, new)


def test_does_not_wait_where_an_operand_would_have_to() -> None:
    before = program(f"%d: {W} = sin %x", f"%u: {W} = exp %d", f"%t: {S} = sum %x {SUM}",
                     f"%y: {W} = sub %u, %t")  # fmt: skip
    assert sink_large_results(before) is before


def test_a_sum_between_costs_no_array() -> None:
    before, _ = MOVES["past a sum"]
    assert len(assign_buffers(before).blocks) == 2
    assert len(assign_buffers(sink_large_results(before)).blocks) == 1


def test_a_row_may_wait_that_is_longer_than_a_stack() -> None:
    """Read from the last to the first, so that the last one asks for all others."""
    count = 1200
    sums = [f"%u{k}: {W} = add {f'%u{k - 1}' if k else '%x'}, %x" for k in range(count)]
    read = [f"%v{k}: {W} = mul {f'%v{k + 1}' if k + 1 < count else '%x'}, %u{k}"
            for k in reversed(range(count))]  # fmt: skip
    before = program(*sums, *read, returns="%v0")
    assert [op.name for op in sink_large_results(before).body.ops] == ["add"] * count + [
        "mul"
    ] * count
