"""The text of loop nests: each statement and expression has one form."""

from __future__ import annotations

import pytest

from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Apply,
    Body,
    Buffer,
    Expression,
    Fail,
    Function,
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
)
from autodiff_compiler.loop_ir.printer import print_nests
from autodiff_compiler.span import Span

X, OUT = Buffer("x", "float64", 24, "input"), Buffer("out", "float64", 24, "output")
INDEX, J, K = (Scalar(name, "int64") for name in "ijk")
N, T = Scalar("n", "int64"), Scalar("t", "float64", mutable=True)
A, B, C = (Scalar(name, "float64") for name in "abc")
ONE = Literal(1.0, "float64")


def lines(*body: object, **facts: object) -> list[str]:
    function = Function("f", (X, N), (OUT,), body, **facts)  # type: ignore[arg-type]
    head, *inner, end = print_nests(function).splitlines()
    assert head == "func f(x: f64[24], n: i64) -> (out: f64[24]) {" and end == "}"
    return [line.removeprefix("  ") for line in inner]


def text(expression: Expression) -> str:
    return lines(Let(T, expression))[-1].partition(" = ")[2]


def sum_of(*operands: Expression, name: str = "add", dtype: str = "float64") -> Apply:
    return Apply(name, operands, dtype)


RA, RB, RC = Read(A), Read(B), Read(C)
EXPRESSIONS: dict[str, Expression] = {
    "%a + %b * %c": sum_of(RA, sum_of(RB, RC, name="mul")),
    "(%a + %b) * %c": sum_of(sum_of(RA, RB), RC, name="mul"),
    "%a - (%b - %c)": sum_of(RA, sum_of(RB, RC, name="sub"), name="sub"),
    "%a - %b - %c": sum_of(sum_of(RA, RB, name="sub"), RC, name="sub"),
    "-%a * -(%b + %c)": sum_of(
        sum_of(RA, name="neg"), sum_of(sum_of(RB, RC), name="neg"), name="mul"
    ),
    "neg(2.0)": sum_of(Literal(2.0, "float64"), name="neg"),
    "%a < %b and isnan(%c)": Apply(
        "logical_and",
        (sum_of(RA, RB, name="less", dtype="bool"), sum_of(RC, name="isnan", dtype="bool")),
        "bool",
    ),
    "pow:f64(%a, 2)": sum_of(RA, Literal(2, "int64"), name="pow"),
    "select(True, %a, exp(%b))": sum_of(
        Literal(True, "bool"), RA, sum_of(RB, name="exp"), name="select"
    ),
    "f32(%a) + 0.5_f32": sum_of(
        Apply("cast", (RA,), "float32"), Literal(0.5, "float32"), dtype="float32"
    ),
    "-inf": Literal(float("-inf"), "float64"),
    "-3_i8": Literal(-3, "int8"),
    "x[6*%i - %j + 2]": Load(X, Affine.of(INDEX, 6) + Affine.of(J, -1) + 2),
    "x[0]": Load(X, Affine()),
    "index(-%i + 5)": Position(Affine.of(INDEX, -1) + 5),
}


@pytest.mark.parametrize("expected", EXPRESSIONS)
def test_expressions(expected: str) -> None:
    assert text(EXPRESSIONS[expected]) == expected


def test_statements() -> None:
    row = Buffer("row", "float64", 6)
    tape, table = (
        Buffer("tape", "float64", 0, grows=True),
        Buffer("table", "int32", 2, "constant", (3, -4)),
    )
    inner: Body = (
        Store(row, Affine.of(J), Load(X, Affine.of(INDEX, 6) + Affine.of(J))),
        Set(T, Load(row, Affine.of(J)), "maximum"),
    )
    whole = Matrix(X, Affine(), (6, 1))
    body = (
        Let(T, ONE),
        Loop(INDEX, 4, (Loop(J, 6, inner),)),
        Loop(K, N, (Reserve(tape, Affine.of(K) + 1), Store(tape, Affine.of(K), Read(T))), False),
        While(
            (Let(A, Load(tape, Affine())),),
            sum_of(Read(A), ONE, name="less", dtype="bool"),
            (Set(T, ONE, "mul"),),
        ),
        If(Literal(True, "bool"), (Fail(0),), (Set(T, ONE),)),
        Product(Matrix(OUT, Affine(2), (1, 4)), whole, whole, 4, 2, 6, True),
        Store(OUT, Affine(), Apply("cast", (Load(table, Affine(1)),), "float64"), "add"),
    )
    printed = lines(*body, errors=(("ValueError", "no 'x'"),), offsets=((row, 64),))
    assert printed == [
        "error 0: 'ValueError', \"no 'x'\"",
        "alloc row: f64[6] at 64",
        "alloc tape: f64[*]",
        "const table: i32[2] = [3, -4]",
        "var t: f64 = 1.0",
        "for i in 0:4 {",
        "  for j in 0:6 {",
        "    row[j] = x[6*i + j]",
        "    t max= row[j]",
        "  }",
        "}",
        "serial for k in 0:n {",
        "  reserve tape to k + 1",
        "  tape[k] = t",
        "}",
        "loop {",
        "  let a: f64 = tape[0]",
        "  break unless a < 1.0",
        "  t *= 1.0",
        "}",
        "if True {",
        "  fail 0",
        "} else {",
        "  t = 1.0",
        "}",
        "out[2; 4x2 by 1,4] += x[0; 4x6 by 6,1] @ x[0; 6x2 by 6,1]",
        "out[0] += f64(table[1])",
    ]


def test_names_are_free_again_after_their_scope() -> None:
    loops = [Loop(Scalar("i", "int64"), 2, (Let(Scalar("a", "float64"), ONE),)) for _ in "ab"]
    assert [line.strip() for line in lines(*loops)] == 2 * [
        "for i in 0:2 {",
        "let a: f64 = 1.0",
        "}",
    ]


def test_a_name_that_is_visible_gets_a_suffix() -> None:
    names = ["x", "for", "2nd", "a.3", "a b"]
    printed = lines(*(Let(Scalar(name, "float64"), ONE) for name in names))
    assert [line.split()[1] for line in printed] == ["x.1:", "for.1:", "_2nd:", "a.3.1:", "a_b:"]


def test_comments_hold_lines() -> None:
    here, there = Span("/a/net.py", 7, 1, 2, ""), Span("/a/other.py", 9, 1, 2, "")
    body = (Let(A, ONE, here), Let(B, ONE, there))
    printed = print_nests(Function("f", (), (), body, title="Net.construct", span=here))
    assert [line.partition("# ")[2] for line in printed.splitlines()] == [
        "title='Net.construct'",
        "net.py:7",
        "7",
        "other.py:9",
        "",
    ]
