"""A C file of several functions has the head, the maths and the products once."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.emit.c.source import array_lines, emit_c
from autodiff_compiler.loop_ir.nodes import Buffer, Function
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.runtime.native import Array, Compiler, Description, load_native

FIRST = """\
func first(x: f64[4]) -> (y: f64[4]) {
  for i in 0:4 {
    y[i] = exp(x[i])
  }
}
"""
SECOND = """\
func second(x: f64[4], w: f64[4]) -> (y: f64[4]) {
  for i in 0:4 {
    y[i] = exp(x[i]) * w[i]
  }
}
"""
X = np.array([0.0, 1.0, -2.0, 0.5])
ARRAY = Array("float64", (4,))


def functions() -> list[Function]:
    return [read_nests(FIRST), read_nests(SECOND)]


def test_two_functions_in_one_file(c_compiler: Compiler) -> None:
    source = emit_c(functions())
    assert source.text.count("#include") == source.text.count("double exp_f64(double x)") == 1
    first, second = source.entries
    assert [each.name for each in second.parameters] == ["x", "w", "y"]
    assert [each.is_output for each in second.parameters] == [False, False, True]
    calls = [
        load_native(source.text, Description(each.name, each.adapter, inputs, (ARRAY,)), c_compiler)
        for each, inputs in ((first, (ARRAY,)), (second, (ARRAY, ARRAY)))
    ]
    np.testing.assert_allclose(calls[0](X), np.exp(X), rtol=1e-15)
    np.testing.assert_allclose(calls[1](X, X), np.exp(X) * X, rtol=1e-15)


def test_one_function_of_several_is_printed_as_it_is_alone() -> None:
    (alone,) = (emit_c([each]).text for each in functions()[1:])
    together = emit_c(functions()).text
    assert alone.partition("int32_t second")[2] == together.partition("int32_t second")[2]


def test_an_input_can_be_a_constant(c_compiler: Compiler) -> None:
    first, second = functions()
    (w,) = (each for each in second.inputs if isinstance(each, Buffer) and each.name == "w")
    source = emit_c([first, second], {w: X})
    assert "\nstatic const double w[4] = {0.0, 1.0, -2.0, 0.5};\n\nint32_t first(" in source.text
    entry = source.entries[1]
    assert [each.name for each in entry.parameters] == ["x", "y"]
    description = Description(entry.name, entry.adapter, (ARRAY,), (ARRAY,))
    call = load_native(source.text, description, c_compiler)
    np.testing.assert_allclose(call(X), np.exp(X) * X, rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_numbers_of_an_array_are_exact(dtype: str) -> None:
    array = np.random.default_rng(0).normal(size=(40, 3)).astype(dtype)
    lines = array_lines("static const double", "x", array)
    assert max(map(len, lines)) <= 100 and lines[0] == "static const double x[120] = {"
    texts = " ".join(lines[1:-1]).split(",")
    np.testing.assert_array_equal(
        [np.dtype(dtype).type(t.strip(" f")) for t in texts], array.ravel()
    )


def test_arrays_of_other_kinds() -> None:
    assert array_lines("bool", "m", np.array([True, False])) == ["bool m[2] = {1, 0};"]
    assert array_lines("double", "x", np.zeros((0, 3))) == ["double x[1] = {0};"]
    odd = np.array([np.nan, -np.inf, -0.0])
    (line,) = array_lines("double", "x", odd)
    assert line == 'double x[3] = {__builtin_nan(""), -__builtin_inf(), -0.0};'
    (line,) = array_lines("int64_t", "k", np.array([-(2**63), 2**63 - 1]))
    assert line == "int64_t k[2] = {(-9223372036854775807 - 1), 9223372036854775807};"
