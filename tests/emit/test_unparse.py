"""What the printer writes reads back as the same tree, and no parenthesis could be spared."""

from __future__ import annotations

import ast
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autodiff_compiler.emit.unparse import (
    fill,
    fill_statements,
    literal,
    print_expression,
    print_statement,
)

names = st.sampled_from(["x", "y", "np", "d_out"]).map(lambda name: ast.Name(name, ast.Load()))
values = st.one_of(
    st.integers(0, 9),
    st.floats(0, 1e20),
    st.floats(0, 1e20).map(lambda size: complex(0, size)),
    st.sampled_from([None, True, False, ..., "a", 'say "x"', "it's", "é\n\\\x7f", b"\xff'"]),
)
constants = values.map(ast.Constant)
unary = st.sampled_from([ast.USub, ast.UAdd, ast.Invert, ast.Not]).map(lambda kind: kind())
binary = st.sampled_from(
    [ast.Add, ast.Sub, ast.Mult, ast.MatMult, ast.Div, ast.Mod, ast.Pow, ast.FloorDiv]
    + [ast.BitOr, ast.BitXor, ast.BitAnd, ast.LShift, ast.RShift]
).map(lambda kind: kind())
comparisons = st.sampled_from(
    [ast.Eq, ast.NotEq, ast.Lt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn]
).map(lambda kind: kind())
boolean = st.sampled_from([ast.And, ast.Or]).map(lambda kind: kind())


def operators(inner: st.SearchStrategy) -> st.SearchStrategy:
    """Expressions in which every printed parenthesis groups."""
    return st.one_of(
        st.builds(ast.UnaryOp, unary, inner),
        st.builds(ast.BinOp, inner, binary, inner),
        st.builds(ast.BinOp, inner, binary, inner),
        st.builds(ast.BoolOp, boolean, st.lists(inner, min_size=2, max_size=3)),
        st.lists(st.tuples(comparisons, inner), min_size=1, max_size=2).flatmap(
            lambda pairs: inner.map(
                lambda left: ast.Compare(left, [op for op, _ in pairs], [e for _, e in pairs])
            )
        ),
        st.builds(ast.IfExp, inner, inner, inner),
        st.builds(ast.Lambda, arguments(inner), inner),
    )


@st.composite
def arguments(draw: st.DrawFn, inner: st.SearchStrategy) -> ast.arguments:
    before, middle, after = (draw(st.integers(0, 1)) for _ in range(3))
    return ast.arguments(
        posonlyargs=[ast.arg("a")] * before,
        args=[ast.arg("b")] * middle,
        vararg=draw(st.sampled_from([None, ast.arg("c")])),
        kwonlyargs=[ast.arg("d")] * after,
        kw_defaults=draw(st.lists(inner, min_size=after, max_size=after)),
        kwarg=draw(st.sampled_from([None, ast.arg("e")])),
        defaults=draw(st.lists(inner, max_size=before + middle)),
    )


def anything(inner: st.SearchStrategy) -> st.SearchStrategy:
    load = st.builds(ast.Load)
    starred = st.builds(ast.Starred, inner, load)
    optional = st.one_of(st.none(), inner)
    slices = st.builds(ast.Slice, optional, optional, optional)
    many = st.lists(inner, max_size=3)
    target = st.sampled_from(["for i in x", "for (i, j) in x"]).map(
        lambda text: ast.parse(f"[0 {text}]").body[0].value.generators[0].target
    )
    loop = st.builds(ast.comprehension, target, inner, st.lists(inner, max_size=1), st.just(0))
    loops = st.lists(loop, min_size=1, max_size=2)
    keyword = st.builds(ast.keyword, st.sampled_from(["axis", "out"]), inner)
    keywords = st.lists(keyword, max_size=2, unique_by=lambda item: item.arg)
    spread = st.builds(ast.keyword, st.none(), inner)
    walrus = st.builds(
        ast.NamedExpr, st.builds(ast.Name, st.just("w"), st.builds(ast.Store)), inner
    )
    return st.one_of(
        operators(inner),
        st.builds(ast.Attribute, inner, st.sampled_from(["T", "real"]), load),
        st.builds(ast.Call, inner, st.lists(inner | starred, max_size=2), keywords),
        st.builds(ast.Call, inner, many, st.lists(spread, min_size=1, max_size=1)),
        st.builds(ast.Subscript, inner, inner | slices, load),
        st.builds(
            ast.Subscript,
            inner,
            st.builds(ast.Tuple, st.lists(inner | slices, min_size=1, max_size=3), load),
            load,
        ),
        st.builds(
            ast.Subscript,
            inner,
            st.builds(ast.Tuple, st.lists(inner | starred, max_size=2), load),
            load,
        ),
        st.builds(ast.Tuple, st.lists(inner | starred, max_size=3), load),
        st.builds(ast.List, st.lists(inner | starred, max_size=3), load),
        st.builds(ast.Set, st.lists(inner, min_size=1, max_size=3)),
        st.lists(st.tuples(optional, inner), max_size=2).map(
            lambda items: ast.Dict([key for key, _ in items], [value for _, value in items])
        ),
        st.builds(ast.ListComp, inner, loops),
        st.builds(ast.GeneratorExp, inner, loops),
        st.builds(ast.DictComp, inner, inner, loops),
        walrus,
    )


operator_trees = st.recursive(names | st.integers(0, 9).map(ast.Constant), operators, max_leaves=8)
trees = st.recursive(names | constants, anything, max_leaves=8)


def read(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


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
    """Where each parenthesis of a text without strings opens and closes."""
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


def test_every_use_of_a_slot_is_a_copy() -> None:
    slot = read("a[0]")
    twice = fill("{x} * {x}", {"x": slot})
    twice.left.value.id = "changed"
    assert print_expression(twice) == "changed[0] * a[0]"
    assert print_expression(fill("{x} * {x}", {"x": slot})) == "a[0] * a[0]"


def test_statement_templates_bind_out() -> None:
    template = "{out} = {x}.copy()\n{out}[{i}] += {y}\nnp.add.at({out}, {i}, {y})"
    slots = {"x": read("a + b"), "i": read("0, 1"), "y": read("c")}
    statements = fill_statements(template, slots, "d_x")
    assert [print_statement(statement) for statement in statements] == [
        "d_x = (a + b).copy()",
        "d_x[0, 1] += c",
        "np.add.at(d_x, (0, 1), c)",
    ]
    compile(ast.fix_missing_locations(ast.Module(statements, [])), "d_x", "exec")


def test_wrong_templates_are_refused() -> None:
    with pytest.raises(KeyError, match="wants y"):
        fill("{x} + {y}", {"x": read("a")})
    with pytest.raises(ValueError, match="no expression of its own"):
        fill("np.{x}(1)", {"x": read("a")})
    with pytest.raises(ValueError, match="is no expression"):
        fill("a = {x}", {"x": read("a")})
    with pytest.raises(TypeError, match="has a body"):
        print_statement(ast.parse("if x: y").body[0])


def test_no_interpreter_warning_while_printing() -> None:
    """The parent class leans on names that newer Pythons deprecate; the printer must not."""
    program = (
        "import ast; from autodiff_compiler.emit.unparse import print_expression;"
        "print(print_expression(ast.parse('f(1 .real, *a, k=x[1:2, ...])', mode='eval').body))"
    )
    command = [sys.executable, "-W", "error::DeprecationWarning", "-c", program]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("f((1).real, *a, k=x[1:2, ...])\n", "")
