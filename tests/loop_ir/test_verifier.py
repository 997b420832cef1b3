"""Each law of loop nests: a function that breaks it is refused, and a legal one is not."""

from __future__ import annotations

import pytest

from autodiff_compiler.errors import InternalError
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Apply,
    Body,
    Buffer,
    Call,
    Function,
    Let,
    Literal,
    Load,
    Loop,
    Part,
    Read,
    Scalar,
    Set,
    Store,
)
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.loop_ir.verifier import verify_nests
from tests.loop_ir.random_nests import random_nests

LEGAL = """\
func f(x: f64[24], n: i64, at: i64) -> (out: f64[4]) {
  alloc row: f64[6] at 0
  alloc next: f64[6] at 64
  alloc tape: f64[*]
  const table: f64[2] = [1.0, 2.0]
  for i in 0:4 {
    for j in 0:6 {
      row[j] = x[6*i + j] * 2.0
    }
    for j in 0:6 {
      next[j] = row[5 - j]
    }
    out[i] = next[0] + table[1]
  }
  reserve tape to 3*n
  serial for k in 0:n {
    tape[3*k] = x[at]
    if at < 24 {
      out[0] += x[23] + tape[k]
    }
  }
}
"""


def test_a_legal_function_is_accepted() -> None:
    verify_nests(read_nests(LEGAL.replace("row[5 - j]", "row[-j + 5]")))


@pytest.mark.parametrize("seed", range(10))
def test_random_nests_are_legal(seed: int) -> None:
    verify_nests(random_nests(seed)[0])


#: A line of the legal function, what stands in its place, and the law that it then breaks.
CHANGES = {
    "an input is written": ("out[i] = next[0]", "x[i] = next[0]", "@x is only read"),
    "a table is written": ("out[i] = next[0]", "table[0] = next[0]", "@table is only read"),
    "beyond the end": ("x[6*i + j]", "x[6*i + j + 1]", r"@x\[1:25\] is outside its 24 elements"),
    "before the start": ("next[0] +", "next[-i] +", r"@next\[-3:1\] is outside"),
    "another dtype": ("x[6*i + j] * 2.0", "f32(x[6*i + j])", "is a float64, not a float32"),
    "operands of two dtypes": ("at < 24", "less:bool(at, 2.0)", "less of int64, float64 is no"),
    "no bool": ("at < 24", "at + 24", "the condition is no bool"),
    "a float as position": (
        "x[6*i + j] * 2.0",
        "x[6*i + j]\n      let a: f64 = x[0]\n      row[a] = 1.0",
        "%a in a position is no int64",
    ),
    "no index": ("n: i64, at: i64", "n: f64, at: i64", "no int64|no extent"),
    "a buffer that has a size": ("reserve tape", "reserve row", "@row does not grow"),
    "two arrays in one place": ("next: f64[6] at 64", "next: f64[6] at 0", "in the same bytes"),
    "bytes in the middle": ("next: f64[6] at 64", "next: f64[6] at 40", "@next is not aligned"),
    "missing elements": ("table: f64[2]", "table: f64[3]", "@table lacks elements"),
    "an unknown error": ("out[i] = next[0] + table[1]", "fail 0", "there is no error 0"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_laws(name: str) -> None:
    line, other, law = CHANGES[name]
    text = LEGAL.replace("row[5 - j]", "row[-j + 5]")
    assert line in text
    function = read_nests(text.replace(line, other))
    with pytest.raises(InternalError, match=law):
        verify_nests(function, "after a pass")


X, OUT = Buffer("x", "float64", 4, "input"), Buffer("out", "float64", 4, "output")
INDEX, A = Scalar("i", "int64"), Scalar("a", "float64")
ONE, HERE = Literal(1.0, "float64"), Affine()
USE = Store(OUT, HERE, Read(A))
#: Bodies that no text can say.
BODIES: dict[str, tuple[Body, str]] = {
    "a use before its definition": ((USE, Let(A, ONE)), "%a is not defined here"),
    "a use after its scope": ((Loop(INDEX, 4, (Let(A, ONE),)), USE), "%a is not defined here"),
    "an index after its loop": (
        (Loop(INDEX, 4, ()), Store(OUT, Affine.of(INDEX), ONE)),
        "%i is not defined here",
    ),
    "two definitions": ((Let(A, ONE), Let(A, ONE)), "%a is defined twice"),
    "two loops in one": ((Loop(INDEX, 4, (Loop(INDEX, 4, ()),)),), "%i is defined twice"),
    "an index that changes": (
        (Loop(INDEX, 4, (Set(INDEX, Literal(1, "int64")),)),),
        "%i may not change",
    ),
    "a constant that changes": ((Let(A, ONE), Set(A, ONE)), "%a may not change"),
    "a change before the definition": ((Set(Scalar("b", "float64", True), ONE),), "not defined"),
    "another combination": (
        (Let(B := Scalar("b", "float64", True), ONE), Set(B, ONE, "sub")),
        "there is no sub",
    ),
    "an input of another function": (
        (Store(OUT, HERE, Load(Buffer("y", "float64", 4, "input"), HERE)),),
        "@y is no parameter",
    ),
    "a call that changes an input": (
        (Call("f_f64", (), (Part(X, HERE, 2),), ()),),
        "@x is only read",
    ),
    "a call on one part twice": (
        (Call("f_f64", (), (Part(OUT, HERE, 2),), (Part(OUT, HERE + 2, 2),)),),
        "parts meet",
    ),
    "a part that is too long": (
        (Call("f_f64", (), (Part(OUT, HERE + 2, 20),), ()),),
        "is outside its",
    ),
    "a call with an unknown error": (
        (Call("f_f64", (), (Part(OUT, HERE, 2),), (), 3),),
        "there is no error 3",
    ),
    "an unknown dtype": (
        (Store(OUT, HERE, Apply("cast", (Literal(1, "float16"),), "float64")),),
        "there is no dtype float16",
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_laws_of_scopes(name: str) -> None:
    body, law = BODIES[name]
    with pytest.raises(InternalError, match=law):
        verify_nests(Function("f", (X,), (OUT,), body))


def test_parameters_have_their_roles() -> None:
    twice = Function("f", (X, X), (OUT,), ())
    with pytest.raises(InternalError, match="listed twice"):
        verify_nests(twice)
    with pytest.raises(InternalError, match="@x is input, not output"):
        verify_nests(Function("f", (), (X,), ()))
