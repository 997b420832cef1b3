"""Printed expressions read back as the same tree, and no parenthesis is superfluous."""

from __future__ import annotations

import ast
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings

from autodiff_compiler.emit.text.expressions import (
    fill,
    fill_statements,
    literal,
    print_expression,
    print_statement,
)
from tests.emit.trees import operator_trees, read, trees


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(max_examples=300, deadline=None)
@given(trees)
def test_text_reads_back_as_the_tree(tree: ast.expr) -> None:
    text = print_expression(tree)
    assert ast.dump(read(text)) == ast.dump(tree), text


@settings(max_examples=200, deadline=None)
@given(trees)
def test_statements_read_back(tree: ast.expr) -> None:
    x = ast.Name("x", ast.Store())
    for statement in (
        ast.Assign([x], tree),
        ast.AugAssign(x, ast.Add(), tree),
        ast.Return(tree),
        ast.Expr(tree),
    ):
        text = print_statement(statement)
        assert ast.dump(ast.parse(text).body[0]) == ast.dump(statement), text


def pairs(text: str) -> list[tuple[int, int]]:
    """Returns the places where the parentheses of a text without strings open and close."""
    found, opened = [], []
    for position, char in enumerate(text):
        if char == "(":
            opened.append(position)
        elif char == ")":
            found.append((opened.pop(), position))
    return found


@settings(max_examples=300, deadline=None)
@given(operator_trees)
def test_no_parenthesis_can_be_spared(tree: ast.expr) -> None:
    text = print_expression(tree)
    for left, right in pairs(text):
        without = text[:left] + " " + text[left + 1 : right] + " " + text[right + 1 :]
        try:
            other = ast.dump(read(without.strip()))
        except SyntaxError:
            continue
        assert other != ast.dump(tree), (text, without)


@pytest.mark.parametrize(
    "text",
    [
        "-x**2",
        "(-x) ** 2",
        "x**-y",
        "2 ** (x + 1)",
        "(x**y) ** z",
        "x - (y - z)",
        "x - y - z",
        "not x == y",
        "(not x) + y",
        "(x < y) < z",
        "x and (y or z)",
        "(x if y else z) if a else b",
        "x if y else z if a else b",
        "(lambda: x)()",
        "f(x for x in y)",
        "f((x for x in y), 1)",
        "(1).real",
        "1.5.real",
        "a[..., 1:2]",
        "a[i + 1 :, x[0] : n]",
        "a[:, None, ::2]",
        "a[:: n + 1]",
        "a[x.n : 2 : -1]",
        "a[i,]",
        "a[()]",
        "a[(1, 2), 3]",
        "(x + y).T[0](z)",
        "f(*x or y, **z or y)",
        "[*(x or y)]",
        "(x,)",
        "{**x, 1: 2}",
        "(y := x) + 1",
        'x["it\'s"]',
        "x['say \"x\"']",
    ],
)
def test_text_stays_as_a_careful_writer_has_it(text: str) -> None:
    assert print_expression(read(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "a, b = b, (c, d)",
        "a = b = c",
        "(a,) = (b,)",
        "a[0, 1:] += b * c",
        "return a, b",
        "return",
        "return (a,)",
        "np.add.at(a, (0, 1), b)",
        "x: int = 3",
        "del a, b[0]",
    ],
)
def test_statements_stay_as_a_careful_writer_has_them(text: str) -> None:
    assert print_statement(ast.parse(text).body[0]) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("inf"), "np.inf"),
        (-float("inf"), "-np.inf"),
        (float("nan"), "np.nan"),
        (-0.0, "-0.0"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e22, "1e+22"),
        (np.float64(0.5), "0.5"),
        (np.int32(-3), "-3"),
        (np.True_, "True"),
        (-1.5 + 2j, "-1.5 + 2j"),
        (complex(0, -2), "complex(0.0, -2.0)"),
        (None, "None"),
        ((), "()"),
        (((1,), [-2]), "((1,), [-2])"),
        ({"a": (True, "b")}, '{"a": (True, "b")}'),
        ("é\u200b\u2028\U0001fae8", '"é\\u200b\\u2028\\U0001fae8"'),
    ],
)
def test_literals(value: object, text: str) -> None:
    assert print_expression(literal(value)) == text
    again = eval(text, {"np": np})  # noqa: S307
    assert again == value or (value != value and again != again)
    assert str(again) == str(value) or isinstance(value, np.generic)


