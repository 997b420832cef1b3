"""Views that add or drop axes of length one, their adjoints, and sums that keep their axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
from autodiff_compiler.passes.simplify.dce import dce
from tests.passes.conftest import Optimised

FULL = "('slice', None, None, None)"
SUM = "%s: f32[4,1] = sum %x {axes=(1,), keepdims=True}"


@pytest.mark.parametrize(
    ("lines", "result", "operations"),
    [
        ([f"%o: f32[4,1,5] = index %x {{index=({FULL}, None)}}"], "f32[4,1,5]", ["expand_dims"]),
        (["%o: f32[1,4,5,1] = index %x {index=(None, '...', None)}"], "f32[1,4,5,1]",
         ["expand_dims"]),
        ([f"%o: f32[1,4] = index %x {{index=(None, {FULL}, 0)}}"], "f32[1,4]", ["index"]),
        ([f"%a: f32[4,5,1] = index %x {{index=({FULL}, {FULL}, None)}}",
          "%o: f32[4,5] = index %a {index=('...', 0)}"], "f32[4,5]", []),
        (["%a: f32[1,4,5] = expand_dims %x {axes=(0,)}",
          f"%o: f32[1,5] = index %a {{index=({FULL}, 0)}}"], "f32[1,5]", ["expand_dims", "index"]),
        ([f"%o: f32[4,1,5] = scatter %x {{index=({FULL}, 0), shape=(4, 1, 5)}}"], "f32[4,1,5]",
         ["reshape"]),
        ([f"%o: f32[4,2,5] = scatter %x {{index=({FULL}, 0), shape=(4, 2, 5)}}"], "f32[4,2,5]",
         ["scatter"]),
        ([SUM, f"%o: f32[4] = scatter %s {{index=({FULL}, None), shape=(4,)}}"], "f32[4]",
         ["sum"]),
        ([SUM, "%o: f32[4] = squeeze %s {axes=(1,)}"], "f32[4]", ["sum"]),
        ([SUM, "%o: f32[2,2] = reshape %s {shape=(2, 2)}"], "f32[2,2]", ["sum", "reshape"]),
    ],
)  # fmt: skip
def test_views(lines: list[str], result: str, operations: list[str], optimised: Optimised) -> None:
    body = "\n".join(lines)
    before = f"func @f(%x: f32[4,5]) -> ({result}) {{\n{body}\n  return %o\n}}\n"
    after = optimised(before, simplify_algebra, dce)
    assert [op.name for op in after.body.ops] == operations


def column_and_row(x: Any, w: Any) -> Any:
    return ((x[:, None] * w) ** 2 + x[None][..., 0, None]).sum()


def last_again(x: Any, w: Any) -> Any:
    return (x[..., None][..., 0] * w.sum(axis=1, keepdims=True)[:, 0]).sum()


@pytest.mark.parametrize("function", [column_and_row, last_again])
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_gradients(function: Any, level: int) -> None:
    arguments = [np.linspace(1.0, 2.0, 4), np.linspace(0.5, 1.5, 20).reshape(4, 5)]
    ms.set_context(opt_level=level)
    try:
        ms.check_grads(function, arguments, order=2)
    finally:
        ms.set_context(opt_level=1)


def test_a_new_axis_is_no_array_of_zeros() -> None:
    text = ms.gradient_source(column_and_row, np.ones(4), np.ones((4, 5)), get_all=True)
    assert "[:, None] =" not in text and "keepdims" not in text
