"""Lists that are changed in place: what the verifier refuses, and programs that move operations."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn, ops, pipeline
from autodiff_compiler.errors import InternalError
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.verify.structure import verify

READ_LATER = """
func @f(%x: float) -> (float, list[float]) {
  %a: list[float] = make_list %x, %x
  %b: list[float] = list_head %a {in_place=True}
  %c: float = list_item %a, -1
  return %c, %b
}
"""
READ_BEFORE = """
func @f(%x: float) -> (float, list[float]) {
  %a: list[float] = make_list %x, %x
  %c: float = list_item %a, -1
  %b: list[float] = list_head %a {in_place=True}
  return %c, %b
}
"""
OF_AN_ARGUMENT = """
func @f(%a: list[float]) -> (list[float]) {
  %b: list[float] = list_head %a {in_place=True}
  return %b
}
"""


@pytest.mark.parametrize("text", [READ_LATER, OF_AN_ARGUMENT])
def test_a_change_that_can_be_observed_breaks_the_law(text: str) -> None:
    with pytest.raises(InternalError, match="a list is read after %b changed it in place"):
        verify(parse_function(text), "lowered")


def test_a_change_after_the_last_read_is_lawful() -> None:
    verify(parse_function(READ_BEFORE), "lowered")


class Shortened(nn.Cell):
    """Backward shortens the list of cotangents, and updates an array in a loop beside it.

    The update of the array moves its readers. None may move past a change of the list.
    """

    def last(self, x):
        return x

    def construct(self, x, y, m):
        rows = []
        for k in range(1):
            if len(rows) > 0 and ops.sum(y) > -1:
                rows = rows + [ops.sin(y), rows[k % len(rows)] * 0.5]
            rows += [ops.sin(y)]
        rows.append(self.last(x))
        for row in m:
            y = ops.sin(x)
            y[-3] = ops.sum(row)
        return y + x + sum(rows)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_no_reader_moves_past_a_change(level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", True)
    before = ms.get_context("opt_level")
    ms.set_context(opt_level=level)
    try:
        inputs = [
            ms.Tensor(np.array(values)) for values in ([0.3, 0.4, 0.5], [1.0, 2.0, 3.0], np.eye(3))
        ]
        ms.check_grads(Shortened(), inputs)
        ms.check_grads(ms.grad(Shortened(), (0, 1)), inputs)
    finally:
        ms.set_context(opt_level=before)
