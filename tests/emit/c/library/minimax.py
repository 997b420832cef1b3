"""Minimax polynomials by the exchange algorithm of Remez, in the arithmetic of mpmath.

Only ``fit_coefficients`` uses this module: the tests need no mpmath.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import cos, lu_solve, matrix, mp, mpf, pi

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Fit:
    """A polynomial: the sum of c[k] x^(first + step k) approximates ``target`` on [low, high].

    The error that is made small is ``weight(x) * (target(x) - sum)``. The coefficients are numbers
    of ``dtype``. The first three are rounded one by one, and the others fitted again. Where 0 is
    inside the interval all are rounded at once: without the constant no exchange is possible.
    """

    target: Function
    low: Any
    high: Any
    terms: int
    dtype: str
    weight: Function = lambda x: mpf(1)

    def coefficients(self) -> tuple[list[float], float]:
        """Returns the coefficients, rising powers, and the largest weighted error."""
        fixed: list[Any] = []
        while self.low >= 0 and len(fixed) < min(3, self.terms - 1):
            rest = self._exchange(fixed)
            fixed.append(_rounded(rest[0], self.dtype))
        rest = [_rounded(each, self.dtype) for each in self._exchange(fixed)]
        values = fixed + rest
        error = max(abs(self._error(values, x)) for x in self._grid(40 * self.terms))
        return [float(each) for each in values], float(error)

    def _grid(self, count: int) -> list[Any]:
        """Returns Chebyshev's points of the interval, both ends included."""
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        return [middle - half * cos(pi * mpf(k) / (count - 1)) for k in range(count)]

    def _error(self, values: Sequence[Any], x: Any) -> Any:
        return self.weight(x) * (self.target(x) - _polynomial(values, x))

    def _exchange(self, fixed: Sequence[Any]) -> list[Any]:
        """Returns the coefficients after ``fixed`` for which the largest error is least."""
        first, unknowns = len(fixed), self.terms - len(fixed)
        grid = self._grid(24 * unknowns + 1)
        rows = [(self.weight(x), self.target(x) - _polynomial(fixed, x)) for x in grid]
        step = (len(grid) - 1) / unknowns
        chosen = [round(k * step) for k in range(unknowns + 1)]
        solution: list[Any] = []
        for _ in range(12):
            system = matrix(unknowns + 1, unknowns + 1)
            right = matrix(unknowns + 1, 1)
            for row, k in enumerate(chosen):
                weight, value = rows[k]
                for column in range(unknowns):
                    system[row, column] = weight * grid[k] ** (first + column)
                system[row, unknowns] = (-1) ** row
                right[row] = weight * value
            solution = list(lu_solve(system, right))
            tail = solution[:-1]
            errors = [
                weight * (value - x**first * _polynomial(tail, x))
                for x, (weight, value) in zip(grid, rows)
            ]
            level = abs(solution[-1])
            following = _extrema(errors, unknowns + 1)
            largest = max(abs(each) for each in errors)
            if following == chosen or largest <= level * mpf("1.01"):
                break
            chosen = following
        return solution[:-1]


def _extrema(errors: Sequence[Any], count: int) -> list[int]:
    """Returns the places of ``count`` large errors of alternating signs."""
    runs: list[int] = []
    for k, error in enumerate(errors):
        if runs and (errors[runs[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[runs[-1]]):
                runs[-1] = k
        else:
            runs.append(k)
    while len(runs) > count:
        if len(runs) - count == 1 or abs(errors[runs[0]]) < abs(errors[runs[-1]]):
            weakest = 0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else len(runs) - 1
            del runs[weakest]
        else:
            del runs[-1]
    if len(runs) < count:  # at the noise of the arithmetic: spread evenly
        step = (len(errors) - 1) / (count - 1)
        return [round(k * step) for k in range(count)]
    return runs


def _polynomial(values: Sequence[Any], x: Any) -> Any:
    result = mpf(0)
    for each in reversed(values):
        result = result * x + each
    return result


def _rounded(value: Any, dtype: str) -> Any:
    if dtype == "float32":
        # Through the 24 bits of the type, not through the 53 of a Python number.
        with mp.workprec(24):
            return mpf(float(np.float32(float(+value))))
    return mpf(float(value))
