"""Operator classes that make grids and index lists, or change rows."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

A, B = np.arange(6.0).reshape(2, 3), np.array([[1.0, -1.0, 2.0, 0.5]] * 3)


def test_einsum_is_the_sum_of_products() -> None:
    for equation in ("ij,jk->ik", "ij,jk->", "ij,jk->kij"):
        found = ops.Einsum(equation)((Tensor(A), Tensor(B)))
        np.testing.assert_allclose(found.asnumpy(), np.einsum(equation, A, B))


@pytest.mark.parametrize("order", ["xy", "ij"])
def test_a_grid_of_rows(order: str) -> None:
    rows = [np.arange(n, dtype=np.float32) for n in (2, 3, 4)]
    found = ops.Meshgrid(order)([Tensor(row) for row in rows])
    for one, wanted in zip(found, np.meshgrid(*rows, indexing=order), strict=True):
        np.testing.assert_array_equal(one.asnumpy(), wanted)


@pytest.mark.parametrize("offset", [-1, 0, 2])
def test_positions_of_triangles(offset: int) -> None:
    for operator, numpy in ((ops.TrilIndices, np.tril_indices), (ops.TriuIndices, np.triu_indices)):
        found = operator(3, 4, offset)()
        np.testing.assert_array_equal(found.asnumpy(), np.stack(numpy(3, offset, 4)))


@pytest.mark.parametrize(("operator", "sign"), [(ops.InplaceAdd, 1), (ops.InplaceSub, -1)])
def test_rows_are_added_and_subtracted(operator: type, sign: int) -> None:
    """The result is a new tensor; the operand keeps its elements."""
    x, rows = Tensor(np.ones((4, 3))), Tensor(A)
    wanted = np.ones((4, 3))
    wanted[[0, 2]] += sign * A
    np.testing.assert_array_equal(operator((0, 2))(x, rows).asnumpy(), wanted)
    np.testing.assert_array_equal(x.asnumpy(), np.ones((4, 3)))
    slope = ms.grad(lambda rows: (operator((0, 2))(x, rows) ** 2).sum())(rows)
    np.testing.assert_allclose(slope.asnumpy(), sign * 2 * wanted[[0, 2]])
