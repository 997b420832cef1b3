"""Temporaries keep room for one iteration, if no other iteration reads them."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.loop_ir.accesses import local_buffers, summary_of
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Body,
    Buffer,
    Function,
    Load,
    Loop,
    Scalar,
    Statement,
    Store,
)
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.loop_ir.verifier import verify_nests
from autodiff_compiler.passes.nests.contract_arrays import contract_arrays
from tests.loop_ir.interpreter import run_nests

X, OUT = Buffer("x", "float64", 24, "input"), Buffer("out", "float64", 24, "output")
N, J, K = (Scalar(name, "int64") for name in "ijk")


def sizes(body: Body) -> dict[str, int]:
    function = contract_arrays(Function("f", (X,), (OUT,), body))
    found = {a.buffer for each in function.body for a in summary_of(each).accesses}
    return {buffer.name: buffer.size for buffer in found if buffer.role == "temporary"}


def copy(to: Buffer, of: Buffer, at: Affine, source: Affine | None = None) -> Statement:
    return Store(to, at, Load(of, at if source is None else source))


def rows(*bodies: Body) -> Loop:
    return Loop(N, 4, tuple(each for body in bodies for each in body))


def test_a_row_is_kept_for_two_loops_in_an_iteration() -> None:
    t = Buffer("t", "float64", 24)
    first = Loop(J, 6, (copy(t, X, Affine.of(N, 6) + Affine.of(J)),))
    second = Loop(K, 6, (copy(OUT, t, Affine.of(N, 6) + Affine.of(K)),))
    assert sizes((rows((first, second)),)) == {"t": 6}


def test_one_element_is_kept_within_one_loop() -> None:
    t = Buffer("t", "float64", 24)
    at = Affine.of(N, 6) + Affine.of(J)
    assert sizes((rows((Loop(J, 6, (copy(t, X, at), copy(OUT, t, at))),)),)) == {"t": 1}


def test_all_is_kept_for_another_loop() -> None:
    t = Buffer("t", "float64", 24)
    at = Affine.of(N)
    loops = Loop(N, 24, (copy(t, X, at),)), Loop(J, 24, (copy(OUT, t, Affine.of(J)),))
    assert sizes(loops) == {"t": 24}


def test_all_is_kept_for_another_iteration() -> None:
    t = Buffer("t", "float64", 24)
    body = copy(t, X, Affine.of(N)), copy(OUT, t, Affine.of(N), Affine.of(N) + -1)
    assert sizes((Loop(N, 24, body),)) == {"t": 24}


HEAD = """\
func f(x: f64[24], n: i64) -> (y: f64[24]) {
  alloc state: f64[6]
  alloc t: f64[24]
"""
#: Bodies, and the size of ``t`` after the pass; 0 if it is gone.
STEPS = {
    # each step writes the element before it reads it
    "serial for k in 0:4 {\n for i in 0:6 {\n t[i] = exp(x[i])\n y[6*k + i] = t[i]\n }\n }": 1,
    "serial for k in 0:n {\n for i in 0:6 {\n t[i] = exp(x[i])\n y[i] = t[i]\n }\n }": 1,
    # it reads what the step before wrote
    "for i in 0:6 {\n t[i] = 1.0\n }\n serial for k in 0:4 {\n for i in 0:6 {\n y[6*k + i] = t[i]\n"
    " t[i] = exp(x[6*k + i])\n }\n }": 24,
    "serial for k in 0:4 {\n for i in 0:6 {\n t[i] += x[6*k + i]\n y[6*k + i] = t[i]\n }\n }": 24,
    # a loop between two that the position names
    "for i in 0:3 {\n serial for k in 0:4 {\n for j in 0:2 {\n t[2*i + j] = x[2*i + j + 6*k]\n"
    " y[6*k + 2*i + j] = t[2*i + j]\n }\n }\n }": 1,
    # a row that is filled for each step, and one that is not
    "serial for k in 0:4 {\n for i in 0:3 {\n for j in 0:2 {\n t[2*i + j] = x[2*i + j + 6*k]\n }\n"
    " for j in 0:2 {\n y[6*k + 2*i + j] = t[2*i - j + 1]\n }\n }\n }": 2,
    "serial for k in 0:4 {\n for i in 0:3 {\n t[2*i] = x[2*i + 6*k]\n"
    " for j in 0:2 {\n y[6*k + 2*i + j] = t[2*i - j + 1]\n t[2*i - j + 1] = 2.0\n }\n }\n }": 24,
    # two loops of a step
    "serial for k in 0:4 {\n for i in 0:6 {\n t[i] = x[6*k + i]\n }\n"
    " for i in 0:6 {\n y[6*k + i] = t[-i + 5]\n }\n }": 24,
    # iterations that meet in one element: only the later ones write it first
    "for i in 0:4 {\n for j in 0:3 {\n t[i + j] = x[6*i + j]\n y[6*i + j] = t[i + j]\n }\n }": 1,
    "for i in 0:4 {\n for j in 0:3 {\n y[6*i + j] = t[i + j]\n t[i + j] = x[6*i + j]\n }\n }": 24,
}


@pytest.mark.parametrize("text", STEPS)
def test_steps_of_time(text: str) -> None:
    function = read_nests(HEAD + text + "\n}")
    after = contract_arrays(function)
    verify_nests(after)
    local = {buffer.name: buffer.size for buffer in local_buffers(after)}
    assert local["t"] == STEPS[text]
    inputs = [np.arange(24.0) / 7.0, 3]
    for wanted, result in zip(run_nests(function, inputs), run_nests(after, inputs), strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_the_heat_equation_has_one_array_for_its_bends() -> None:
    """A step in time stores the heat and its second difference, and no term of either."""

    def heat(u, rate):
        for _ in range(5):
            bend = np.zeros_like(u)
            bend[1:-1] = u[2:] - 2 * u[1:-1] + u[:-2]
            u = u + rate * bend
        return u

    u, rate = np.sin(np.arange(9.0)), 0.1
    text = ms.gradient_source(heat, u, rate, target="c", mode="value", stage="nests")
    function = read_nests(text)
    assert [each.size for each in local_buffers(function)] in ([9], [9, 9])
    bends = np.diag(np.full(8, 1.0), -1) + np.diag(np.full(8, 1.0), 1) - 2 * np.eye(9)
    bends[[0, -1]] = 0.0
    step = np.eye(9) + rate * bends
    (result,) = run_nests(function, [u, rate])
    np.testing.assert_allclose(result, np.linalg.matrix_power(step, 5) @ u, rtol=1e-13)


def test_what_nothing_reads_is_removed() -> None:
    t, u = Buffer("t", "float64", 24), Buffer("u", "float64", 24)
    at = Affine.of(N)
    assert sizes((Loop(N, 24, (copy(t, X, at), copy(u, t, at), copy(OUT, X, at))),)) == {}
