"""Tapes on consumed arrays: those that are overlaid, those that are not, the same numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import Tensor, compile_info, gradient_source, ops, pipeline
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.emit.module import emit_module
from autodiff_compiler.errors import InternalError
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.passes.memory.overlay_tapes import overlay_tapes
from autodiff_compiler.passes.registry import BY_NAME
from autodiff_compiler.testing import check_grads

RANDOM = np.random.default_rng(5)
SET = "{in_place=True, index=(('op', 0),)}"
LEFT, RIGHT = "slice_view %r {axis=1, start=0, stop=2}", "slice_view %r {axis=1, start=2, stop=4}"


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(pipeline, "VERIFY", True)
    with changed_costs(large_bytes=1, medium_bytes=1, tape_row_bytes=1):
        yield


def program(
    made: str = "%r: f32[3,4] = sin %x",
    dtype: str = "f32",
    width: int = 2,
    late: str = "",
    between: str = "",
    inside: str = "",
    first: str = "%first: f32[3,W] = empty {dtype='float32', shape=(3, W)}",
    second: str = "%second: f32[3,2] = empty {dtype='float32', shape=(3, 2)}",
) -> str:
    """Returns a loop that reads rows of ``%r`` and fills two tapes, and a loop that reads these."""
    lines = f"""func @f(%x: f32[3,4]) -> (f32[W], f32[]) {{
  %start: f32[2] = full {{dtype='float32', shape=(2,), value=1}}
  %one: f32[W] = full {{dtype='float32', shape=(W,), value=1}}
  {made}
  {first}
  {second}
  %y: f32[2], %a: f32[3,W], %b: f32[3,2], %n: int = for %p, %k in (0, 3, 1) carry \
(%h: f32[2] = %start, %s: f32[3,W] = %first, %t: f32[3,2] = %second) read (%row: f32[4] = %r) {{
    %g: f32[2] = index %row {{index=(('slice', None, 2, None),)}}
    %o: f32[2] = index %row {{index=(('slice', 2, None, None),)}}
    {inside}
    %u: f32[2] = mul %g, %h
    %v: f32[2] = add %u, %o
    %c: f32[W] = mul %one, 3.0
    %s1: f32[3,W] = set_item %s, %c, %p {SET}
    %t1: f32[3,2] = set_item %t, %v, %p {SET}
    {late}
    yield carry %v, %s1, %t1
  }}
  {between}
  %z: f32[W], %q: f32[2], %m: int = for %p2, %k2 in (0, 3, 1) carry (%d: f32[W] = %one, %e: f32[2] \
= %y) read (%i: f32[W] = %a, %j: f32[2] = %b) {{
    %d1: f32[W] = add %d, %i
    %e1: f32[2] = add %e, %j
    yield carry %d1, %e1
  }}
  %l: f32[] = sum %q {{axes=None, keepdims=False}}
  return %z, %l
}}
"""
    return lines.replace("W", str(width)).replace("f32[3,4] = sin", f"{dtype}[3,4] = sin")


def laned(text: str) -> list[str]:
    """Returns the slices that ``text`` gets; it gives the same numbers with them."""
    before = parse_function(text)
    after = overlay_tapes(before)
    verify(after, "lowered")
    x = RANDOM.standard_normal((3, 4)).astype(np.float32)
    for one, other in zip(run(before, x), run(after, x)):
        np.testing.assert_array_equal(one, other)
    return [line.split("  #")[0].strip() for line in print_function(after).splitlines()
            if " slice_view " in line]  # fmt: skip


def run(function: Function, x: Any) -> Any:
    scope: dict[str, Any] = {}
    exec(emit_module([function], lambda printed: "", {}).source, scope)
    return scope["f"](x)


def test_tapes_lie_side_by_side_in_the_consumed_array() -> None:
    assert laned(program()) == [f"%first: f32[3,2] = {LEFT}", f"%second: f32[3,2] = {RIGHT}"]
    # Where there is not room for both, the first that fits; the rest of a row is nobody's.
    assert laned(program(width=3)) == ["%first: f32[3,3] = slice_view %r {axis=1, start=0, stop=3}"]
    assert laned(program(width=1))[1:] == [
        "%second: f32[3,2] = slice_view %r {axis=1, start=1, stop=3}"
    ]  # fmt: skip
    # What is as wide as a row is put there by another pass.
    assert laned(program(width=4)) == [
        "%second: f32[3,2] = slice_view %r {axis=1, start=0, stop=2}"
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"between": "%w: f32[3,4] = exp %r\n  %w1: f32[] = sum %w {axes=None, keepdims=False}"},
        {"inside": "%prev: int = floor_div %p, 2\n"
                   "%w: f32[4] = index %r, %prev {index=(('op', 0),)}"},
        {"late": "%w: f32[2] = exp %o"},
        {"made": "%r: f32[3,4] = reshape %x {shape=(3, 4)}"},
        {"made": "%r0: f32[4] = index %x {index=(0,)}\n"
                 "%r: f32[3,4] = broadcast_to %r0 {shape=(3, 4)}"},
        {"between": "%w5: f32[] = full {dtype='float32', shape=(), value=0}\n"
                    "%w: f32[], %w1: int = for %p3, %k3 in (0, 3, 1) carry (%w2: f32[] = %w5) read "
                    "(%w3: f32[4] = %r) {\n%w4: f32[] = sum %w3 {axes=None, keepdims=False}\n"
                    "yield carry %w4\n}"},
    ],
    ids=["read after the loop", "another row", "read after in its turn", "the caller's",
         "stretched", "read by a second loop"],
)  # fmt: skip
def test_an_array_that_is_read_again_takes_no_tape(change: dict[str, str]) -> None:
    assert laned(program(**change)) == []


def test_a_tape_that_is_read_as_a_whole_has_memory_of_its_own() -> None:
    whole = program(between="%w: f32[3,2] = exp %a")
    assert laned(whole) == [f"%second: f32[3,2] = {LEFT}"]


@pytest.mark.parametrize(
    "change, law",
    [
        ({"first": f"%first: f32[3,2] = {LEFT}", "second": f"%second: f32[3,2] = {LEFT}"},
         "%t.* read"),
        ({"first": "%first: f32[3,3] = slice_view %r {axis=1, start=0, stop=3}", "width": 3,
          "second": f"%second: f32[3,2] = {RIGHT}"}, "%t.* read"),
        ({"first": f"%first: f32[3,2] = {LEFT}",
          "second": "%r2: f32[3,4] = reshape %r {shape=(3, 4)}\n"
                    "  %second: f32[3,2] = slice_view %r2 {axis=1, start=2, stop=4}"}, "%t.* read"),
        ({"first": f"%first: f32[3,2] = {LEFT}",
          "second": "%second: f32[3,2] = slice_view %first {axis=1, start=0, stop=2}"},
         "%t.* read"),
        ({"first": f"%first: f32[3,2] = {LEFT}", "late": "%w: f32[2] = exp %o"}, "%o.* read"),
        ({"first": f"%first: f32[3,2] = {LEFT}", "between": "%w: f32[3,4] = exp %r"}, "%r.* read"),
        ({"first": f"%first: f32[3,2] = {LEFT}", "between": "%w: f32[3,2] = exp %first"},
         "%first.* read"),
        ({"first": f"%first: f32[3,2] = {LEFT}", "made": "%r: f32[3,4] = reshape %x "
          "{shape=(3, 4)}"}, "which is the caller's"),
    ],
    ids=["the same lane", "lanes that meet", "of another view", "a lane of a lane", "a row",
         "the array", "what it was", "the caller's"],
)  # fmt: skip
def test_the_verifier_finds_an_overwritten_slice(change: dict[str, Any], law: str) -> None:
    """Slices are written by hand where ``overlay_tapes`` takes none."""
    with pytest.raises(InternalError, match=law):
        verify(parse_function(program(**change)), "lowered")


def test_disjoint_slices_are_safe() -> None:
    text = program(first=f"%first: f32[3,2] = {RIGHT}", second=f"%second: f32[3,2] = {LEFT}")
    verify(parse_function(text), "lowered")


def lstm(x: Any, w: Any, u: Any) -> Any:
    h = c = x[0]
    for k in range(3):
        z = ops.matmul(x[k], w) + ops.matmul(h, u)
        i, f, o, g = ops.split(z, z.shape[1] // 4, 1)
        c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
        h = ops.sigmoid(o) * ops.tanh(c)
    return ops.sum(h * h)


def gru(x: Any, w: Any, u: Any) -> Any:
    h, n = x[0], x.shape[2]
    for k in range(3):
        a, v = ops.matmul(x[k], w), ops.matmul(h, u)
        r, z = ops.sigmoid(a[:, :n] + v[:, :n]), ops.sigmoid(a[:, n : 2 * n] + v[:, n : 2 * n])
        h = (1 - z) * ops.tanh(a[:, 2 * n : 3 * n] + r * v[:, 2 * n : 3 * n]) + z * h
    return ops.sum(h * h)


def masked(x: Any, w: Any, u: Any) -> Any:
    """Some rows of the batch stay as they are, some steps do nothing at all."""
    h, n = x[0], x.shape[2]
    for k in range(3):
        z = ops.matmul(x[k], w) + ops.matmul(h, u)
        new = ops.tanh(z[:, :n]) * ops.sigmoid(z[:, n : 2 * n]) + ops.exp(-(z[:, -n:] ** 2))
        if ops.sum(x[k]) > 0:
            new = ops.sin(new) * h
        h = ops.where(x[k, :, :1] > 0, new, h)
    return ops.sum(h * h)


def layers(x: Any, w: Any, u: Any) -> Any:
    """The second loop reads all that the first one made; the projection is read by both."""
    p, n = ops.matmul(x, w), x.shape[2]
    h, kept = x[0], []
    for k in range(3):
        h = ops.tanh(p[k, :, :n] + h) * ops.sigmoid(p[k, :, n : 2 * n] * h)
        kept.append(h)
    y = ops.matmul(ops.stack(kept), u)
    for k in range(3):
        h = ops.tanh(y[k, :, :n] * h) + ops.sin(y[k, :, n : 2 * n]) * h + p[k, :, -n:]
    return ops.sum(h * h) + ops.sum(p * p)


def equal_layers(x: Any, w: Any, u: Any) -> Any:
    """No product is there before the loop."""
    h = x[0]
    for _ in range(3):
        a, b, c, d = ops.split(ops.matmul(h, w), x.shape[2], 1)
        h = h + ops.tanh(a) * ops.sigmoid(b) + ops.tanh(c) * ops.sigmoid(d)
    return ops.sum(h * h) + ops.sum(u)


X, W, U = (RANDOM.normal(size=shape) * 0.5 for shape in ((3, 2, 3), (3, 12), (3, 12)))


@pytest.mark.parametrize("function", [lstm, gru, masked, layers, equal_layers])
def test_gradients_of_two_orders(function: Any) -> None:
    check_grads(function, (X, W, U))


@pytest.mark.parametrize("function", [lstm, gru, masked, equal_layers])
def test_it_takes_less_memory(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, w, u = (Tensor(each.astype(np.float32)) for each in (X, W, U))

    def bytes_to_work_in() -> int:
        compile_info().clear()
        ms.grad(function, (0, 1, 2))(x, w, u)
        return sum(unit.work_bytes for unit in compile_info().units)

    now = bytes_to_work_in()
    without = replace(BY_NAME["overlay_tapes"], rewrite=lambda function, **_: function)
    monkeypatch.setitem(BY_NAME, "overlay_tapes", without)
    assert now < bytes_to_work_in()


@pytest.mark.parametrize("function, tapes", [(lstm, 4), (gru, 3)])
def test_the_cotangents_of_gates_come_where_the_gates_were(function: Any, tapes: int) -> None:
    x, w, u = (Tensor(each.astype(np.float32)) for each in (X, W, U))
    source = gradient_source(function, x, w, u, get_all=True)
    assert len(re.findall(r"tape(?:_\d+)? = \w+\[:, :, ", source)) == tapes
    # The last loop puts a row there as a whole, when the tapes were read.
    assert re.search(r"(d_\w+)_tape\[k\] = \1\n", source)


def test_a_pullback_that_runs_twice_finds_the_tapes_as_they_were() -> None:
    x, w, u = (Tensor(each.astype(np.float32)) for each in (X, W, U))
    wanted = [each.asnumpy() for each in ms.grad(lstm, (0, 1, 2))(x, w, u)]
    _, pull = ms.vjp(lstm, x, w, u)
    for _ in range(2):
        for found, each in zip(pull(Tensor(np.float32(1))), wanted):
            np.testing.assert_allclose(found.asnumpy(), each, rtol=1e-6)
