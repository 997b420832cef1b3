"""Temporaries of one element become scalars, if they are written before they are read."""

from __future__ import annotations

from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Body,
    Buffer,
    Function,
    If,
    Let,
    Literal,
    Load,
    Loop,
    Scalar,
    Set,
    Store,
    walk,
)
from autodiff_compiler.passes.nests.promote_to_scalars import promote_to_scalars

X, OUT = Buffer("x", "float64", 8, "input"), Buffer("out", "float64", 8, "output")
T = Buffer("t", "float64", 1)
N = Scalar("i", "int64")
HERE, ZERO = Affine(), Literal(0.0, "float64")
USE = Store(OUT, Affine.of(N), Load(T, HERE))


def kinds(*body: object) -> list[str]:
    function: Function = promote_to_scalars(Function("f", (X,), (OUT,), body))  # type: ignore[arg-type]
    return [type(each).__name__ for each in walk(function.body)]


def test_a_store_defines_a_scalar() -> None:
    body: Body = (Store(T, HERE, Load(X, Affine.of(N))), USE)
    assert kinds(Loop(N, 8, body)) == ["Loop", "Let", "Store"]


def test_a_sum_is_a_scalar_that_changes() -> None:
    total = Store(T, HERE, Load(X, Affine.of(N)), "add")
    body = Store(T, HERE, ZERO), Loop(N, 8, (total,)), Store(OUT, HERE, Load(T, HERE))
    after = promote_to_scalars(Function("f", (X,), (OUT,), body)).body
    (let, loop, _) = after
    assert isinstance(let, Let) and let.scalar.mutable
    assert isinstance(loop, Loop) and isinstance(loop.body[0], Set)


def test_a_store_in_a_branch_defines_nothing_outside() -> None:
    branch = If(Literal(True, "bool"), (Store(T, HERE, ZERO),), (Store(T, HERE, ZERO),))
    assert "Let" not in kinds(branch, Store(OUT, HERE, Load(T, HERE)))


def test_what_is_read_first_stays_in_memory() -> None:
    assert "Let" not in kinds(Loop(N, 8, (USE, Store(T, HERE, ZERO))))
