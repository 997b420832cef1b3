"""Code sinking: large results go to their first use, unless as large operands live longer."""

from __future__ import annotations

import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.memory.assign_buffers import assign_buffers
from autodiff_compiler.passes.schedule.sink_large_results import sink_large_results
from tests.passes.conftest import Optimised

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
def test_sinks(name: str, optimised: Optimised) -> None:
    before, wanted = MOVES[name]
    after = optimised(before, sink_large_results, stage="lowered")
    assert [op.name for op in after.body.ops] == wanted
    assert sink_large_results(after) is after


def test_does_not_sink_where_an_operand_would_live_longer() -> None:
    before = program(f"%d: {W} = sin %x", f"%u: {W} = exp %d", f"%t: {S} = sum %x {SUM}",
                     f"%y: {W} = sub %u, %t")  # fmt: skip
    assert sink_large_results(before) is before


def test_a_sum_between_costs_no_array() -> None:
    before, _ = MOVES["past a sum"]
    assert len(assign_buffers(before).allocations) == 2
    assert len(assign_buffers(sink_large_results(before)).allocations) == 1


def test_a_chain_may_sink_that_is_longer_than_the_stack() -> None:
    """It is read from the last to the first, so that the last one needs all others."""
    count = 1200
    sums = [f"%u{k}: {W} = add {f'%u{k - 1}' if k else '%x'}, %x" for k in range(count)]
    read = [f"%v{k}: {W} = mul {f'%v{k + 1}' if k + 1 < count else '%x'}, %u{k}"
            for k in reversed(range(count))]  # fmt: skip
    before = program(*sums, *read, returns="%v0")
    assert [op.name for op in sink_large_results(before).body.ops] == ["add"] * count + [
        "mul"
    ] * count
