# ruff: noqa: E501  (IR text has lines of its own length)
"""Printer and parser are inverses, on examples and on random functions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler.ir.nodes import Function, Loop, Op, Region, Value
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.parser import parse_functions
from autodiff_compiler.ir.printer import print_function, print_functions
from autodiff_compiler.ir.types import FLOAT, INT, array
from autodiff_compiler.span import NOWHERE, Span

DECAY = """\
# title='Decay.construct', role='forward', order=1
func @decay(%x!: f32[2,3], %xs: f32[b,2], %n!: int) -> (f32[2,3], list[f32[2,3]], float) {  # decay.py:9
  %h!: f32[2,3], %tape: list[f32[2,3]], %count: int = for %k, %i! in (0, %n, 1) carry (%h_in: f32[2,3] = %x) read (%r: f32[2] = %xs) reverse {  # 11
    %s: f32[] = sum %h_in {axes=(0, 1), keepdims=False}  # 12
    %b: bool = item %s {key='#}'}                        # other.py:13 adjoint
    %u: f32[2,3] = if %b {                               # 14 tangent
      %a: f32[2,3] = reshape %h_in {shape=(2, 3)}        # adjoint
      yield %a
    } else {
      yield %h_in
    }
    yield carry %u stack %h_in until %b
  }
  return %h, %tape, -1e-05
}
"""

WHILE = """\
func @f(%x: f32[?,3]) -> (f32[?,3], f32[...]) {
  %y: f32[?,3], %count: int = while %k carry (%c: f32[?,3] = %x) test (%t: f32[?,3]) {
    %go: bool = item %t {key=0}
    yield %go
  } do {
    yield carry %c
  }
  %d: {'k': f32[2], 1: (int,)} = make_dict %y, 'a, #b', None, True, inf {keys=('k', 1)}
  return %y, %x
}

