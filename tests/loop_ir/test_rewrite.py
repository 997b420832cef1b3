"""Rewrites reach expressions and positions in every statement."""

from __future__ import annotations

from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Buffer,
    If,
    Let,
    Literal,
    Load,
    Loop,
    Matrix,
    Position,
    Product,
    Read,
    Reserve,
    Scalar,
    Set,
    Store,
    While,
    walk,
)
from autodiff_compiler.loop_ir.rewrite import rewrite_body, substitute

N, K, T = Scalar("i", "int64"), Scalar("k", "int64"), Scalar("t", "float64", mutable=True)
X = Buffer("x", "float64", 100)
M = Matrix(X, Affine.of(N), (2, 1))
BODY = (
    Let(T, Load(X, Affine.of(N))),
    Loop(K, 3, (Set(T, Load(X, Affine.of(N, 3) + Affine.of(K)), "add"),)),
    While((Let(Scalar("c", "int64"), Read(N)),), Literal(False, "bool"), ()),
    If(Literal(True, "bool"), (Store(X, Affine.of(N), Read(T)),)),
    Product(M, M, M, 2, 2, 2),
    Reserve(X, Affine.of(N)),
)


def test_a_scalar_is_replaced_everywhere() -> None:
    moved = substitute(BODY, {N: Affine.of(K, 10) + 1})
    text = " ".join(repr(each) for each in walk(moved))
    assert "%i" not in text and "10*%k + 1" in text
    (let, *_) = moved
    assert isinstance(let, Let) and let.value == Load(X, Affine.of(K, 10) + 1)
    read = [each for each in walk(moved) if isinstance(each, Let)][-1]
    assert read.value == Position(Affine.of(K, 10) + 1)


def test_expressions_change_from_the_inside_outward() -> None:
    seen = []
    rewrite_body(BODY[:1], lambda each: seen.append(each) or each, lambda at: at + 1)
    assert seen == [Load(X, Affine.of(N) + 1)]
