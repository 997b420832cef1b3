"""Live ranges: within an iteration for what each one writes anew, else throughout the loop."""

from __future__ import annotations

import pytest

from autodiff_compiler.loop_ir.liveness import fills, live_ranges
from autodiff_compiler.loop_ir.reader import read_nests

HEAD = "func f(x: f64[24], n: i64) -> (out: f64[24]) {\n  alloc t: f64[6]\n  alloc u: f64[6]\n"


def ranges(body: str) -> dict[str, tuple[int, int]]:
    function = read_nests(HEAD + body + "\n}")
    return {buffer.name: range_ for buffer, range_ in live_ranges(function).items()}


def test_statements_have_numbers_in_order() -> None:
    assert ranges("  t[0] = x[0]\n  u[0] = t[0]\n  out[0] = u[0]") == {"t": (0, 1), "u": (1, 2)}


ROWS = """
  for i in 0:4 {
    for j in 0:6 {
      t[j] = x[6*i + j]
    }
    for j in 0:6 {
      u[j] = t[j]
    }
    for j in 0:6 {
      out[6*i + j] = u[j]
    }
  }"""


def test_a_row_that_each_iteration_writes_anew_is_live_in_it_alone() -> None:
    assert ranges(ROWS) == {"t": (1, 6), "u": (4, 9)}


def test_a_row_that_an_iteration_takes_over_is_live_throughout() -> None:
    partly = ROWS.replace("for j in 0:6 {\n      t[j]", "for j in 0:5 {\n      t[j]")
    assert ranges(partly)["t"] == (0, 10)


def test_a_row_that_is_read_after_the_loop_is_live_throughout() -> None:
    assert ranges(ROWS + "\n  out[0] = t[0]")["t"] == (0, 11)


FILLS = {
    "for j in 0:6 {\n t[j] = 1.0\n }": True,
    "for j in 0:6 {\n t[-j + 5] = 1.0\n }": False,
    "for i in 0:3 {\n for j in 0:2 {\n t[i + 3*j] = 1.0\n }\n }": True,
    "for i in 0:3 {\n for j in 0:2 {\n t[i + 2*j] = 1.0\n }\n }": False,
    "for j in 0:6 {\n t[j] += 1.0\n }": False,
    "for j in 0:6 {\n t[j] = t[0]\n }": False,
    "for j in 0:6 {\n t[j] = 1.0\n out[j] = t[j]\n }": True,
    "for j in 0:6 {\n t[j] = 1.0\n out[j] = t[0]\n }": False,
    "for j in 0:n {\n t[j] = 1.0\n }": False,
    "if n < 3 {\n t[0] = 1.0\n }": False,
    "t[0; 2x3 by 3,1] = x[0; 2x2 by 2,1] @ x[0; 2x3 by 3,1]": True,
    "t[0; 2x3 by 3,1] += x[0; 2x2 by 2,1] @ x[0; 2x3 by 3,1]": False,
    "t[0; 2x2 by 3,1] = x[0; 2x2 by 2,1] @ x[0; 2x2 by 3,1]": False,
}


@pytest.mark.parametrize("text", FILLS)
def test_what_writes_all_elements(text: str) -> None:
    function = read_nests(HEAD + text + "\nout[0] = t[0]\n}")
    statement = function.body[0]
    (t,) = [buffer for buffer in live_ranges(function) if buffer.name == "t"]
    assert fills(statement, t) is FILLS[text]
