"""Affine forms, and walks over nested statements."""

from __future__ import annotations

import random

from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Apply,
    Buffer,
    If,
    Let,
    Literal,
    Load,
    Loop,
    Scalar,
    Store,
    bodies,
    expressions,
    map_bodies,
    subexpressions,
    walk,
    with_bodies,
)

N, J = Scalar("i", "int64"), Scalar("j", "int64")


def value(form: Affine, i: int, j: int) -> int:
    return form.constant + sum(count * {N: i, J: j}[scalar] for scalar, count in form.terms)


def test_affine_forms_compute_like_numbers() -> None:
    draw = random.Random(1)
    for _ in range(50):
        a, b, c, i, j = (draw.randint(-4, 4) for _ in range(5))
        one, other = Affine.of(N, a) + b, Affine.of(J, c) + Affine.of(N, b)
        assert value(one + other, i, j) == value(one, i, j) + value(other, i, j)
        assert value(one * c, i, j) == c * value(one, i, j)
        replaced = one.substitute({N: Affine.of(J, 2) + 1})
        assert value(replaced, i, j) == value(one, 2 * j + 1, j)


def test_terms_that_cancel_disappear() -> None:
    assert (Affine.of(N) + Affine.of(N, -1)).terms == ()
    assert Affine.of(N, 3).without(N) == Affine()
    assert Affine.of(N, 3).coefficient(N) == 3 and Affine.of(N, 3).coefficient(J) == 0


def test_walks_reach_every_statement_and_expression() -> None:
    x, y = Buffer("x", "float64", 4, "input"), Buffer("y", "float64", 4, "output")
    total = Apply("add", (Load(x, Affine.of(N)), Literal(1.0, "float64")), "float64")
    store = Store(y, Affine.of(N), total)
    branch = If(Literal(True, "bool"), (store,), (Let(J, Literal(0, "int64")),))
    loop = Loop(N, 4, (branch,))
    assert [type(each).__name__ for each in walk((loop,))] == ["Loop", "If", "Store", "Let"]
    assert [type(each).__name__ for each in subexpressions(total)] == ["Load", "Literal", "Apply"]
    assert expressions(branch) == (Literal(True, "bool"),) and expressions(loop) == ()
    assert with_bodies(branch, bodies(branch)) is branch
    assert bodies(with_bodies(loop, ((store,),))) == ((store,),)
    assert map_bodies(branch, lambda body: body) is branch
    assert bodies(map_bodies(branch, lambda body: body[:0])) == ((), ())
    assert map_bodies(store, lambda body: ()) is store
