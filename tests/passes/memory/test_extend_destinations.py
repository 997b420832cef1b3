"""Destinations up a chain of calls: calls that write to the row, and calls that do not."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import Tensor, compile_info, ops
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.memory.extend_destinations import extend_destinations
from tests.passes.conftest import Optimised

ROW = "%r: f32[80,80] = index %u, %p {index=(('op', 0),)}"


def loop(*lines: str, out: str = "%v") -> Function:
    """Returns a loop that fills the rows of a tape, and adds them up."""
    inner = "\n".join(lines)
    return parse_function(f"""
func @f(%x: f32[80,80], %w: f32[80,80], %z: f32[]) -> (f32[4,80,80], f32[80,80]) {{
  %t: f32[4,80,80] = full {{dtype='float32', shape=(4, 80, 80), value=2}}
  %s: f32[80,80] = copy %x
  %tape: f32[4,80,80], %last: f32[80,80], %n: int = for %p, %k in (0, 4, 1) \
carry (%u: f32[4,80,80] = %t, %h: f32[80,80] = %s) {{
{inner}
    yield carry {out}, %g
  }}
  return %tape, %last
}}
""")


def into(name: str, *operands: str) -> str:
    return f"compute_into {', '.join(operands)}, %r {{text='np.{name}({{0}}, {{1}}, out={{2}})'}}"


END = ("%v: f32[4,80,80] = after_write %d, %u", "%g: f32[80,80] = mul %d, 0.5")


def in_row(found: Function) -> list[str]:
    """Returns the names of the results that are computed in the row."""
    calls = [op for op in found.body.walk() if op.name == "compute_into"]
    return [op.result.name for op in calls if getattr(op.operands[-1], "name", "") == "r"]


SUMS = ("%b: f32[80,80] = mul %h, %x", "%c: f32[80,80] = add %b, %w")


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        # One after the other; of two operands that would fit, one.
        ((*SUMS, ROW, f"%d: f32[80,80] = {into('subtract', '%c', '%h')}"), "bcd"),
        ((*SUMS, ROW, "%e: f32[80,80] = sin %h", f"%d: f32[80,80] = {into('add', '%c', '%e')}"),
         "bcd"),
        # A product mixes elements: it may go there, but reads nothing there.
        (("%b: f32[80,80] = mul %h, %x", "%c: f32[80,80] = matmul %b, %w", ROW,
          f"%d: f32[80,80] = {into('add', '%c', '%h')}"), "cd"),
        ((*SUMS, ROW, f"%d: f32[80,80] = {into('dot', '%c', '%w')}"), "d"),
        # Read once more, or at once.
        ((*SUMS, ROW, f"%d: f32[80,80] = {into('multiply', '%c', '%c')}"), "d"),
        ((*SUMS, ROW, f"%d: f32[80,80] = {into('add', '%c', '%b')}"), "cd"),
        # What the row held is read between.
        (("%q: f32[80,80] = index %u, %p {index=(('op', 0),)}", *SUMS, ROW,
          f"%d: f32[80,80] = {into('add', '%c', '%q')}"), "d"),
        # Another type, which NumPy would convert at each call.
        (("%b: f32[80] = sum %h {axes=(0,), keepdims=False}", ROW,
          f"%d: f32[80,80] = {into('add', '%b', '%h')}"), "d"),
    ],
)  # fmt: skip
def test_calls_that_write_to_the_row(
    lines: tuple[str, ...], wanted: str, optimised: Optimised
) -> None:
    found = optimised(loop(*lines, *END), extend_destinations, stage="lowered")
    assert "".join(in_row(found)) == wanted


def plate(u, k):
    for _ in range(3):
        bend = u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1]
        u = u + ops.pad(ops.tanh(k * bend) * bend, (1, 1, 1, 1))
    return (u * u).mean()


def test_the_gradient_of_a_loop_of_slices() -> None:
    rng = np.random.default_rng(3)
    u, k = rng.standard_normal((82, 82)) * 0.3, rng.uniform(0.1, 0.2, (80, 80))
    d_u, d_k = ops.grad(plate, (0, 1))(Tensor(u), Tensor(k))

    def value(u, k):
        for _ in range(3):
            bend = u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1]
            u = u.copy()
            u[1:-1, 1:-1] += np.tanh(k * bend) * bend
        return np.mean(u * u)

    for slope, moved in ((d_u, (rng.standard_normal(u.shape), 0)), (d_k, (0, rng.random(k.shape)))):
        way = moved[0] if np.ndim(moved[0]) else moved[1]
        ahead, back = ((u + s * moved[0], k + s * moved[1]) for s in (1e-6, -1e-6))
        wanted = (value(*ahead) - value(*back)) / 2e-6
        np.testing.assert_allclose((slope.asnumpy() * way).sum(), wanted, rtol=1e-6)
    (text,) = [unit.source for unit in compile_info().units if "plate" in unit.source]
    assert "bend_tape_item = bend_tape[i]" in text and text.count("out=bend_tape_item") > 1