def test_a_literal_is_refused_where_it_has_no_text() -> None:
    with pytest.raises(TypeError, match="no literal"):
        literal(object())


def test_a_negative_constant_is_grouped_like_the_expression_it_is() -> None:
    power = ast.BinOp(ast.Constant(-2.0), ast.Pow(), ast.Constant(-1))
    assert print_expression(power) == "(-2.0) ** -1"
    assert print_expression(ast.Attribute(ast.Constant(-2), "real", ast.Load())) == "(-2).real"
    assert print_expression(ast.Constant(-float("inf"))) == "-np.inf"


def test_slots_are_grouped_by_where_they_stand() -> None:
    slots = {
        "x": read("a + b"),
        "y": read("-c"),
        "0": read("a, b"),
        "index": read("q[1:, ...]").slice,
    }
    for template, text in [
        ("{x} * {y}", "(a + b) * -c"),
        ("np.matmul({x}, {y})", "np.matmul(a + b, -c)"),
        ("{y}**2", "(-c) ** 2"),
        ("{x}[{index}]", "(a + b)[1:, ...]"),
        ("{x}[{0}]", "(a + b)[a, b]"),
        ("np.concatenate({0}, axis=0)", "np.concatenate((a, b), axis=0)"),
        ("{{'k': {x}}}", '{"k": a + b}'),
    ]:
        assert print_expression(fill(template, slots)) == text


def test_filling_changes_neither_the_template_nor_the_slots() -> None:
    slot = read("a")
    for _ in range(2):
        (statement,) = fill_statements("{x} = {out} * {x}", {"x": slot, "out": read("z")})
        assert print_statement(statement) == "a = z * a"
        assert isinstance(statement.targets[0].ctx, ast.Store)
        assert isinstance(statement.value.right.ctx, ast.Load)
        assert isinstance(slot.ctx, ast.Load)


def test_statement_templates_bind_out() -> None:
    template = "{out} = {x}.copy()\n{out}[{i}] += {y}\nnp.add.at({out}, {i}, {y})"
    slots = {"x": read("a + b"), "i": read("0, 1"), "y": read("c"), "out": read("d_x")}
    statements = fill_statements(template, slots)
    assert [print_statement(statement) for statement in statements] == [
        "d_x = (a + b).copy()",
        "d_x[0, 1] += c",
        "np.add.at(d_x, (0, 1), c)",
    ]
    compile(ast.fix_missing_locations(ast.Module(statements, [])), "d_x", "exec")


def test_wrong_templates_are_refused() -> None:
    with pytest.raises(KeyError, match="wants y"):
        fill("{x} + {y}", {"x": read("a")})
    with pytest.raises(ValueError, match="not an expression of its own"):
        fill("np.{x}(1)", {"x": read("a")})
    with pytest.raises(ValueError, match="is not an expression"):
        fill("a = {x}", {"x": read("a")})
    with pytest.raises(TypeError, match="has a body"):
        print_statement(ast.parse("if x: y").body[0])


def test_no_interpreter_warning_while_printing() -> None:
    """The parent class uses names that newer Pythons deprecate; the printer must not."""
    program = (
        "import ast; from autodiff_compiler.emit.text.expressions import print_expression;"
        "print(print_expression(ast.parse('f(1 .real, *a, k=x[1:2, ...])', mode='eval').body))"
    )
    command = [sys.executable, "-W", "error::DeprecationWarning", "-c", program]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("f((1).real, *a, k=x[1:2, ...])\n", "")
