"""Scalars in place of elements: a load moves only where it runs and nothing writes."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.loop_ir.nodes import Function
from autodiff_compiler.loop_ir.printer import print_nests
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.loop_ir.verifier import verify_nests
from autodiff_compiler.passes.nests.replace_loads import replace_loads
from tests.loop_ir.interpreter import run_nests

X = np.array([0.5, -1.0, 2.0, 4.0])
HEAD = "func f(x: f64[4], n: i64) -> (y: f64[4], z: f64[4]) {\n"
#: Bodies, and the number of loads of ``x``, ``y`` and ``z`` that stay.
BODIES = {
    "a store and its reads": ("for i in 0:4 {\n y[i] = x[i] + 1.0\n z[i] = y[i] * y[i]\n }", 1),
    "two reads": ("for i in 0:4 {\n y[i] = x[i] + 1.0\n z[i] = x[i] * 2.0\n }", 1),
    "a read of what a loop writes": (
        "for i in 0:4 {\n y[i] = x[i]\n }\n serial for i in 0:4 {\n y[0] += y[1]\n z[i] = y[0]\n }",
        3,
    ),
    "a fixed element": (
        "for i in 0:4 {\n for j in 0:4 {\n z[j] = x[i] * x[j]\n }\n y[i] = x[2]\n }", 3,
    ),
    "a write between": (
        "y[0] = x[0]\n z[0] = y[0]\n y[n] = 7.0\n z[1] = y[0]\n z[2] = 0.0\n z[3] = 0.0\n"
        " for i in 1:4 {\n y[i] = 0.0\n }".replace("for i in 1:4", "for i in 0:1"),
        2,
    ),
    "a choice": ("for i in 0:4 {\n y[i] = select(n < 2, x[n + 7], x[i])\n z[i] = 1.0\n }", 2),
    "a combined store": (
        "for i in 0:4 {\n y[i] = x[i]\n y[i] += x[i]\n z[i] = y[i]\n }", 2,
    ),
    "a variable": (
        "for i in 0:4 {\n var t: f64 = x[1]\n t += x[i]\n y[i] = t\n z[i] = t\n }", 2,
    ),
    "no iteration": (
        "for i in 0:4 {\n y[i] = 0.0\n z[i] = 0.0\n }\n for i in 0:n {\n y[i] = x[n + 9]\n }", 1,
    ),
}  # fmt: skip


def replaced(body: str) -> tuple[Function, Function]:
    before = read_nests(f"{HEAD}{body}\n}}\n")
    after = replace_loads(before)
    verify_nests(after)
    return before, after


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("n", [0, 3])
def test_loads_that_stay(name: str, n: int) -> None:
    body, stay = BODIES[name]
    if name in ("a choice", "no iteration"):
        n = 5 if name == "a choice" else 0  # the element beyond the end is never read
    before, after = replaced(body)
    text = print_nests(after)
    loads = sum(
        line.split("=", 1)[-1].count(f"{array}[")
        for line in text.splitlines()
        if "func" not in line
        for array in "xyz"
    )
    assert loads == stay, text
    for one, other in zip(run_nests(before, [X, n]), run_nests(after, [X, n])):
        np.testing.assert_array_equal(one, other)


def test_a_load_behind_a_check_stays_behind_it() -> None:
    body = "for i in 0:4 {\n if n >= 4 {\n fail 0\n }\n y[i] = x[n]\n z[i] = x[n]\n }"
    text = HEAD.replace("func f", "func f") + body + "\n}\n"
    function = replace_loads(read_nests(text))
    shown = print_nests(function)
    assert shown.index("fail") < shown.index("x[n]")
