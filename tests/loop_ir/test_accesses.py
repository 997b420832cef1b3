"""Summaries of statements, and the dependences between them."""

from __future__ import annotations

import pytest

from autodiff_compiler.loop_ir.accesses import Access, depends, span_within, summary_of
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Buffer,
    Call,
    Fail,
    Let,
    Literal,
    Load,
    Loop,
    Matrix,
    Part,
    Product,
    Read,
    Scalar,
    Set,
    Store,
)

N, K = Scalar("i", "int64"), Scalar("k", "int64")
T = Scalar("t", "float64", mutable=True)
X, Y = Buffer("x", "float64", 12), Buffer("y", "float64", 12)
ONE = Literal(1.0, "float64")
WRITE_X, READ_X = Store(X, Affine(), ONE), Let(Scalar("a", "float64"), Load(X, Affine(1)))
WRITE_Y = Store(Y, Affine(), ONE)

PAIRS = {
    "a read after a write": (READ_X, WRITE_X, True),
    "a write after a read": (WRITE_X, READ_X, True),
    "two reads": (READ_X, Let(Scalar("b", "float64"), Load(X, Affine(1))), False),
    "two buffers": (WRITE_Y, WRITE_X, False),
    "a scalar that is read": (Store(Y, Affine(), Read(T)), Set(T, ONE), True),
    "a scalar that is set later": (Set(T, ONE), Store(Y, Affine(), Read(T)), True),
    "inside a loop": (Loop(N, 3, (WRITE_X,)), READ_X, True),
    "two failures": (Fail(0), Fail(1), True),
    "a failure and a write": (Fail(0), WRITE_X, False),
    "a failure before a computed position": (Store(X, Affine.of(K), ONE), Fail(0), True),
    "a failure after a computed position": (Fail(0), Store(X, Affine.of(K), ONE), False),
    "a failure before positions of a loop": (
        Loop(N, 3, (Store(X, Affine.of(N), ONE),)),
        Fail(0),
        False,
    ),
    "the index of a store": (Store(Y, Affine.of(K), ONE), Let(K, Literal(1, "int64")), True),
}


@pytest.mark.parametrize("name", PAIRS)
def test_dependences(name: str) -> None:
    later, earlier, expected = PAIRS[name]
    assert depends(later, earlier) is expected


def test_a_product_accesses_the_whole_of_its_matrices() -> None:
    a, b = Matrix(X, Affine(2), (4, 1)), Matrix(Y, Affine(), (1, 3))
    found = summary_of(Product(Matrix(Y, Affine(), (2, 1)), a, b, 3, 2, 4)).accesses
    assert [(each.buffer, each.low, each.high, each.writes) for each in found] == [
        (X, 0, 11, False),
        (Y, 0, 6, False),
        (Y, 0, 5, True),
    ]


def test_a_call_reads_and_writes_the_parts_that_it_changes() -> None:
    call = Call("f_f64", (), (Part(Y, Affine(1), 4),), (Part(X, Affine.of(N), 3),), 0)
    found = summary_of(call)
    assert [(each.buffer, each.low, each.high, each.writes) for each in found.accesses] == [
        (Y, 0, 3, False),
        (X, 0, 2, False),
        (Y, 0, 3, True),
    ]
    assert found.scalars_read == {N} and found.may_fail


def test_spans_take_the_bounds_of_inner_loops() -> None:
    inner = Loop(K, 4, ())
    access = Access(X, Affine.of(N, 4) + Affine.of(K, -1) + 3, 0, 0, False, "", (inner,))
    assert span_within(access, (N,)) == (Affine.of(N, 4), 0, 3)
    assert span_within(access, (N, K)) == (Affine.of(N, 4) + Affine.of(K, -1), 3, 3)
    assert span_within(access, ()) is None  # the bounds of i are not known
