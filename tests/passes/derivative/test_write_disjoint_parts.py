"""Scatter-add and store: the same array with fewer additions, in the final order of axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.derivative.write_disjoint_parts import write_disjoint_parts
from autodiff_compiler.passes.simplify.dce import dce
from tests import interpreter
from tests.passes.conftest import Optimised

ALL = "('slice', None, None, None)"


def chain(places: list[tuple[str, str]], shape: str, *after: str, back: str = "%s") -> Function:
    """Returns a function that adds parameters ``p0, p1, ...`` to zeros at the given indices."""
    params = ", ".join(f"%p{k}: {type_}" for k, (type_, _) in enumerate(places))
    lines, whole = [], f"f32[{shape}]"
    for k, (_, index) in enumerate(places):
        last = "%s" if k == len(places) - 1 else f"%s{k}"
        op = f"scatter %p0 {{index={index}, shape=({shape})}}" if k == 0 else (
            f"add_at %s{k - 1}, %p{k} {{index={index}}}")  # fmt: skip
        lines.append(f"  {last}: {whole} = {op}")
    type_ = whole if back == "%s" else after[0].split(": ")[1].split(" = ")[0]
    text = [f"func @f({params}) -> ({type_}) {{", *lines, *after, f"  return {back}", "}", ""]
    return parse_function("\n".join(text))


@pytest.fixture
def changed(optimised: Optimised) -> Callable[[Function], list[str]]:
    """Returns a function that returns the names of the operations after the pass."""

    def names(function: Function) -> list[str]:
        return [op.name for op in optimised(function, write_disjoint_parts, dce).body.ops]

    return names


@pytest.mark.parametrize(
    "places",
    [
        [("f32[4]", "(0,)"), ("f32[4]", "(-1,)"), ("f32[4]", "(1,)")],
        [("f32[2,4]", "(('slice', 1, None, None),)"), ("f32[4]", "(0,)")],
        [("f32[2,4]", "(('slice', 0, None, 2),)"), ("f32[1,4]", "(('slice', 1, None, 2),)")],
        [("f32[3,2]", f"({ALL}, ('slice', None, 2, None))"), ("f32[3]", f"({ALL}, 3)")],
    ],
    ids=["rows", "a slice and a row", "by turns", "along another axis"],
)
def test_a_disjoint_part_is_stored(places, changed: Any) -> None:
    assert "add_at" not in changed(chain(places, "3, 4"))


@pytest.mark.parametrize(
    "places",
    [
        [("f32[4]", "(0,)"), ("f32[4]", "(-3,)")],
        [("f32[2,4]", "(('slice', 1, None, None),)"), ("f32[2,4]", "(('slice', None, 2, None),)")],
        [("f32[2,4]", "(('slice', 0, None, 2),)"), ("f32[2,4]", "(('slice', 2, None, -2),)")],
        [("f32[4]", "(0,)"), ("f32[3]", f"({ALL}, 3)")],
    ],
    ids=["one row twice", "slices that overlap", "backwards", "crossing"],
)
def test_an_overlapping_part_is_added(places, changed: Any) -> None:
    assert "add_at" in changed(chain(places, "3, 4"))


def test_a_part_that_overlaps_an_earlier_one_is_added(changed: Any) -> None:
    row = "f32[4]"
    names = changed(chain([(row, "(0,)"), (row, "(1,)"), (row, "(0,)")], "3, 4"))
    assert names == ["scatter", "set_item", "add_at"]


def test_a_transposed_array_is_assembled_in_its_final_order(changed: Any) -> None:
    part = "f32[2,4]"
    function = chain(
        [(part, "(0,)"), (part, "(2,)"), (part, "(1,)")], "3, 2, 4",
        "  %t: f32[4,3,2] = transpose %s {perm=(2, 0, 1)}", back="%t",
    )  # fmt: skip
    names = changed(function)
    assert sorted(names) == ["scatter", "set_item", "set_item", *["transpose"] * 3]
    assert names[-1] == "set_item"


def test_an_array_that_others_read_keeps_its_order() -> None:
    function = chain(
        [("f32[4]", "(0,)"), ("f32[4]", "(1,)")], "2, 4",
        "  %t: f32[4,2] = swap_last_axes %s", "  %u: f32[2,2] = matmul %s, %t", back="%t",
    )  # fmt: skip
    text = function.body.ops
    assert [op.name for op in dce(write_disjoint_parts(function)).body.ops][-1] == text[2].name


ROWS, REST = "(('slice', 1, None, None),)", "(('slice', None, -1, None),)"


@pytest.mark.parametrize("negative", ["%p0", "%p1"])
def test_a_part_with_a_sign_is_subtracted_second(negative: str, optimised: Optimised) -> None:
    signed = {name: name.replace("p", "n") if name == negative else name for name in ("%p0", "%p1")}
    text = f"""func @f(%p0: f32[3,4], %p1: f32[3,4]) -> (f32[4,4]) {{
  {negative.replace("p", "n")}: f32[3,4] = neg {negative}
  %z: f32[4,4] = scatter {signed["%p0"]} {{index={ROWS}, shape=(4, 4)}}
  %s: f32[4,4] = add_at %z, {signed["%p1"]} {{index={REST}}}
  return %s
}}
"""
    function = parse_function(text)
    found = optimised(function, write_disjoint_parts, dce, stage="lowered")
    assert [op.name for op in found.body.ops] == ["scatter", "subtract_at"]
    p0, p1 = np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32)
    want = np.zeros((4, 4), np.float32)
    want[1:] += -p0 if negative == "%p0" else p0
    want[:-1] += -p1 if negative == "%p1" else p1
    np.testing.assert_array_equal(interpreter.run(found, [p0, p1])[0], want)


def test_a_sign_is_subtracted_from_any_array(optimised: Optimised) -> None:
    text = f"""func @f(%x: f32[4,4], %p: f32[3,4]) -> (f32[4,4]) {{
  %n: f32[3,4] = neg %p
  %s: f32[4,4] = add_at %x, %n {{index={ROWS}}}
  return %s
}}
"""
    found = optimised(parse_function(text), write_disjoint_parts, dce, stage="lowered")
    assert [op.name for op in found.body.ops] == ["subtract_at"]


def test_a_sign_that_others_read_stays() -> None:
    text = f"""func @f(%p: f32[3,4], %q: f32[3,4]) -> (f32[4,4], f32[3,4]) {{
  %n: f32[3,4] = neg %p
  %z: f32[4,4] = scatter %q {{index={ROWS}, shape=(4, 4)}}
  %s: f32[4,4] = add_at %z, %n {{index={REST}}}
  return %s, %n
}}
"""
    assert "subtract_at" not in [
        op.name for op in write_disjoint_parts(parse_function(text)).body.ops
    ]


def test_a_row_that_is_named_twice_is_not_taken_away_once() -> None:
    text = """func @f(%z: f32[4,2], %p: f32[2,2], %i: i64[2]) -> (f32[4,2]) {
  %n: f32[2,2] = neg %p
  %y: f32[4,2] = scatter %p {index=(('slice', None, 2, None),), shape=(4, 2)}
  %s: f32[4,2] = add_at %z, %n, %i {index=(('op', 0),)}
  %t: f32[4,2] = add %s, %y
  return %t
}
"""
    names = [op.name for op in write_disjoint_parts(parse_function(text)).body.ops]
    assert "add_at" in names and "subtract_at" not in names
