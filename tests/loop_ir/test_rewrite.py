"""Rewrites reach expressions and positions in every statement."""

from __future__ import annotations

from autodiff_compiler.loop_ir.accesses import summary_of
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Buffer,
    Call,
    Fail,
    Function,
    If,
    Let,
    Literal,
    Load,
    Loop,
    Matrix,
    Part,
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
from autodiff_compiler.loop_ir.rewrite import (
    changed_body,
    map_statements,
    relocated,
    renewed,
    rewrite_body,
    rewrite_head,
    rewrite_loops,
    substitute,
    with_scalars,
    without_statements,
)
from tests.loop_ir.same import facts

N, K, T = Scalar("i", "int64"), Scalar("k", "int64"), Scalar("t", "float64", mutable=True)
X = Buffer("x", "float64", 100)
M = Matrix(X, Affine.of(N), (2, 1))
BODY = (
    Let(T, Load(X, Affine.of(N))),
    Loop(K, 3, (Set(T, Load(X, Affine.of(N, 3) + Affine.of(K)), "add"),)),
    While((Let(Scalar("c", "int64"), Read(N)),), Literal(False, "bool"), ()),
    If(Literal(True, "bool"), (Store(X, Affine.of(N), Read(T)),)),
    Product(M, M, M, 2, 2, 2),
    Call("f_f64", (2,), (Part(X, Affine.of(N), 3),), (Part(X, Affine.of(N, 2), 3),)),
    Fail(0, details=(Position(Affine.of(N)),)),
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


def test_a_renewed_body_defines_scalars_of_its_own() -> None:
    before = [each for each in walk(BODY) if isinstance(each, (Let, Loop))]
    after = [each for each in walk(renewed(BODY)) if isinstance(each, (Let, Loop))]
    for one, other in zip(before, after, strict=True):
        name = "scalar" if isinstance(one, Let) else "index"
        assert getattr(one, name) is not getattr(other, name)
        assert getattr(one, name).name == getattr(other, name).name
    assert facts(Function("f", (), (), renewed(BODY))) == facts(Function("f", (), (), BODY))


def test_elements_are_relocated_everywhere() -> None:
    other = Buffer("y", "float64", 200)
    after = tuple(relocated(each, lambda _, at: (other, at + 100)) for each in BODY)
    before = [access for each in BODY[:-1] for access in summary_of(each).accesses]
    moved = [access for each in after[:-1] for access in summary_of(each).accesses]
    assert moved and [a.at for a in moved] == [a.at + 100 for a in before]
    assert {a.buffer for each in after for a in summary_of(each).accesses} == {other}


def test_a_head_changes_without_its_bodies() -> None:
    branch = If(Read(T), (Store(X, Affine.of(N), Read(T)),))
    after = rewrite_head(branch, lambda each: Literal(True, "bool"), lambda at: at + 1)
    assert isinstance(after, If) and after.condition == Literal(True, "bool")
    assert after.then is branch.then


def test_other_scalars_are_read_in_expressions_and_positions() -> None:
    other = Scalar("j", "int64")
    after = with_scalars(Store(X, Affine.of(N, 2), Position(Affine.of(N))), {N: other})
    assert isinstance(after, Store)
    assert after.at == Affine.of(other, 2) and after.value == Position(Affine.of(other))


def test_statements_change_from_the_inside_outward() -> None:
    seen = []
    assert map_statements(BODY, lambda each: seen.append(type(each).__name__) or each) is BODY
    assert " ".join(seen[:4]) == "Let Set Loop Let" and len(seen) == len([*walk(BODY)])


def test_loops_are_replaced_from_the_inside_outward() -> None:
    inner = Loop(K, 3, (Set(T, Literal(1.0, "float64"), "add"),))
    outer = Loop(N, 4, (inner, If(Literal(True, "bool"), (inner,))))
    seen = []

    def change(loop: Loop) -> tuple[Loop, ...]:
        seen.append(loop.index.name)
        return (loop, loop) if loop.index is K else (loop,)

    (after,) = rewrite_loops((outer,), change)
    assert seen == ["k", "k", "i"] and isinstance(after, Loop)
    inside = " ".join(type(each).__name__ for each in walk(after.body))
    assert inside == "Loop Set Loop Set If Loop Set Loop Set"
    assert rewrite_loops(BODY, lambda loop: (loop,)) is BODY


def test_statements_go_with_the_loops_and_branches_that_they_leave_empty() -> None:
    after = without_statements(BODY, lambda each: isinstance(each, (Set, Store)))
    left = [type(each).__name__ for each in after]
    assert left == "Let While Product Call Fail Reserve".split()
    assert without_statements(BODY, lambda each: False) is BODY
    assert changed_body(BODY, list(BODY)) is BODY
