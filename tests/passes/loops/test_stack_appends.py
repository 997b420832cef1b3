"""Scalar replacement of appended lists: arrays with the same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import Tensor, gradient_source, ops, pipeline
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.passes.loops.stack_appends import stack_appends
from autodiff_compiler.testing import check_grads
from tests.passes.conftest import Optimised

RANDOM = np.random.default_rng(6)


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch, memory_level: None) -> Iterator[None]:
    monkeypatch.setattr(pipeline, "VERIFY", True)
    with changed_costs(large_bytes=1, medium_bytes=1, tape_row_bytes=1):
        yield


def outputs(x: Any, w: Any) -> Any:
    h, out = x[0], []
    for k in range(3):
        h = ops.tanh(x[k] + ops.matmul(h, w))
        out.append(h)
    return ops.sum(ops.stack(out) ** 3)


def backwards(x: Any, w: Any) -> Any:
    """Two lists, the second loop from the end on; one is stacked along another axis."""
    h, out, more = x[0], [], []
    for k in range(2, -1, -1):
        h = ops.sin(x[k] * h)
        out.append(ops.exp(-h * h))
        more.append(ops.matmul(h, w))
    return ops.sum(ops.stack(out) * ops.stack(more) * x) + ops.sum(ops.stack(more, 1) ** 2)


def nested(x: Any, w: Any) -> Any:
    """The inner list begins anew in each iteration of the outer loop."""
    h, rows = x[0], []
    for k in range(2):
        inner = []
        for _ in range(3):
            h = ops.sin(ops.matmul(h, w)) + x[k]
            inner.append(h)
        rows.append(ops.sum(ops.stack(inner) ** 2, 0))
    return ops.sum(ops.stack(rows) * h)


def read_inside(x: Any, w: Any) -> Any:
    """A list that the next iteration reads stays a list."""
    out = [x[0]]
    for k in range(3):
        out.append(ops.tanh(ops.matmul(out[-1], w)) * x[k])
    return ops.sum(ops.stack(out) ** 2)


def left_early(x: Any, w: Any) -> Any:
    out = []
    for k in range(3):
        out.append(ops.matmul(x[k], w))
        if ops.sum(x[k]) > 100:
            break
    return ops.sum(ops.stack(out) ** 2)


X, W = (RANDOM.normal(size=shape) * 0.5 for shape in ((3, 2, 4), (4, 4)))


@pytest.mark.parametrize("function", [outputs, backwards, nested, read_inside, left_early])
def test_gradients_of_two_orders(function: Any) -> None:
    check_grads(function, (X, W))


def test_the_loop_fills_the_array() -> None:
    source = gradient_source(outputs, *(Tensor(each.astype(np.float32)) for each in (X, W)))
    assert ".append(" not in source and "np.stack" not in source and "list(" not in source
    assert "out[k] = h" in source


TEXT = """
func @f(%x: f32[2]) -> (f32[3,2]{returned}) {{
  %e: list[{item}] = make_list {begins}
  %l: list[f32[2]], %y: f32[2], %n: int = for %p, %k in (0, {times}, 1) carry (%o: list[f32[2]] = %e, %c: f32[2] = %x) {{
    %s: f32[2] = sin %c
    %a: list[f32[2]] = list_append %o, %s
    {more}
    yield carry {after}, %s{until}
  }}
  %r: f32[3,2] = stack_rows %l {{length=3}}
  return %r{also}
}}
"""  # noqa: E501


@pytest.mark.parametrize(
    "change, goes",
    [
        ({}, True),
        ({"begins": "%x", "times": "2", "item": "f32[2]"}, False),
        ({"returned": ", list[f32[2]]", "also": ", %l"}, False),
        ({"more": "%b: list[f32[2]] = list_append %a, %c", "after": "%b"}, False),
        ({"more": "%b: f32[2] = list_item %a, 0"}, False),
    ],
    ids=["a list to stack", "an item before", "returned", "two a turn", "read in its turn"],
)
def test_which_lists_go(change: dict[str, str], goes: bool, optimised: Optimised) -> None:
    usual = {"begins": "", "times": "3", "returned": "", "also": "", "more": "", "after": "%a",
             "until": "", "item": "undefined"}  # fmt: skip
    after = optimised(TEXT.format(**{**usual, **change}), stack_appends)
    assert ("list_append" not in after.op_names) is goes
