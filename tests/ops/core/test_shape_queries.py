"""Questions about arguments: a Tensor and an IR value of its type answer alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import FLOAT, INT, SHAPE, ListType, array
from autodiff_compiler.ops.core import shape_queries as queries


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 4)])
def test_a_tensor_and_a_value_answer_alike(dtype: str, shape: tuple[int, ...]) -> None:
    tensor, value = Tensor(np.zeros(shape, dtype)), Value(array(dtype, *shape), "x")
    for thing in (tensor, value):
        assert queries.shape_of(thing) == shape == queries.known_sizes(thing, "f")
        assert queries.rank_of(thing) == len(shape) == queries.known_rank(thing, "f")
        assert queries.dtype_of(thing) == dtype
        assert queries.holds_complex(thing) is (dtype == "complex64")
        assert queries.is_integral(thing) is (dtype in ("int64", "bool"))
        assert not queries.is_list(thing)
        assert queries.in_dtype(thing, dtype) is thing


def test_numbers_and_lists() -> None:
    assert queries.shape_of(2.5) == () and queries.dtype_of(2.5) is None
    assert queries.holds_complex(1j) and not queries.is_integral(3)
    items = Value(ListType(array("float32", 2, 3)), "items")
    assert queries.is_list(items) and queries.item_rank(items, "f") == 2


def test_unknown_shapes_are_refused_where_they_are_needed() -> None:
    rows = Value(array("float32", None, 3), "rows")
    assert queries.rank_of(rows) == 2
    with pytest.raises(ShapeError, match="split needs to know the shape of its input"):
        queries.known_sizes(rows, "split")
    anything = Value(Value(FLOAT).type, "number")
    assert queries.known_rank(anything, "f") == 0


@pytest.mark.parametrize(("axis", "axes"), [(-1, (2,)), ((0, -2), (0, 1)), (None, None)])
def test_axes_count_from_the_front(axis: Any, axes: tuple[int, ...] | None) -> None:
    assert queries.axes_of(axis, Tensor(np.zeros((2, 3, 4)))) == axes
    assert queries.axis_of(-1, 3) == 2 and queries.axis_of(-1, None) == -1


def test_settings_and_shapes() -> None:
    assert queries.setting(Tensor(np.array([2, 3]))) == [2, 3]
    assert queries.shape_and_operands((2, 3)) == ((2, 3), ()) == queries.shape_and_operands([2, 3])
    assert queries.shape_and_operands(4) == ((4,), ())
    shape = Value(SHAPE, "shape")
    assert queries.shape_and_operands(shape) == (None, (shape,))
    with Builder():
        known, operands = queries.shape_and_operands((Value(INT, "n"), 3))
        assert known == (None, 3) and len(operands) == 1
        with pytest.raises(ShapeError, match="a dimension must be an int"):
            queries.shape_and_operands((Value(FLOAT, "x"), 3))
    assert queries.one_or_many([(2, 3)]) == (2, 3) == queries.one_or_many([2, 3])
    assert queries.one_or_many([5]) == (5,)


def test_a_result_is_never_the_argument_itself() -> None:
    x = Tensor(np.arange(3.0))
    copied = queries.unaliased(lambda x: x)(x)
    assert copied is not x and copied.asnumpy().tolist() == [0, 1, 2]
    assert not np.shares_memory(copied.asnumpy(), x.asnumpy())
