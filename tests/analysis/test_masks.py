"""Masks: arrays of zeros and ones from comparisons, also if they were moved or cast."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler.analysis.masks import has_mask, is_mask
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.rewrite import producers
from tests.interpreter import run


def program(*lines: str, result: str = "f32[3]") -> Function:
    body = "\n".join(f"  {line}" for line in lines)
    params = "%x: f32[3], %y: f32[3], %b: bool[3], %i: i32[3]"
    return parse_function(f"func @f({params}) -> ({result}) {{\n{body}\n  return %r\n}}\n")


GREATER, CAST = "%g: bool[3] = greater %x, 0.5", "%c: f32[3] = cast %g {dtype='float32'}"


@pytest.mark.parametrize(
    ("lines", "type_"),
    [
        ((GREATER, "%r: f32[3] = cast %g {dtype='float32'}"), "f32[3]"),
        ((GREATER, CAST, "%r: f32[1,3] = reshape %c {shape=(1, 3)}"), "f32[1,3]"),
        ((GREATER, CAST, "%r: f32[2,3] = broadcast_to %c {shape=(2, 3)}"), "f32[2,3]"),
        (("%r: f32[3] = cast %b {dtype='float32'}",), "f32[3]"),
    ],
)
def test_a_mask_holds_zeros_and_ones(lines: tuple[str, ...], type_: str) -> None:
    function = program(*lines, result=type_)
    assert is_mask(function.returns[0], producers(function.body))
    x = np.array([0.2, 0.7, 1.5], np.float32)
    (found,) = run(function, [x, x, x > 0.5, x.astype(np.int32)])
    assert set(found.ravel().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize(
    "lines",
    [
        ("%r: f32[3] = cast %i {dtype='float32'}",),
        ("%r: f32[3] = copy %x",),
        (GREATER, CAST, "%r: f32[3] = mul %c, 2.0"),
    ],
)
def test_other_arrays(lines: tuple[str, ...]) -> None:
    function = program(*lines)
    assert not is_mask(function.returns[0], producers(function.body))
    assert not is_mask(1.0, {})


@pytest.mark.parametrize(
    ("line", "chooses"),
    [
        ("%r: f32[3] = mul %c, %y", True),
        ("%r: f32[3] = mul %y, %c", True),
        ("%r: f32[3] = relu %y", True),
        ("%r: f32[3] = mul %x, %y", False),
        ("%r: f32[3] = add %c, %y", False),
    ],
)
def test_a_product_with_a_mask_is_a_choice(line: str, chooses: bool) -> None:
    function = program(GREATER, CAST, line)
    assert has_mask(function.body.ops[-1], producers(function.body)) is chooses
