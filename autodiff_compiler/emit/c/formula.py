"""Numbers by a formula that C and NumPy compute exactly alike: arguments of a self-test."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: The number of steps between the smallest and the largest number.
STEPS = 1024
#: The bits of a multiple of a step, of those that a ``float`` has.
BITS = 22
#: A number of the formula, as Python and C compute it.
SCATTERED = "((uint32_t)i * 2654435761u + seed * 40503u) >> 8"


@dataclass(frozen=True)
class Formula:
    """The array whose element i is ``low + step * k``, with k below ``count``.

    k is ``(i * 2654435761 + seed * 40503) % 2**32 // 256 % count``. All numbers are exact.
    """

    low: float | int
    step: float | int
    count: int
    seed: int

    def array(self, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
        """Returns the array.

        >>> Formula(0, 1, 3, 1).array("int64", (2, 4)).tolist()
        [[2, 0, 1, 0], [0, 1, 0, 1]]
        """
        size = math.prod(shape)
        numbers = np.arange(size, dtype=np.uint64) * np.uint64(2654435761)
        scattered = (numbers + np.uint64(self.seed * 40503)) % np.uint64(2**32) // np.uint64(256)
        k = scattered % np.uint64(self.count)
        if dtype.startswith("float"):
            result = self.low + self.step * k.astype(np.float64)
        else:
            result = k.astype(np.int64) + np.int64(self.low)
        return result.astype(dtype).reshape(shape)


def formula_for(dtype: str, seed: int) -> Formula:
    """Returns the formula of an array without values: floats from 0.3 to 1.7, integers 0 and 1."""
    if dtype.startswith("float"):
        return Formula(307 / STEPS, 1 / STEPS, 1434, seed)
    return Formula(0, 1, 2, seed)


def formula_like(array: np.ndarray, seed: int) -> Formula:
    """Returns a formula whose numbers are in the range of those of an array."""
    if array.dtype.kind == "f":
        return _floats_like(array[np.isfinite(array)].astype(np.float64), str(array.dtype), seed)
    low, high = int(array.min()), int(array.max())
    if high >= 2**63:
        return formula_for(str(array.dtype), seed)
    return Formula(low, 1, min(high - low, 2**20) + 1, seed)


def _floats_like(numbers: np.ndarray, dtype: str, seed: int) -> Formula:
    """Returns the formula for the range of finite numbers."""
    if not numbers.size:
        return formula_for(dtype, seed)
    low, high = float(numbers.min()), float(numbers.max())
    largest = max(abs(low), abs(high))
    span = high - low
    if span == 0 or not math.isfinite(span) or largest < np.finfo(dtype).tiny * 2.0**BITS:
        return Formula(low, 0.0, 1, seed)
    exponent = max(math.frexp(span / STEPS)[1], math.frexp(largest)[1] - BITS)
    step = math.ldexp(1.0, exponent)
    first, last = math.ceil(low / step), math.floor(high / step)
    if last < first:
        return Formula(low, 0.0, 1, seed)
    return Formula(first * step, step, last - first + 1, seed)


__all__ = ["SCATTERED", "Formula", "formula_for", "formula_like"]
