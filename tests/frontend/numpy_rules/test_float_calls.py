"""``float``, ``item``, ``max`` and ``min`` keep derivatives in plain functions."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms

X = np.array([1.0, 2.0, 3.0])


class Key(str, enum.Enum):
    RATE = "rate"


RATES = {Key.RATE: 2.0, "rates": 3.0}

#: Functions of a number or an array, and their arguments.
PROGRAMS: list[tuple[Callable[..., Any], Any]] = [
    (lambda x: float(x) * 3, 4.0),
    (lambda x: float(x * x) * 2, 4.0),
    (lambda x: x * float(x), 4.0),
    (lambda x: np.sin(float(x)), 0.7),
    (lambda x: abs(float(x)) * x, 0.7),
    (lambda x: float(x) * 2, np.float64(4)),
    (lambda x: float(np.sin(x)), 0.7),
    (lambda x: np.asarray(x).item(), 0.7),
    (lambda x: float(x[0]) * 2, X),
    (lambda x: float(x.sum()), X),
    (lambda x: float(np.dot(x, x)) * x[1], X),
    (lambda x: max(x, 1.0) * 2, 2.0),
    (lambda x: min(x, 9.0), 2.0),
    (lambda x: max([x, 2 * x]), 2.0),
    (lambda x: max(v * x for v in (1.0, 2.0)), 2.0),
    (lambda x: x * RATES[Key.RATE] * RATES["rates"], 2.0),
]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_the_gradient_is_that_of_differences(number: int) -> None:
    program, given = PROGRAMS[number]
    direction = np.ones_like(given) * 0.3 if isinstance(given, np.ndarray) else 0.3
    step = 1e-6
    wanted = (program(given + step * direction) - program(given - step * direction)) / (2 * step)
    value, slope = ms.value_and_grad(program)(given)
    assert np.isclose(value, program(given))
    assert np.isclose(np.sum(slope * direction), wanted, rtol=1e-6)
    assert np.isclose(ms.jvp(program, given, direction)[1], wanted, rtol=1e-6)