func @g(%x: f32[?,3]) -> (f32[?,3]) {
  %y: f32[?,3], %y.1: f32[?,3] = call @f(%x)
  return %y
}
"""


def reprint(text: str) -> str:
    functions = parse_functions(text, OPERATORS)
    return "\n".join(print_function(function) for function in functions.values())


def squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


@pytest.mark.parametrize("text", [DECAY, WHILE.replace("f32[...]) {\n  %y", "f32[?,3]) {\n  %y")])
def test_text_survives_reading(text: str) -> None:
    assert squeezed(reprint(text)) == squeezed(text)


def test_parsed_functions() -> None:
    function = parse_functions(DECAY, OPERATORS)["decay"]
    assert (function.title, function.role, function.order) == ("Decay.construct", "forward", 1)
    assert (function.span.file, function.span.line) == ("decay.py", 9)
    loop = Loop(function.body.ops[0])
    assert loop.op.span.line == 11 and loop.runs_reversed and loop.has_until
    assert loop.starts_at_zero and loop.bounds[1] is function.params[2]
    assert loop.inits == function.params[:1] and loop.reads == function.params[1:2]
    assert loop.index is not None and (loop.index.name, loop.index.has_user_name) == ("i", True)
    summed, item, branch = loop.body.ops
    assert summed.attrs == {"axes": (0, 1), "keepdims": False}
    assert item.attrs == {"key": "#}"}
    assert (item.span.file, item.span.line, item.role) == ("other.py", 13, "adjoint")
    assert branch.role == "tangent"
    inner = branch.regions[0].ops[0]
    assert inner.span == NOWHERE and inner.role == "adjoint"
    assert loop.until is item.result and loop.stack_yields == loop.carry_params
    assert function.returns[2] == -1e-05


def test_calls_find_their_function() -> None:
    functions = parse_functions(WHILE, OPERATORS)
    (call,) = functions["g"].body.ops
    assert call.attrs["callee"] is functions["f"]
    assert [result.name for result in call.results] == ["y", "y"]
    assert print_functions(functions["g"]) == reprint(WHILE)
    assert functions["f"].body.ops[1].operands[1:] == ("a, #b", None, True, float("inf"))


def test_names_that_are_taken_or_look_like_taken_ones() -> None:
    values = [Value(INT, name) for name in ("x", "x", "", "x.1", "a b", "")]
    function = Function("f", Region(tuple(values), (), tuple(values)), NOWHERE)
    text = print_function(function)
    assert text.splitlines()[1].strip() == "return %x, %x.1, %_, %x.1.0, %a_b, %_.1"
    (again,) = parse_functions(text, OPERATORS).values()
    assert [value.name for value in again.params] == ["x", "x", "", "x.1", "a_b", ""]
    assert print_function(again) == text


def test_two_functions_of_one_name() -> None:
    def single(callee: Function | None) -> Function:
        x = Value(INT, "x")
        ops = ()
        if callee is not None:
            ops = (Op(OPERATORS["call"], (x,), {"callee": callee}, (Value(INT, "y"),), NOWHERE),)
        return Function("f", Region((x,), ops, (x,)), NOWHERE)

    text = print_functions(single(single(None)))
    assert "call @f(%x)" in text and "func @f.1(%x: int)" in text
    functions = parse_functions(text, OPERATORS)
    assert [function.name for function in functions.values()] == ["f", "f"]
    assert print_functions(functions["f.1"]) == text


ATTRIBUTES = [
    (1, (2,), [3.5]), slice(None, -1, 2), ..., {"a": 1, 2: None}, float("-inf"), -0.0, 1 - 2j,
    complex(float("inf"), -0.0), array("float32", 2, "b", None), "it's \"#}\n", True, (), {},
]  # fmt: skip


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=repr)
def test_attributes(attribute: Any) -> None:
    x = Value(INT, "x")
    op = Op(OPERATORS["item"], (x,), {"key": attribute}, (Value(INT),), NOWHERE)
    text = print_function(Function("f", Region((x,), (op,), (x,)), NOWHERE))
    (again,) = parse_functions(text, OPERATORS).values()
    read = again.body.ops[0].attrs["key"]
    assert repr(read) == repr(attribute) and type(read) is type(attribute)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "func @f() -> () {\n  %y: int = wobble 1\n  return\n}",
            "line 2: there is no operator wobble",
        ),
        ("func @f() -> (int) {\n  return %y\n}", "line 2: %y is not defined"),
        ("func @f(%x: i99[2]) -> () {\n  return\n}", "line 1: 'i99"),
        ("func @f(%x: int, %x: int) -> () {\n  return\n}", "line 1: %x is defined twice"),
        ("func @f() -> () {\n  call @g()\n  return\n}", "line 2: @g is not defined"),
        ("func @f() -> () {\n  return\n", "expected }"),
        ("func @f() -> () {\n  item {key=open()}\n  return\n}", "line 2: open() cannot be read"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_functions(text, OPERATORS)
    assert message in str(caught.value)


@st.composite
def functions(draw: st.DrawFn, depth: int = 2) -> Function:
    """Draws any structure; its meaning does not matter here."""
    literals = st.one_of(
        st.floats(allow_nan=False), st.integers(), st.booleans(), st.none(), st.text(max_size=4)
    )
    names = st.sampled_from(["x", "x", "h", "", "u_times_y"])
    types = st.sampled_from([INT, FLOAT, array("float32", 2, "b"), array(None, None)])
    spans = st.sampled_from([NOWHERE, Span("net.py", 4, 1, 2, ""), Span("lib.py", 8, 1, 2, "")])
    about = st.sampled_from(["primal", "adjoint", "tangent"])

    def fresh(count: int) -> tuple[Value, ...]:
        return tuple(Value(draw(types), draw(names), draw(st.booleans())) for _ in range(count))

    def some(scope: list[Value], count: int) -> tuple:
        return tuple(
            draw(st.one_of(st.sampled_from(scope), literals) if scope else literals)
            for _ in range(count)
        )

    def region(params: tuple[Value, ...], scope: list[Value], yields: int, level: int) -> Region:
        scope = [*scope, *params]
        ops = []
        for _ in range(draw(st.integers(0, 3))):
            ops.append(op(scope, level))
            scope += ops[-1].results
        return Region(params, tuple(ops), some(scope, yields))

    def op(scope: list[Value], level: int) -> Op:
        kind = draw(st.sampled_from(["make_dict", "make_list", "if", "for", "while"]))
        rest = (draw(spans), draw(about))
        if kind.startswith("make") or not level:
            attrs = {"keys": draw(st.lists(st.text(max_size=3)))} if kind == "make_dict" else {}
            opdef = OPERATORS["make_dict" if attrs else "make_list"]
            return Op(opdef, some(scope, 2), attrs, fresh(draw(st.integers(0, 2))), *rest)
        if kind == "if":
            count = draw(st.integers(0, 2))
            regions = tuple(region((), scope, count, level - 1) for _ in range(2))
            return Op(OPERATORS["if"], some(scope, 1), {}, fresh(count), *rest, regions)
        carries, reads, stacks = (draw(st.integers(0, 2)) for _ in range(3))
        until, reverse = draw(st.booleans()), draw(st.booleans())
        lead = 2 if kind == "for" else 1
        body = region(fresh(lead + carries + reads), scope, carries + stacks + until, level - 1)
        regions = (body,)
        if kind == "while":
            regions = (region(fresh(carries), scope, 1, level - 1), body)
        bounds = some(scope, 3) if kind == "for" else ()
        attrs = {"carries": carries, "until": until, "reverse": reverse}
        operands = (*bounds, *some(scope, carries + reads))
        return Op(OPERATORS[kind], operands, attrs, fresh(carries + stacks + 1), *rest, regions)

    body = region(fresh(draw(st.integers(0, 3))), [], draw(st.integers(0, 2)), depth)
    return Function("f", body, draw(spans), draw(st.text(max_size=5)))


def skeleton(function: Function) -> list:
    """Returns everything but the identity of values, which are numbered by their definitions."""
    numbers: dict[Value, int] = {}

    def seen(value: Any) -> Any:
        if not isinstance(value, Value):
            return repr(value)
        return (
            numbers.setdefault(value, len(numbers)),
            value.name,
            value.has_user_name,
            str(value.type),
        )

    def region(inner: Region) -> list:
        ops = [
            (op.name, [seen(o) for o in op.operands], op.attrs, [seen(r) for r in op.results],
             op.span, op.role, [region(r) for r in op.regions])
            for op in inner.ops
        ]  # fmt: skip
        return [[seen(p) for p in inner.params], ops, [seen(y) for y in inner.yields]]

    return [function.name, function.title, function.span, region(function.body)]


@settings(max_examples=60, deadline=None)
@given(functions())
def test_every_function_survives(function: Function) -> None:
    text = print_function(function)
    (again,) = parse_functions(text, OPERATORS).values()
    assert print_function(again) == text
    assert skeleton(again) == skeleton(function)
