"""Temporaries keep room for one iteration, if no other iteration reads them."""

from __future__ import annotations

from autodiff_compiler.loop_ir.accesses import summary_of
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
from autodiff_compiler.passes.nests.contract_arrays import contract_arrays

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


def test_what_nothing_reads_is_removed() -> None:
    t, u = Buffer("t", "float64", 24), Buffer("u", "float64", 24)
    at = Affine.of(N)
    assert sizes((Loop(N, 24, (copy(t, X, at), copy(u, t, at), copy(OUT, X, at))),)) == {}
