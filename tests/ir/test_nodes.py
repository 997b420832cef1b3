"""The accessors that narrow an operand or a type to what a pass knows it to be."""

from __future__ import annotations

import pytest

import autodiff_compiler.operators  # noqa: F401 (fills the table of operators)
from autodiff_compiler.ir.nodes import Op, Value, array_type, expect_value, is_real_literal
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import FLOAT, ArrayType, array
from autodiff_compiler.span import NOWHERE


def test_value_operands_are_values() -> None:
    x, y = Value(array("float32", 2), "x"), Value(array("float32", 2), "y")
    op = Op(OPERATORS["add"], (x, y), {}, (Value(array("float32", 2)),), NOWHERE)
    assert op.value_operand(1) is y
    assert op.value_operands == (x, y)


def test_a_literal_is_no_value_operand() -> None:
    x = Value(array("float32", 2), "x")
    op = Op(OPERATORS["add"], (x, 1.0), {}, (Value(array("float32", 2)),), NOWHERE)
    with pytest.raises(AssertionError):
        op.value_operand(1)
    with pytest.raises(AssertionError):
        expect_value(None)


def test_array_type_of_an_array_only() -> None:
    assert array_type(Value(array("float32", 2))) == array("float32", 2)
    for operand in (1.0, Value(FLOAT)):
        with pytest.raises(AssertionError):
            array_type(operand)


def test_sizes_of_a_static_type() -> None:
    type_ = array("float32", 2, 3)
    assert (type_.dims, type_.static_shape, type_.element_count) == ((2, 3), (2, 3), 6)
    assert type_.known_dtype == "float32"


@pytest.mark.parametrize("name", ["static_shape", "element_count", "known_dtype"])
def test_accessors_refuse_what_a_type_does_not_know(name: str) -> None:
    with pytest.raises(AssertionError):
        getattr(ArrayType(None, (2, "b")), name)


def test_a_named_dimension_is_a_dimension() -> None:
    assert ArrayType(None, (2, "b")).dims == (2, "b")
    with pytest.raises(AssertionError):
        ArrayType(None, None).dims  # noqa: B018


def test_real_literals_are_numbers_but_no_bools() -> None:
    operands = (1, -0.5, True, 1j, None, "text", Value(FLOAT))
    assert [is_real_literal(operand) for operand in operands] == [True, True, *[False] * 5]
