"""Places, rows and columns that are added number by number: the bits of ``np.add.at``, and what it
refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core.index_patterns import FULL
from autodiff_compiler.operators.indexing.indexing import add_at, index, scatter
from autodiff_compiler.operators.reductions.axis_functions import put_along

ROW, COLUMN = (("op", 0),), (FULL, ("op", 0))
RANDOM = np.random.default_rng(0)
#: An index, the shape of the whole, of the places, and of what is added there.
CASES: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "rows": (ROW, (70, 30), (600,), (600, 30)),
    "rows of matrices": (ROW, (5, 8, 9), (4, 50), (4, 50, 8, 9)),
    "columns": (COLUMN, (40, 50), (40,), (40, 40)),
    "columns in parts, the last one shorter": (COLUMN, (900, 50), (40,), (900, 40)),
    "columns of places": (COLUMN, (30, 50), (6, 40), (30, 6, 40)),
    "columns of rows": (COLUMN, (7, 50, 30), (400,), (7, 400, 30)),
    "few": (COLUMN, (3, 50), (40,), (3, 40)),
}


def text(record: Any, arrays: list[Any], **attrs: Any) -> str:
    types = [ArrayType(str(a.dtype), a.shape) for a in arrays]
    return record.template(types, attrs)  # type: ignore[no-any-return]


def evaluate(record: Any, *arrays: Any, **attrs: Any) -> np.ndarray:
    types = [ArrayType(str(a.dtype), a.shape) for a in arrays]
    return record.evaluate(*arrays, types=types, **attrs)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ("int32", "int64"))
def test_the_bits_of_add_at(name: str, dtype: str) -> None:
    at, shape, places, values = CASES[name]
    size = shape[len(at) - 1]
    i = RANDOM.integers(-size, size, places).astype(dtype)
    v = RANDOM.standard_normal(values).astype("f4")
    whole = RANDOM.standard_normal(shape).astype("f4")
    wanted, zeros = whole.copy(), np.zeros(shape, "f4")
    key = (slice(None), i) if at == COLUMN else i
    np.add.at(wanted, key, v)
    np.add.at(zeros, key, v)
    np.testing.assert_array_equal(evaluate(scatter, v, i, index=at, shape=shape), zeros)
    np.testing.assert_array_equal(evaluate(add_at, whole, v, i, index=at), wanted)
    few, many = costs().scattered_elements, costs().scatter_step_elements
    assert ("reshape" in text(scatter, [v, i], index=at, shape=shape)) is (v.size >= few)
    assert few < 900 * 40 > many  # or the parts are not tried


def test_what_is_written_in_place_may_lie_in_any_order() -> None:
    i, v = RANDOM.integers(0, 50, 40), RANDOM.standard_normal((60, 40)).astype("f4")
    whole = np.asfortranarray(RANDOM.standard_normal((60, 50)).astype("f4"))
    wanted = whole.copy()
    np.add.at(wanted, (slice(None), i), v)
    found = evaluate(add_at, whole.copy(order="F"), v, i, index=COLUMN)
    np.testing.assert_array_equal(found, wanted)
    assert "reshape" not in text(add_at, [whole, v, i], index=COLUMN, in_place=True)


@pytest.mark.parametrize("wrong", (50, -51, 2**27))
def test_a_place_that_is_not_there_is_refused(wrong: int) -> None:
    """Counted on through all rows it would be in another one."""
    v = np.ones((60, 40), "f4")
    for at, shape in ((COLUMN, (60, 50)), (ROW, (50, 40))):
        i = np.full(shape[0] if at == ROW else 40, 3, "i4")[: 40 if at == COLUMN else 60]
        values = v if at == COLUMN else v[: len(i)]
        i[7] = wrong
        with pytest.raises(IndexError):
            evaluate(scatter, values, i, index=at, shape=shape)


def test_columns_are_taken_in_the_order_of_rows() -> None:
    x, i = RANDOM.standard_normal((6, 8)), np.array([[1, -1], [7, 0]])
    found = evaluate(index, x, i, index=COLUMN)
    np.testing.assert_array_equal(found, x[:, i])
    assert found.flags.c_contiguous and "take" in text(index, [x, i], index=COLUMN)


def test_a_place_that_is_too_large_comes_to_none_that_is_there() -> None:
    """2**26 rows of 64 numbers are 2**32, which is 0 to an int32."""
    i = np.zeros(50, np.int32)
    i[7] = 2**26
    with pytest.raises(IndexError):
        evaluate(scatter, np.ones((50, 64), "f4"), i, index=ROW, shape=(50, 64))


PAIR = (("op", 0), ("op", 1))


@pytest.mark.parametrize("dtype", ("int32", "int64"))
@pytest.mark.parametrize(
    "shape, one, other",
    [
        ((40, 50), (1200,), (1200,)),
        ((40, 50), (60, 1), (60, 30)),  # stretched to one another
        ((6, 8, 90), (500,), (500,)),  # rows, in parts
        ((6, 8, 3), (40, 1), (20,)),
    ],
)
def test_the_bits_of_add_at_by_two_arrays(
    shape: tuple[int, ...], one: tuple[int, ...], other: tuple[int, ...], dtype: str
) -> None:
    i = RANDOM.integers(-shape[0], shape[0], one).astype(dtype)
    j = RANDOM.integers(-shape[1], shape[1], other).astype(dtype)
    v = RANDOM.standard_normal((*np.broadcast_shapes(one, other), *shape[2:])).astype("f4")
    zeros = np.zeros(shape, "f4")
    np.add.at(zeros, (i, j), v)
    np.testing.assert_array_equal(evaluate(scatter, v, i, j, index=PAIR, shape=shape), zeros)
    assert "reshape" in text(scatter, [v, i, j], index=PAIR, shape=shape)
    for wrong in (i, j):
        kept, size = wrong.flat[3], shape[0 if wrong is i else 1]
        for far in (size, -size - 1, 2**27):
            wrong.flat[3] = far
            with pytest.raises(IndexError):
                evaluate(scatter, v, i, j, index=PAIR, shape=shape)
        wrong.flat[3] = kept


@pytest.mark.parametrize("dtype", ("int32", "int64"))
@pytest.mark.parametrize(
    "shape, axis, many",
    [((60, 50), 1, 40), ((60, 50), 0, 70), ((900, 50), -1, 40), ((97, 5, 90), 2, 80),
     ((97, 50, 9), 1, 80), ((70, 9, 8), 0, 30)],
)  # fmt: skip
def test_the_bits_of_what_is_added_along(
    shape: tuple[int, ...], axis: int, many: int, dtype: str
) -> None:
    sizes = [*shape]
    sizes[axis] = many
    i = RANDOM.integers(-shape[axis], shape[axis], sizes).astype(dtype)
    v = RANDOM.standard_normal(sizes).astype("f4")
    zeros, key = np.zeros(shape, "f4"), list(np.indices(sizes, sparse=True))
    key[axis] = i
    np.add.at(zeros, tuple(key), v)
    np.testing.assert_array_equal(evaluate(put_along, v, i, axis=axis, shape=shape), zeros)
    assert "reshape" in text(put_along, [v, i], axis=axis, shape=shape)
    for far in (shape[axis], -shape[axis] - 1):
        i.flat[-1] = far
        with pytest.raises(IndexError):
            evaluate(put_along, v, i, axis=axis, shape=shape)
