# ruff: noqa: E501  (IR text has lines of its own length)
"""Legal functions pass; each broken law is named with stage, function, line and operator."""

from __future__ import annotations

from dataclasses import replace

import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler.errors import InternalError
from autodiff_compiler.ir.nodes import Function, Op, Region, Value
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.parser import parse_functions
from autodiff_compiler.ir.types import FLOAT, INT
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.span import NOWHERE, Span

LEGAL = """\
func @g(%a: f32[?,3], %s: float) -> (f32[?,3]) {  # net.py:2
  %t: f32[?,3] = copy %a  # 3
  return %t
}

func @f(%x: f32[2,3], %xs: f32[b,3], %n: int) -> (f32[?,3], list[f32[?,3]]) {  # net.py:9
  %c: f32[?,3] = call @g(%x, 2)  # 10
  %h: f32[?,3], %tape: list[f32[?,3]], %count: int = for %k, %i in (0, %n, 1) carry (%p: f32[?,3] = %x) read (%r: f32[3] = %xs) {  # 11
    %t: (int, bool) = make_tuple %k, True  # 12
    %stop: bool = item %t {key=1}  # 12
    yield carry %c stack %p until %stop
  }
  %w: f32[?,3], %count.1: int = while %k.1 carry (%q: f32[?,3] = %h) test (%z: f32[?,3]) {  # 12
    yield True
  } do {
    yield carry %q
  }
  %v: f32[?,3] = if True {  # 13
    yield %x
  } else {
    yield %w
  }
  return %v, %tape
}
"""


def read(text: str) -> Function:
    return list(parse_functions(text, OPERATORS).values())[-1]


@pytest.mark.parametrize("stage", ["typed", "differentiated", "lowered", "typed: dce"])
def test_a_legal_function(stage: str) -> None:
    verify(read(LEGAL), stage)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("%t: f32[?,3] = copy %a", "%t: f32[2,3] = copy %a",
         "@g, line 3, copy: results are typed (f32[2,3]), not (f32[?,3])"),
        ("call @g(%x, 2)", "call @g(%x)", "@f, line 10, call: the number of operands"),
        ("call @g(%x, 2)", "call @g(%xs, 'a')", "parameter of type float is given a str"),
        ("%c: f32[?,3] = call", "%c: f32[2,3] = call", "line 10, call: results are typed"),
        ("%p: f32[?,3] = %x", "%p: f32[2,3] = %x", "line 11, for: carried results are typed"),
        ("= %x) read", "= %n) read", "a carry of type f32[?,3] is given a int"),
        ("carry %c stack", "carry %r stack", "a carry of type f32[?,3] is given a f32[3]"),
        ("carry %c stack %p ", "", "a yield is missing"),
        ("carry %c stack %p", "carry %c", "the results do not match the yields"),
        ("%tape: list[f32[?,3]], %count", "%tape: f32[?,3], %count", "is stacked but not a list"),
        ("%tape: list[f32[?,3]], %count", "%tape: list[f32[2,3]], %count", "a stack of type"),
        ("%r: f32[3] = %xs", "%r: f32[4] = %xs", "%r: f32[4] reads a f32[3]"),
        ("%r: f32[3] = %xs", "%r: f32[3] = %n", "a int cannot be iterated over"),
        ("until %stop", "until %k", "until is a int"),
        ("test (%z: f32[?,3])", "test ()", "the test does not see every carry"),
        ("yield True", "yield True, False", "the test must yield one value"),
        ("yield %w\n", "yield %w, %w\n", "line 13, if: the branches yield different numbers of values"),
        ("%v: f32[?,3] = if", "%v: f32[2,3] = if", "line 13, if: results are typed (f32[2,3])"),
        ("return %v", "return %stop", "@f: %stop: bool is used out of its region"),
        ("item %t {key=1}", "item %t {key=5}", "its definition refuses ((int, bool))"),
    ],
)  # fmt: skip
def test_broken_laws(old: str, new: str, message: str) -> None:
    assert old in LEGAL
    with pytest.raises(InternalError) as caught:
        verify(read(LEGAL.replace(old, new)), "typed: fold")
    assert str(caught.value).startswith("typed: fold: @")
    assert message in str(caught.value)


def unary(name: str, operand: object, result: Value, line: int = 4) -> Op:
    return Op(OPERATORS[name], (operand,), {}, (result,), Span("n.py", line, 1, 2, ""))


def function(*ops: Op, params: tuple[Value, ...] = ()) -> Function:
    return Function("f", Region(params, ops, ()), NOWHERE)


def test_definitions() -> None:
    x, y = Value(FLOAT, "x"), Value(FLOAT, "y")
    with pytest.raises(InternalError, match="line 4, copy: %x: float is used before it is defined"):
        verify(function(unary("copy", x, y)), "typed")
    with pytest.raises(InternalError, match="%x: float is defined twice"):
        verify(function(unary("copy", x, x), params=(x,)), "typed")
    with pytest.raises(InternalError, match=r"\[1\] is not a literal"):
        verify(function(unary("copy", [1], y)), "typed")


def test_every_op_has_a_place() -> None:
    x = Value(INT, "x")
    op = unary("copy", x, Value(INT, "y"))
    verify(function(replace(op, span=NOWHERE), params=(x,)), "typed")
    with pytest.raises(InternalError, match="no line of the source"):
        verify(function(replace(op, span=Span("net.py", 0, 1, 2, "")), params=(x,)), "typed")


GRAD = """\
func @g(%a: f32[2]) -> (f32[2]) {
  return %a
}

func @f(%x: f32[2]) -> (f32[2]) {
  %y: f32[2], %d: f32[2] = grad @g(%x) {sens=False, value=True, wrt=(0,)}
  return %d
}
"""


def test_stages() -> None:
    verify(read(GRAD), "typed")
    for stage in ("differentiated", "lowered"):
        with pytest.raises(
            InternalError, match=f"{stage}: @f, line 0, grad: a grad is not allowed"
        ):
            verify(read(GRAD), stage)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("wrt=(0,)", "wrt=(1,)", "wrt names no operand"),
        ("wrt=(0,)", "wrt=()", "the number of results"),
        ("sens=False", "sens=True", "the number of operands"),
    ],
)
def test_gradients(old: str, new: str, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        verify(read(GRAD.replace(old, new)), "typed")
