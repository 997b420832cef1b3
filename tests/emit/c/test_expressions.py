"""The text of expressions in C, with the parentheses that C needs."""

from __future__ import annotations

import math

import pytest

from autodiff_compiler.emit.c.expressions import (
    _INLINE,
    INFIX,
    WRAPPING,
    ExpressionPrinter,
    literal,
)
from autodiff_compiler.emit.c.library import FUNCTIONS
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import SHORT
from autodiff_compiler.loop_ir.nodes import (
    DTYPES,
    Affine,
    Apply,
    Buffer,
    Expression,
    Literal,
    Load,
    Position,
    Read,
    Scalar,
)
from autodiff_compiler.loop_ir.operations import (
    EXPRESSIONS_OF_C,
    FUNCTIONS_OF_FLOATS,
    FUNCTIONS_OF_INTEGERS,
)

A, B, C = (Read(Scalar(name, "float32")) for name in "abc")
N, M = Scalar("n", "int64"), Scalar("m", "int64")


def op(name: str, *operands: Expression, dtype: str = "float32") -> Apply:
    return Apply(name, operands, dtype)


CASES = {
    "a - (b - c)": op("sub", A, op("sub", B, C)),
    "a - b - c": op("sub", op("sub", A, B), C),
    "(a + b) * c": op("mul", op("add", A, B), C),
    "a / (b * c)": op("div", A, op("mul", B, C)),
    "-(a + b)": op("neg", op("add", A, B)),
    "(a + b) * (a + b)": op("square", op("add", A, B)),
    "a < b ? a : b": op("select", op("less", A, B, dtype="bool"), A, B),
    "(float)n": op("cast", Read(N)),
    "a != 0.0f": op("cast", A, dtype="bool"),
    "exp_f32(a * b)": op("exp", op("mul", A, B)),
    "x[1024 * n + m - 3]": Load(Buffer("x", "float32", 9), Affine.of(N, 1024) + Affine.of(M) + -3),
    "mul_i64(n + 1, m)": op("mul", Position(Affine.of(N) + 1), Read(M), dtype="int64"),
    "n + 1 < m": op("less", Position(Affine.of(N) + 1), Read(M), dtype="bool"),
    "a < 0.0f ? 0.0f : a": op("relu", A),
    "n > m ? n : m": op("maximum", Read(N), Read(M), dtype="int64"),
}


@pytest.mark.parametrize("text", CASES)
def test_expressions(text: str) -> None:
    printer = ExpressionPrinter(lambda thing: thing.name)  # type: ignore[attr-defined]
    assert printer.text(CASES[text]) == text


def test_numbers_that_have_no_digits() -> None:
    assert literal(Literal(math.inf, "float32"))[0] == "__builtin_inff()"
    assert literal(Literal(-math.inf, "float64"))[0] == "-__builtin_inf()"
    assert literal(Literal(math.nan, "float64"))[0] == '__builtin_nan("")'
    assert literal(Literal(-(2**63), "int64"))[0] == "(-9223372036854775807 - 1)"


def test_functions_are_noted_in_order() -> None:
    printer = ExpressionPrinter(lambda thing: thing.name)  # type: ignore[attr-defined]
    printer.text(op("exp", op("sin", A)))
    assert [*printer.functions] == ["exp_f32", "sin_f32"] or [*printer.functions] == [
        "sin_f32",
        "exp_f32",
    ]


def test_operations_that_are_expressions_are_those_of_the_printer() -> None:
    assert {*INFIX, *_INLINE} - {"maximum", "minimum"} == EXPRESSIONS_OF_C
    assert WRAPPING <= FUNCTIONS_OF_INTEGERS


@pytest.mark.parametrize("dtype", [each for each in DTYPES if each != "bool"])
def test_operations_that_are_functions_are_in_the_library(dtype: str) -> None:
    known = FUNCTIONS_OF_FLOATS if dtype.startswith("float") else FUNCTIONS_OF_INTEGERS
    end = f"_{SHORT[dtype]}"
    library = {name.removesuffix(end) for name in FUNCTIONS if name.endswith(end)}
    assert known <= library
    assert library & {*OPERATORS} <= known
