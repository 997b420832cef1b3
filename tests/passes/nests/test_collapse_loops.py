"""Nested loops become one where positions count their iterations in one, and nowhere else."""

from __future__ import annotations

import pytest

from autodiff_compiler.loop_ir.nodes import Loop, walk
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.passes.nests.collapse_loops import collapse_loops

HEAD = "func f(x: f64[24], n: i64) -> (y: f64[24]) {\n  var total: f64 = 0.0\n"
#: A body of two loops, and the number of loops afterwards.
CASES = {
    "y[6*i + j] = x[6*i + j]": 1,
    "y[6*i + j] = x[0]": 1,
    "total += x[6*i + j]": 1,
    "y[-6*i - j + 23] = 2.0": 1,
    "y[6*i + j] = f64(index(6*i + j))": 1,
    "y[4*j + i] = 1.0": 2,
    "y[6*i + j] = x[j]": 2,
    "y[6*i + j] = x[i]": 2,
    "y[6*i + j] = f64(j)": 2,
    "y[6*i + j] = f64(index(j))": 2,
    "y[6*i - j + 5] = 1.0": 2,
    "y[7*i] = 1.0": 2,
}


def loops(text: str, outer: str = "0:4", inner: str = "0:6") -> list[Loop]:
    body = f"  for i in {outer} {{\n    for j in {inner} {{\n{text}\n}}\n}}\n}}"
    after = collapse_loops(read_nests(HEAD + body))
    return [each for each in walk(after.body) if isinstance(each, Loop)]


@pytest.mark.parametrize("text", CASES)
def test_two_loops(text: str) -> None:
    assert len(loops(text)) == CASES[text]


def test_the_length_is_the_product() -> None:
    (loop,) = loops("y[6*i + j] = x[6*i + j]")
    assert loop.extent == 24 and loop.independent


def test_run_time_extents_stay() -> None:
    assert len(loops("y[0] = x[6*i + j]", outer="0:n")) == 2


def test_three_loops_become_one() -> None:
    inner = "for k in 0:2 {\n y[6*i + 2*j + k] = x[6*i + 2*j + k]\n }"
    assert [each.extent for each in loops(inner, inner="0:3")] == [24]


def test_a_statement_between_keeps_the_loops_apart() -> None:
    body = "for i in 0:4 {\n y[i] = 1.0\n for j in 0:6 {\n total += x[6*i + j]\n }\n }\n}"
    function = read_nests(HEAD + body)
    assert collapse_loops(function) is function
