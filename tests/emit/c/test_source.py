"""The C text: which loops are marked as loops over vectors, and what they compute."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.emit.c.source import emit_c
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.runtime.native import Array, Compiler, Description, load_native
from tests.loop_ir.interpreter import run_nests

HEAD = (
    "func f(x: f64[40]) -> (y: f64[40]) {\n for i in 0:40 {\n y[i] = x[i]\n }\n for j in 0:10 {\n"
)
MARK = "#pragma omp simd\n"

#: Bodies of a loop of ten iterations, and whether these can run as elements of a vector.
LOOPS = {
    "y[j] += x[j]": True,
    "y[2*j] += x[j]\n y[2*j + 1] += x[j]": True,
    "y[j] += x[j]\n y[j + 10] += x[j]": True,
    "y[j] += x[j]\n y[j + 9] += x[j]": False,
    "y[j + 1] += x[j]\n y[j] += x[j + 1]": False,
    "y[3*j] += x[j]\n y[3*j + 6] += x[j]": False,
    "y[5] += x[j]": False,
}


@pytest.mark.parametrize("body", LOOPS)
def test_loops_over_vectors(body: str, c_compiler: Compiler) -> None:
    function = read_nests(f"{HEAD}{body}\n }}\n}}")
    source = emit_c([function])
    assert source.text.count(MARK) == 1 + LOOPS[body]
    numbers = (Array("float64", (40,)),)
    call = load_native(source.text, Description("f", source.entries[0].adapter, numbers, numbers))
    x = np.arange(40.0) ** 2
    np.testing.assert_array_equal(call(x), run_nests(function, [x])[0])
