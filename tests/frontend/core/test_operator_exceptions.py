"""An operation is said to raise whatever Python raises for some values of its types."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.frontend.core.operator_exceptions import exceptions_of
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Op, Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import FLOAT, INT, ArrayType, ListType, Type
from autodiff_compiler.operators.core import containers, effects, scalar_conversion
from autodiff_compiler.operators.elementwise import arithmetic
from autodiff_compiler.operators.indexing import indexing

ROW, ITEM = ArrayType("float64", (3,)), ArrayType("float64", ())
NUMBERS = {INT: (-2, -1, 0, 1, 3, 10**400), FLOAT: (-1.5, 0.0, 2.0, 1e300, np.inf, np.nan)}


def operation(opdef: OpDef, *operands: Any, **attrs: Any) -> Op:
    """Returns the operation on these operands. A type stands for a value of it."""
    values = [Value(each, "x") if isinstance(each, Type) else each for each in operands]
    builder = Builder()
    builder.make(opdef, values, attrs)
    return builder.blocks[0][-1]


@pytest.mark.parametrize("left", NUMBERS)
@pytest.mark.parametrize("right", NUMBERS)
@pytest.mark.parametrize(
    ("opdef", "function"),
    [
        (arithmetic.add, operator.add),
        (arithmetic.sub, operator.sub),
        (arithmetic.mul, operator.mul),
        (arithmetic.div, operator.truediv),
        (arithmetic.floor_div, operator.floordiv),
        (arithmetic.mod, operator.mod),
    ],
)
def test_exceptions_of_numbers(
    opdef: OpDef, function: Callable[..., Any], left: Type, right: Type
) -> None:
    expected = exceptions_of(operation(opdef, left, right))
    raised = set()
    for one in NUMBERS[left]:
        for other in NUMBERS[right]:
            try:
                function(one, other)
            except OverflowError:
                pass  # a float has no room for a large int, in any operation
            except Exception as error:
                raised.add(type(error))
    assert raised == set(expected)


def test_a_divisor_that_is_known_and_not_zero_cannot_fail() -> None:
    assert exceptions_of(operation(arithmetic.div, FLOAT, 2.0)) == ()
    assert exceptions_of(operation(arithmetic.div, ROW, ROW)) == ()


def test_only_a_position_of_the_run_can_be_out_of_range() -> None:
    known = operation(indexing.index, ROW, index=(1,))
    computed = operation(indexing.index, ROW, INT, index=(("op", 0),))
    assert exceptions_of(known) == ()
    assert exceptions_of(computed) == (IndexError,)
    assert exceptions_of(operation(containers.list_item, ListType(ROW), 0)) == (IndexError,)


def test_there_is_no_int_of_nan_or_infinity() -> None:
    expected = exceptions_of(operation(scalar_conversion.to_number, ITEM, kind="int"))
    raised = set()
    for number in NUMBERS[FLOAT]:
        try:
            int(number)
        except Exception as error:
            raised.add(type(error))
    assert raised == set(expected)


def test_shapes_that_are_not_known_may_not_fit() -> None:
    unknown = ArrayType("float64", (None,))
    assert ValueError in exceptions_of(operation(arithmetic.add, unknown, ROW))
    assert exceptions_of(operation(arithmetic.add, ROW, ROW)) == ()


def test_a_variable_that_is_not_set_is_not_caught() -> None:
    fail = operation(effects.raise_error, "no value", error="UnboundLocalError")
    assert exceptions_of(fail) == ()
    assert exceptions_of(operation(effects.raise_error, "no item", error="KeyError")) == (KeyError,)
