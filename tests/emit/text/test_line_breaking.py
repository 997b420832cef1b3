"""Broken lines keep their meaning and the width, and look like a formatter's."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autodiff_compiler.emit.text.expressions import print_statement
from autodiff_compiler.emit.text.line_breaking import wrap
from tests.emit.trees import read, trees


def wrapped(code: str, width: int, indent: int = 0) -> str:
    return "\n".join(wrap(code, indent, width))


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(max_examples=300, deadline=None)
@given(
    trees, st.sampled_from(["x = _", "x, y = _", "x[y] += _", "return _", "_"]), st.integers(8, 40)
)
def test_wrapping_keeps_the_meaning(tree: ast.expr, frame: str, width: int) -> None:
    statement = ast.parse(frame).body[0]
    statement.value = tree
    code = print_statement(statement)
    text = wrapped(code, width)
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(code)), text


@pytest.mark.parametrize("frame", ["if {}:", "while {}:", "for i in {}:", "def f(a, b={}):"])
@pytest.mark.parametrize("value", ["a and b(c, d) or not e", "f(a, b)[c:d, 1](e)", "[a, (b, c)]"])
def test_headers_keep_their_meaning(frame: str, value: str) -> None:
    code = frame.format(value)
    for width in range(8, 40):
        text = wrapped(code, width)
        assert ast.dump(ast.parse(text + "\n    pass")) == ast.dump(ast.parse(code + " pass"))


def test_short_code_stays() -> None:
    assert wrap("return a, b", 4, 15) == ["    return a, b"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            "return first_value + second_value * third_value",
            "return (\n    first_value\n    + second_value * third_value\n)",
        ),
        (
            "d_x = np.sum(d_out * long_name, axis=(0, 1)).reshape(1)",
            "d_x = np.sum(\n    d_out * long_name, axis=(0, 1)\n).reshape(1)",
        ),
        (
            "x = np.where(condition_of(a, b), first + second, third - fourth)",
            "x = np.where(\n    condition_of(a, b),\n    first + second,\n    third - fourth,\n)",
        ),
        (
            "x, x_1, y, z, h_tape, branch_tape, counter = residuals",
            "(\n    x, x_1, y, z, h_tape, branch_tape,\n    counter,\n) = residuals",
        ),
        (
            "x = [function_of(a, b) for a, b in pairs if a not in b]",
            "x = [\n    function_of(a, b)\n    for a, b in pairs\n    if a not in b\n]",
        ),
        (
            "if a_long_name > another and the_third:",
            "if (\n    a_long_name > another\n    and the_third\n):",
        ),
        (
            'x = f("one, two and three (four", five)',
            'x = f(\n    "one, two and three (four", five\n)',
        ),
        (
            "long_target_name = a_value_without_breaks",
            "long_target_name = (\n    a_value_without_breaks\n)",
        ),
    ],
)
def test_layout(code: str, expected: str) -> None:
    assert wrapped(code, 38) == expected


@pytest.mark.parametrize("first", ["first", "first=lambda: 1"])
def test_a_lambda_does_not_become_a_tuple(first: str) -> None:
    code = f"x = lambda {first}, second=2: function(first, second)"
    for width in range(10, 50):
        assert ast.dump(ast.parse(wrapped(code, width))) == ast.dump(ast.parse(code))


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_lines_keep_the_width(depth: int) -> None:
    text = "alpha"
    for _ in range(depth):
        text = f"np.maximum({text}, beta) * gamma + ({text} - delta)[0, :, 1]"
    lines = wrap(f"return {text}", 4, 60)
    assert max(map(len, lines)) <= 60
    assert ast.dump(read("\n".join(lines).replace("return", "", 1).strip())) == ast.dump(read(text))


def test_many_targets_before_a_short_call():
    targets = ", ".join(f"d_weight_{n}" for n in range(6))
    lines = wrap(f"{targets} = layers_backward(residuals, d_out)", width=80)
    assert lines[0] == "(" and lines[-1] == ") = layers_backward(residuals, d_out)"
    assert max(map(len, lines)) <= 80
