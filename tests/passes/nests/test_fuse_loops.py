"""Loops are fused where each iteration needs only its own elements, and nowhere else."""

from __future__ import annotations

import pytest

from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Apply,
    Body,
    Buffer,
    Expression,
    Function,
    Let,
    Literal,
    Load,
    Loop,
    Read,
    Scalar,
    Set,
    Store,
)
from autodiff_compiler.passes.nests.fuse_loops import fuse_loops

A, B, OUT = (Buffer(name, "float64", 100) for name in ("a", "b", "out"))
TOTAL = Scalar("total", "float64", mutable=True)


def loop(buffer: Buffer, source: Buffer, move: int = 0, extent: int = 10, step: int = 1,
         combine: str = "") -> Loop:  # fmt: skip
    """A loop that writes ``buffer[i] = source[step * i + move] + 1``."""
    index = Scalar("i", "int64")
    value = plus_one(Load(source, Affine.of(index, step) + move))
    return Loop(index, extent, (Store(buffer, Affine.of(index), value, combine),))


def plus_one(value: Expression) -> Expression:
    return Apply("add", (value, Literal(1.0, "float64")), "float64")


def total_of(source: Buffer) -> Loop:
    index = Scalar("i", "int64")
    return Loop(index, 10, (Set(TOTAL, Load(source, Affine.of(index)), "add"),))


def scaled_by_total(source: Buffer) -> Loop:
    index = Scalar("i", "int64")
    value = Apply("mul", (Load(source, Affine.of(index)), Read(TOTAL)), "float64")
    return Loop(index, 10, (Store(OUT, Affine.of(index), value),))


X = Buffer("x", "float64", 100, "input")
COUNT = Scalar("count", "int64")


def adds(move: int, step: int = 1, extent: int | Scalar = 10) -> Loop:
    """A loop that adds to the elements of ``a`` at ``step * i + move``."""
    index = Scalar("i", "int64")
    at = Affine.of(index, step) + move
    return Loop(index, extent, (Store(A, at, Load(X, Affine.of(index)), "add"),))


def of_rows(move: int) -> Loop:
    """Two loops that add to rows of ``a``."""
    index, inner = Scalar("i", "int64"), Scalar("j", "int64")
    at = Affine.of(index, 10) + Affine.of(inner) + move
    add = Store(A, at, Load(X, Affine.of(inner)), "add")
    return Loop(index, 5, (Loop(inner, 10, (add,)),))


CASES: dict[str, tuple[Body, int]] = {
    "the same element": ((loop(A, X), loop(B, A)), 1),
    "three in a row": ((loop(A, X), loop(B, A), loop(OUT, B)), 1),
    "the element after": ((loop(A, X), loop(B, A, move=1)), 2),
    "the element before": ((loop(A, X), loop(B, A, move=-1)), 2),
    "reversed": ((loop(A, X), loop(B, A, move=9, step=-1)), 2),
    "another extent": ((loop(A, X), loop(B, A, extent=9)), 2),
    "a read that is overwritten": ((loop(B, A, move=1), loop(A, X)), 2),
    "one input": ((loop(A, X), loop(B, X, move=3)), 1),
    "nothing in common": ((loop(A, X), loop(B, OUT)), 2),
    "a sum and its use": ((total_of(A), scaled_by_total(A)), 2),
    "one between that needs the first": ((loop(A, X), total_of(A), scaled_by_total(A)), 2),
    "sums into one array": ((loop(A, X, combine="add"), loop(A, X, move=2, combine="add")), 1),
    "sums into shifted elements": ((adds(0), adds(1)), 2),
    "sums into elements far away": ((adds(0), adds(10)), 1),
    "sums into even and odd elements": ((adds(0, step=2), adds(1, step=2)), 1),
    "sums in opposite order": ((adds(0), adds(9, step=-1)), 2),
    "sums into one element": ((adds(0, step=0), adds(3, step=0)), 1),
    "sums into shifted rows": ((of_rows(0), of_rows(10)), 1),
    "sums of runtime length": ((adds(0, extent=COUNT), adds(10, extent=COUNT)), 2),
}


@pytest.mark.parametrize("name", CASES)
def test_fusion(name: str) -> None:
    body, expected = CASES[name]
    after = fuse_loops(Function("f", (X,), (OUT,), body)).body
    assert sum(isinstance(each, Loop) for each in after) == expected


def test_statements_between_move_out_of_the_way() -> None:
    free, bound = Scalar("free", "float64"), Scalar("bound", "float64")
    body = (
        loop(A, X),
        Let(free, Load(X, Affine(5))),
        Let(bound, Load(A, Affine(5))),
        loop(B, A),
    )
    names = [
        each.scalar.name if isinstance(each, Let) else "loop"
        for each in fuse_loops(Function("f", (X,), (B,), body)).body
    ]
    assert names == ["free", "loop", "bound"]


def test_nothing_to_fuse_is_the_same_object() -> None:
    function = Function("f", (X,), (A,), (loop(A, X),))
    assert fuse_loops(function) is function
