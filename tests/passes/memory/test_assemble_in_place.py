"""Parts computed in their slices: the same numbers as copied parts, and parts that are copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import Tensor, gradient_source, ops
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.emit.module import emit_module
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.passes.memory.assemble_in_place import assemble_in_place
from autodiff_compiler.passes.memory.update_arrays_in_place import update_arrays_in_place
from autodiff_compiler.testing import check_grads

RANDOM = np.random.default_rng(4)
LEFT, RIGHT = "(('slice', None, 2, None),)", "(('slice', 2, None, None),)"


@pytest.fixture(autouse=True)
def everything_is_large() -> Iterator[None]:
    with changed_costs(medium_bytes=1, tape_row_bytes=1):
        yield


def run(function: Function, arrays: list[Any]) -> Any:
    """Runs the source of ``function``: the interpreter has no writes to parts."""
    scope: dict[str, Any] = {}
    exec(emit_module([function], lambda printed: "", {}).source, scope)
    return scope["f"](*arrays)


def ops_after(lines: str, result: str = "%t") -> list[str]:
    """Returns the operations after the pass, which gives the same numbers."""
    text = f"func @f(%x: f32[2], %y: f32[3]) -> (f32[5]) {{\n{lines}\n  return {result}\n}}\n"
    before = update_arrays_in_place(parse_function(text))
    found = assemble_in_place(before)
    verify(found, "lowered")
    arrays = [RANDOM.standard_normal(p.type.shape).astype(np.float32) for p in before.params]
    np.testing.assert_array_equal(run(found, arrays), run(before, arrays))
    return [op.name for op in found.body.ops]


def test_parts_that_fill_the_array_need_no_zeros() -> None:
    names = ops_after(f"""  %a: f32[2] = sin %x
  %s: f32[5] = scatter %a {{index={LEFT}, shape=(5,)}}
  %b: f32[3] = exp %y
  %t: f32[5] = set_item %s, %b {{index={RIGHT}}}""")
    assert names == [
        "empty",
        "index",
        "compute_into",
        "after_write",
        "index",
        "compute_into",
        "after_write",
    ]


def test_the_rest_of_the_array_is_one_number() -> None:
    names = ops_after(f"  %a: f32[2] = sin %x\n  %t: f32[5] = scatter %a "
                      f"{{index={LEFT}, shape=(5,)}}")  # fmt: skip
    assert names == ["full", "index", "compute_into", "after_write"]
    for value in (0, -2.5):
        assert "full" in ops_after("  %a: f32[3] = exp %y\n  %t: f32[5] = pad %a "
                                   f"{{value={value}, widths=((1, 1),)}}")  # fmt: skip


@pytest.mark.parametrize(
    "lines",
    [
        "  %a: f32[2] = sin %x\n  %s: f32[5] = concat %a, %y {axis=0}\n"
        "  %u: f32[2] = cos %a\n  %t: f32[5] = add_at %s, %u {index=" + LEFT + "}",
        "  %a: f32[1] = sum %x {axes=(0,), keepdims=True}\n"
        "  %t: f32[5] = scatter %a {index=" + LEFT + ", shape=(5,)}",
        "  %a: f16[2] = cast %x {dtype='float16'}\n  %b: f16[2] = sin %a\n"
        "  %s: f32[5] = concat %x, %y {axis=0}\n  %t: f32[5] = set_item %s, %b {index="
        + LEFT
        + "}",
    ],
    ids=["read again", "stretched", "of another dtype"],
)
def test_parts_that_are_copied(lines: str) -> None:
    assert "compute_into" not in ops_after(lines)


def test_parts_are_computed_in_the_order_of_the_source() -> None:
    names = ops_after(f"""  %b: f32[3] = exp %y
  %a: f32[2] = sin %x
  %s: f32[5] = scatter %a {{index={LEFT}, shape=(5,)}}
  %t: f32[5] = set_item %s, %b {{index={RIGHT}}}""")
    assert names.count("compute_into") == 2 and names[0] == "empty"


def taking_turns(x: Any, w: Any) -> Any:
    """Rotary positions: every other row, and every other column, of two products."""
    a, b = ops.matmul(x[::2], w), ops.matmul(x[1::2], w)
    y = ops.cat((a[..., ::2] * b[..., 1::2], ops.sin(a[..., 1::2])), -1)
    return ops.sum(y * y * y)


def gates(x: Any, w: Any, u: Any) -> Any:
    h = c = x[0]
    for k in range(3):
        z = ops.matmul(x[k], w) + ops.matmul(h, u)
        i, g, o = ops.split(z, z.shape[1] // 3, 1)
        c = ops.sigmoid(i) * c + ops.tanh(g)
        h = ops.sigmoid(o) * c
    return ops.sum(h * h)


def stencil(u: Any) -> Any:
    for _ in range(3):
        u = ops.cat((u[:1], u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]), u[-1:] * 2), 0)
    return ops.sum(ops.pad(ops.tanh(u), (1, 2)) * ops.pad(u, (2, 1)))


def overlapping(x: Any) -> Any:
    d, e = x[1:] - x[:-1], x[2:] - x[:-2]
    return ops.sum(ops.abs(d)) + ops.sum(e * e * e)


def attention(x: Any, w: Any) -> Any:
    """Products whose cotangents are columns of one array, to which ``np.dot`` cannot write."""
    q, k, v = ops.split(ops.matmul(x, w), 4, 1)
    p = ops.softmax(ops.matmul(q, k.T), -1)
    return ops.sum(ops.tanh(ops.matmul(p, v)))


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (attention, ((5, 3), (3, 12))),
        (taking_turns, ((4, 3), (3, 6))),
        (gates, ((3, 2, 2), (2, 6), (2, 6))),
        (stencil, ((7,),)),
        (overlapping, ((6,),)),
    ],
    ids=["attention", "turns", "gates", "stencil", "overlapping"],
)
def test_gradients_of_two_orders(function: Any, shapes: Any) -> None:
    check_grads(function, tuple(RANDOM.normal(size=shape) for shape in shapes))


def test_the_cotangent_of_the_gates_is_made_in_the_row_of_its_tape() -> None:
    x, w = (Tensor(RANDOM.normal(size=s).astype(np.float32)) for s in ((3, 2, 32), (32, 96)))
    source = gradient_source(gates, x, w, w, get_all=True)
    assert "d_z = d_z_tape[k]" in source and "np.zeros((2, 96)" not in source
