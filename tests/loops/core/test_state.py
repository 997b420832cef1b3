"""A statement of a lowering has a text in C, and arithmetic of bools is logic."""

from __future__ import annotations

import pytest

from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Apply,
    Expression,
    Literal,
    Read,
    Scalar,
    Set,
    Store,
)
from autodiff_compiler.loops.core.state import Lowering, apply
from autodiff_compiler.loops.core.values import NoNativeText

A, B = (Read(Scalar(name, "bool")) for name in "ab")
X = Read(Scalar("x", "float64"))


@pytest.mark.parametrize(
    "value",
    [
        Apply("bessel_k", (X, X), "float64"),
        Apply("add", (X, Apply("gcd", (X, X), "float64")), "float64"),
        Apply("maximum", (A, B), "bool"),
    ],
    ids=["an operation", "an operand", "bools"],
)
def test_an_operation_without_a_text_is_refused_in_its_rule(value: Expression) -> None:
    low = Lowering({})
    with pytest.raises(NoNativeText):
        low.let("y", value)
    with pytest.raises(NoNativeText):
        low.store(low.new_array(value.dtype, (), "y"), (), value)
    assert not low.blocks[0]


def test_a_combination_without_a_text_is_refused() -> None:
    low = Lowering({})
    with pytest.raises(NoNativeText, match="maximum of bool"):
        low.add(Set(Scalar("y", "bool", mutable=True), A, "maximum"))


def test_arithmetic_of_bools_is_logic() -> None:
    assert apply("maximum", "bool", A, B) == Apply("logical_or", (A, B), "bool")
    assert apply("minimum", "bool", A, B) == Apply("logical_and", (A, B), "bool")
    assert apply("abs", "bool", A) == A
    high = Literal(True, "bool")
    either = Apply("logical_or", (A, B), "bool")
    assert apply("clip", "bool", A, B, True) == Apply("logical_and", (either, high), "bool")


@pytest.mark.parametrize(("combine", "written"), [("maximum", "add"), ("minimum", "mul")])
def test_extremes_of_bools_are_combined_as_sums_and_products(combine: str, written: str) -> None:
    low = Lowering({})
    low.set(low.variable("y", A), B, combine)
    low.store(low.new_array("bool", (2,), "z"), [Affine(1)], B, combine)
    _, changed, stored = low.blocks[0]
    assert isinstance(changed, Set) and isinstance(stored, Store)
    assert (changed.combine, stored.combine) == (written, written)
