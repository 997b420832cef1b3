"""Every name that an operator gives is short, says what the result is, and hides nothing."""

from __future__ import annotations

import builtins
import keyword

import pytest

from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.labels import alternatives, is_short, label, named, words
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import array
from autodiff_compiler.operators import OPERATORS
from autodiff_compiler.operators.elementwise.arithmetic import add, div, exp, mul, neg, sub

F = array("float32", 3)
#: Names of operands: the user's, long ones, and those that labels make.
NAMES = ["x", "hidden", "layer_1_attention_weight", "x_times_y", "product", "d_out", "x_item"]
LABELLED = [opdef for opdef in OPERATORS.values() if opdef.label]


@pytest.mark.parametrize("opdef", LABELLED, ids=lambda opdef: opdef.name)
@pytest.mark.parametrize("name", NAMES)
def test_labels_are_short(opdef: OpDef, name: str) -> None:
    operands = [Value(F, name) for _ in opdef.operands or ("x",)]
    text = label(opdef, operands, {"key": 1})
    assert is_short(text) or text == name


@pytest.mark.parametrize("opdef", LABELLED, ids=lambda opdef: opdef.name)
def test_the_last_alternative_is_a_free_name(opdef: OpDef) -> None:
    text, operands = alternatives(opdef.label)[-1]
    text = text or opdef.name
    assert not operands and len(words(text)) <= 3
    assert not hasattr(builtins, text) and not keyword.iskeyword(text)


def test_a_nested_expression_is_named_by_its_outermost_operator() -> None:
    with Builder():
        x, y, b = (Value(F, name) for name in "xyb")
        assert (x * y + b).name == "total"
        assert exp(x * y + b).name == "exp_total"
        assert exp(x - y).name == "exp"


@pytest.mark.parametrize(
    ("opdef", "operands", "name"),
    [
        (sub, (1.0, "x"), "one_minus_x"),
        (add, ("x", 1), "x_plus_one"),
        (mul, (2.5, "x"), "scaled_x"),
        (div, ("x", 6), "scaled_x"),
        (neg, ("x",), "minus_x"),
        (neg, ("x_times_y",), "negated"),
        (sub, ("x", "y"), "x_minus_y"),
        (sub, ("x_minus_y", "z"), "difference"),
    ],
)
def test_literals_have_words(opdef: OpDef, operands: tuple, name: str) -> None:
    values = [Value(F, each) if isinstance(each, str) else each for each in operands]
    assert label(opdef, values, {}) == name


def test_a_user_keeps_the_name() -> None:
    with Builder() as builder:
        x = Value(F, "x")
        mine, theirs = builder.make(exp, (x,), {}), builder.make(exp, (x,), {})
        mine.name, mine.has_user_name = "mine", True
        assert named("std", mine).name == "mine" and named("std", theirs).name == "std"
        assert named("std", x).name == "x"  # an argument
        assert named("std", 1.0) == 1.0
