"""Bands of matrices, and widths of padding that may be negative."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.ops.functions.rearrange import pad_by

X = np.arange(1.0, 25.0).reshape(2, 3, 4)


@pytest.mark.parametrize("lower", [-1, 0, 1, 2])
@pytest.mark.parametrize("upper", [-1, 0, 1, 3])
def test_a_band_keeps_the_diagonals_beside_the_main_one(lower: int, upper: int) -> None:
    wanted = X.copy()
    for row, column in np.ndindex(3, 4):
        below, above = row - column, column - row
        if (lower >= 0 and below > lower) or (upper >= 0 and above > upper):
            wanted[:, row, column] = 0
    for found in (
        ops.matrix_band_part(Tensor(X), lower, upper),
        ops.MatrixBandPart()(Tensor(X), lower, upper),
    ):
        np.testing.assert_array_equal(found.asnumpy(), wanted)


@pytest.mark.parametrize(
    "widths", [((0, 0), (1, 2), (0, 0)), ((-1, 0), (2, -1), (0, -2)), ((0, -1), (-1, 3), (-1, -1))]
)
def test_a_negative_width_crops(widths: tuple[tuple[int, int], ...]) -> None:
    def padded(x: np.ndarray) -> np.ndarray:
        cuts = tuple(
            slice(max(-low, 0), size - max(-high, 0)) for (low, high), size in zip(widths, x.shape)
        )
        return np.pad(x[cuts], [(max(low, 0), max(high, 0)) for low, high in widths],
                      constant_values=7)  # fmt: skip

    found = pad_by(Tensor(X), widths, 7.0)
    np.testing.assert_array_equal(found.asnumpy(), padded(X))
    slope = ms.grad(lambda x: (pad_by(x, widths, 7.0) ** 2).sum())(Tensor(X)).asnumpy()
    inside = padded(np.arange(1.0, 25.0).reshape(X.shape) * 100)
    np.testing.assert_array_equal(slope, np.where(np.isin(X * 100, inside), 2 * X, 0))
