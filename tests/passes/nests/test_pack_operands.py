"""The right matrix of a product is copied before a loop, if no iteration changes it."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.loop_ir.liveness import fills
from autodiff_compiler.loop_ir.nodes import Loop
from autodiff_compiler.loop_ir.printer import print_nests
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.loop_ir.verifier import verify_nests
from autodiff_compiler.passes.nests.pack_operands import pack_operands
from tests.loop_ir.interpreter import run_nests

HEAD = """\
func f(x: f64[48], w: f64[128]) -> (y: f64[128], z: f64[128]) {
"""
PRODUCT = "y[0; 4x32 by 32,1] = x[4*t; 4x2 by 2,1] @ w[%s]\n"
FOUR, THREE = (f"serial for t in 0:{count} {{\n" for count in (4, 3))

#: Texts, and the number of copies in them.
TEXTS = {
    FOUR + PRODUCT % "0; 2x32 by 32,1" + "}": 1,
    FOUR + PRODUCT % "3; 2x32 by 1,2" + "}": 1,
    FOUR + PRODUCT % "0; 2x32 by 0,0" + "}": 1,
    FOUR + 2 * (PRODUCT % "0; 2x32 by 32,1") + "}": 1,
    FOUR + PRODUCT % "0; 2x32 by 32,1" + PRODUCT % "1; 2x32 by 32,1" + "}": 2,
    FOUR + "z[0; 4x32 by 1,4] += x[0; 4x2 by 2,1] @ w[0; 2x32 by 32,1]\n}": 1,
    "for u in 0:2 {\n" + FOUR + PRODUCT % "32*u; 2x32 by 32,1" + "}\n}": 1,
    THREE + PRODUCT % "0; 2x32 by 32,1" + "}": 0,  # too few iterations
    FOUR + PRODUCT % "8*t; 2x32 by 32,1" + "}": 0,  # another matrix in each iteration
    FOUR + "z[0; 4x24 by 24,1] = x[0; 4x2 by 2,1] @ w[0; 2x24 by 24,1]\n}": 0,  # no full panels
    FOUR + "z[0; 3x32 by 32,1] = x[0; 3x2 by 2,1] @ w[0; 2x32 by 32,1]\n}": 0,  # few rows
    FOUR + "z[0; 4x32 by 32,1] = x[0; 4x2 by 2,1] @ y[0; 2x32 by 32,1]\ny[t] = 1.0\n}": 0,
}


@pytest.mark.parametrize("text", TEXTS)
def test_copies(text: str) -> None:
    function = read_nests(HEAD + text + "\n}")
    with changed_costs(packed_operand_rows=4):
        after = pack_operands(function)
    verify_nests(after)
    assert print_nests(after).count("alloc w_panels") == TEXTS[text]
    assert (after is not function) is bool(TEXTS[text])
    draw = np.random.default_rng(1)
    inputs = draw.normal(size=48), draw.normal(size=128)
    for one, other in zip(run_nests(after, inputs), run_nests(function, inputs), strict=True):
        np.testing.assert_array_equal(one, other)


def test_products_of_panels_fill_the_result() -> None:
    function = read_nests(HEAD + FOUR + PRODUCT % "0; 2x32 by 32,1" + "}\n}")
    with changed_costs(packed_operand_rows=4):
        steps = pack_operands(function).body[-1]
    assert isinstance(steps, Loop)
    y, z = function.outputs
    (panels,) = steps.body
    assert fills(panels, y) and not fills(panels, z)
