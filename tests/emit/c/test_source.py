"""The C text: loops over vectors, the names in it, calls, and what they compute."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.emit.c.source import emit_c
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.runtime.native import Array, Compiler, Description, Number, load_native
from autodiff_compiler.runtime.native.description import error_row
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


NAMED = """\
func f(x: f64[12], i: i64) -> (y: f64[12]) {
  error 0: 'IndexError', 'no {}', 'int'
  alloc order: i64[12]
  alloc merged: i64[12]
  if i < 0 or i >= 12 and x[0] < 1.0 {
    fail 0 with i
  }
  call argsort_f64(12, 1; order[0; 12], merged[0; 12]; x[0; 12])
  for i.1 in 0:3 {
    for j in 0:4 {
      let item: f64 = x[-4*i.1 + j + 8]
      y[4*i.1 + j] = item * f64(order[-j + 3])
    }
  }
  for k in 0:2 {
    for turn in 0:3 {
      let item: f64 = x[turn]
      y[6*k + turn] += item
    }
  }
  loop {
    break unless i > 12
    for j in 0:2 {
      y[j] = 0.0
    }
  }
}
"""


def test_names_are_those_of_a_person(c_compiler: Compiler) -> None:
    """Indices are the next free letters, and names are free again after their block."""
    source = emit_c([read_nests(NAMED)])
    lines = [line.strip() for line in source.text.partition("int32_t f(")[2].splitlines()]
    assert [line for line in lines if line.startswith("for (int64_t")] == [
        "for (int64_t j = 0; j < 3; j++) {",
        "for (int64_t k = 0; k < 4; k++) {",
        "for (int64_t j = 0; j < 2; j++) {",
        "for (int64_t turn = 0; turn < 3; turn++) {",
        "for (int64_t j = 0; j < 2; j++) {",
    ]
    assert "if (i < 0 || (i >= 12 && x[0] < 1.0)) {" in lines
    assert "services->details[0] = i;" in lines
    assert "argsort_f64(12, 1, order, merged, x);" in lines
    assert lines.count("const double item = x[k + 8 - 4 * j];") == 1
    assert lines.count("const double item = x[turn];") == 1
    assert "if (!(i > 12)) break;" in lines
    assert source.entries[0].services


def test_calls_and_details_run(c_compiler: Compiler) -> None:
    function = read_nests(NAMED)
    source = emit_c([function])
    arrays = (Array("float64", (12,)),)
    description = Description(
        "f",
        source.entries[0].adapter,
        (*arrays, Number("int")),
        arrays,
        errors=tuple(map(error_row, function.errors)),
        services=True,
    )
    call = load_native(source.text, description)
    x = np.cos(np.arange(12.0))
    np.testing.assert_allclose(call(x, 3), run_nests(function, [x, 3])[0])
    with pytest.raises(IndexError, match="^no -7$"):
        call(x, -7)
