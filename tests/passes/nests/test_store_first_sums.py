"""Zeros disappear where each element is added to once, before anything reads it."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.loop_ir.printer import print_nests
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.loop_ir.verifier import verify_nests
from autodiff_compiler.passes.nests.store_first_sums import store_first_sums
from tests.loop_ir.interpreter import run_nests

HEAD = """\
func f(x: f64[12], k: i64) -> (y: f64[12], z: f64[12]) {
  alloc t: f64[12]
"""
ZEROS = "for i in 0:12 {\n t[i] = 0.0\n }\n"
COPY = "for i in 0:12 {\n y[i] = t[i]\n }"
LEFT = "for i in 0:4 {\n t[i] += x[i]\n }\n"
RIGHT = "for i in 0:2 {\n for j in 0:4 {\n t[4*i + j + 4] += x[i + 2*j]\n }\n }\n"
BOTH = "for i in 0:6 {\n t[i] += x[i]\n t[i + 6] += x[2*i]\n }\n"
ROWS = "serial for s in 0:3 {\n%s\n}\n"

#: Texts, and whether the zeros in them disappear.
TEXTS = {
    ZEROS + LEFT + RIGHT + COPY: True,
    ZEROS + RIGHT + "y[0] = 1.0\n" + LEFT + COPY: True,
    ZEROS + BOTH + COPY: True,
    ZEROS + "for i in 0:12 {\n t[-i + 11] += x[i]\n }\n" + COPY: False,  # steps are positive
    ZEROS + LEFT + COPY: False,  # zeros are left
    ZEROS + LEFT + LEFT + RIGHT + COPY: False,
    ZEROS + LEFT + "z[0] = t[9]\n" + RIGHT + COPY: False,  # a zero is read
    ZEROS + "for i in 0:12 {\n t[i] += t[i] + 1.0\n }\n" + COPY: False,
    ZEROS + "for i in 0:12 {\n t[i] *= x[i]\n }\n" + COPY: False,
    ZEROS + "for i in 0:12 {\n for j in 0:2 {\n t[i] += x[j]\n }\n }\n" + COPY: False,
    ZEROS + "for i in 0:6 {\n t[i + k] += x[i]\n t[i + k + 6] += x[i]\n }\n" + COPY: False,
    ZEROS + "if k < 1 {\n" + BOTH + "}\n" + COPY: False,
    ZEROS + "t[0; 3x4 by 4,1] += x[0; 3x1 by 1,0] @ x[0; 1x4 by 0,1]\n" + COPY: False,
    ROWS % "for i in 0:4 {\n t[i + 4*s] = 0.0\n }\n t[4*s] += 1.0\n t[4*s + 3] += 2.0\n"
    "for i in 0:2 {\n t[i + 4*s + 1] += x[i]\n }" + COPY: True,
    # of one iteration alone
    ROWS % (ZEROS + BOTH + "for i in 0:12 {\n y[i] += t[i]\n }"): False,
    "for i in 0:12 {\n t[i] = 1.0\n }\n" + BOTH + COPY: False,
}


@pytest.mark.parametrize("text", TEXTS)
def test_zeros(text: str) -> None:
    function = read_nests(HEAD + text + "\n}")
    after = store_first_sums(function)
    verify_nests(after)
    zeros = print_nests(function).count("= 0.0") - print_nests(after).count("= 0.0")
    assert zeros == TEXTS[text]
    assert (after is not function) is TEXTS[text]
    inputs = np.arange(1.0, 13.0), 0
    for one, other in zip(run_nests(after, inputs), run_nests(function, inputs), strict=True):
        np.testing.assert_array_equal(one, other)
