"""Text and loop nests are each other's inverse; a text that is none is refused with its line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.loop_ir.nodes import Function
from autodiff_compiler.loop_ir.printer import print_nests
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.loops.lower import lower_to_loops
from autodiff_compiler.passes.nests.pipeline import optimise
from tests.loop_ir.random_nests import random_nests
from tests.loop_ir.same import facts
from tests.loops.native import joint_gradient
from tests.loops.test_lower import PROGRAMS, recurrent


def assert_reads_back(function: Function) -> None:
    text = print_nests(function)
    read = read_nests(text)
    assert facts(read) == facts(function)
    assert print_nests(read) == text


@pytest.mark.every_case
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_gradients_read_back(program: Callable[..., Any]) -> None:
    inputs = PROGRAMS[program]
    arrays = sum(isinstance(each, np.ndarray) for each in inputs)
    count = 1 if program is recurrent else arrays
    loops = lower_to_loops(joint_gradient(program, inputs, count))
    assert_reads_back(loops)
    assert_reads_back(optimise(loops))


@pytest.mark.parametrize("seed", range(40))
def test_random_nests_read_back(seed: int) -> None:
    function, _ = random_nests(seed)
    assert_reads_back(function)
    assert_reads_back(optimise(function))


EVERYTHING = """\
# title='every form'
func everything(x: f32[24], n: i64) -> (out: f32[8], sum: f64[1]) {  # net.py:3
  error 0: 'ValueError', "it's # 4"
  error 1: 'IndexError', 'no {} in {}', 'int', 'float'
  const table: i32[3] = [3, -4, 0]
  alloc tape: f32[*]
  alloc row: f32[6] at 128
  const odd: f64[2] = [inf, nan]
  var t: f32 = -2.0_f32                                           # 5
  let i: i32 = table[1] + 2_i32                                   # lib.py:7
  for i.1 in 0:4 {
    serial for j in 0:n {
      reserve tape to 6*i.1 + j + 1
      tape[6*i.1 + j] = -(t * x[j]) - -x[j] * (t - (t - 1e-05_f32))
      row[i.1] max= select(t < -1.0_f32 or isnan(t), exp(t), minimum(t, x[0]))
    }
  }
  loop {
    let c: bool = f64(t) < odd[0] and True
    break unless c == False
    t min= f32(index(-n + 2)) / 3.0_f32
  }
  if True {
    t *= 2.0_f32
  } else {
    fail 0
  }
  call solve_f32(2, 1; out[0; 2], row[n; 4]; ) or fail 0
  call bare_f32(; ; x[1; 9])
  call both_f32(7; row[0; 6]; x[0; 3], tape[n + 1; 3])
  fail 1 with index(n + 2), f64(t) + 0.5
  out[0; 2x4 by 4,1] += x[2; 2x3 by 1,-2] @ x[0; 3x4 by 4,1]
  sum[0] = inf - -inf + ldexp:f64(1.0, n) + nan
}
"""


def test_every_form_reads_back() -> None:
    assert print_nests(read_nests(EVERYTHING)) == EVERYTHING
    assert_reads_back(read_nests(EVERYTHING))


HEAD = "func f(x: f64[4]) -> (out: f64[4]) {\n"
ILLEGAL = {
    "  out[0] = y\n}": "line 2: there is no scalar y here: out.0. = y",
    "  out[0] = x\n}": "there is no scalar x here",
    "  out[0] = y[1]\n}": "there is no buffer y here",
    "  out[0] = 1.0 2.0\n}": "text after an expression",
    "  out[0] = 1.0 +\n}": "an expression is missing",
    "  out[0] = 1.0 + 2.0_f32\n}": "the operands of add do not fit",
    "  out[0] = exp(1.0\n}": "expected \\)",
    "  out[0] = x[1\n}": "expected \\]",
    "  out[0] = x[2**n]\n}": "this is no position",
    "  out[0] = ?\n}": "this cannot be read",
    "  let a: f65 = 1.0\n}": "there is no dtype f65",
    "  let a: f64[3] = 1.0\n}": "a is no number",
    "  alloc a: f64\n}": "a has no size",
    "  alloc x: f64[3]\n}": "x is defined twice",
    "  for i in 0:4 {\n  }\n  out[i] = 1.0\n}": "line 4: there is no scalar i here",
    "  loop {\n  }\n}": "a loop has no `break unless`",
    "  for i in 0:4 {\n  break unless True\n}": "expected }",
    "  if True {\n  break unless True\n}": "a branch does not end",
    "  out[0] = 1.0\n": "the text ends in a body",
    "}\n}": "line 3: there is text after the function|text after the function",
    "  out[0; 2x2 by 2,1] = x[0; 2x2 by 2,1] @ x[0; 1x2 by 2,1]\n}": "sizes of the matrices",
    "  out = 3\n}": "there is no scalar out here",
    "  call sort_f64(3; out[0])\n}": "this cannot be read",
    "  fail one\n}": "this cannot be read",
}


@pytest.mark.parametrize("text", ILLEGAL)
def test_what_is_no_nest_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=ILLEGAL[text]):
        read_nests(HEAD + text)
