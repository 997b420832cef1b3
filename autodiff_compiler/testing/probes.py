"""Single comparisons of a derivative: directions, differences, tolerances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from autodiff_compiler.common.tensor import Tensor

#: The number of elements at which an input is probed.
EACH_ELEMENT = 6


class Limits(NamedTuple):
    """The error allowed, the step of a difference and the number of random directions."""

    rtol: float
    atol: float
    step: float
    directions: int


@dataclass(frozen=True)
class Row:
    """A comparison: order, name of the input, direction, and both numbers.

    ``what`` is the gradient, the tangent, or the inner product of both.
    """

    order: int
    name: str
    probe: str
    expected: float
    got: float
    error: float
    good: bool
    what: str = "gradient"


def probe(
    order: int,
    name: str,
    function: Callable[[np.ndarray], float],
    at: np.ndarray,
    gradient: Tensor,
    rng: np.random.Generator,
    limits: Limits,
) -> Iterator[Row]:
    """Compares a gradient with differences of ``function`` around ``at``, along several
    directions."""
    slopes = gradient.asnumpy()
    if slopes.shape != at.shape:
        raise AssertionError(
            f"the gradient of order {order} in '{name}' has the shape {slopes.shape}, "
            f"but '{name}' has {at.shape}"
        )
    for along, direction in directions_in(at, limits.directions, rng):
        terms = slopes * direction
        expected = difference(function, at, direction, limits.step)
        largest = float(np.abs(terms).max(initial=0.0))
        yield compared(order, name, along, expected, float(terms.sum()), largest, limits)


def compared(
    order: int,
    name: str,
    probe: str,
    expected: float,
    got: float,
    largest: float,
    limits: Limits,
    what: str = "gradient",
) -> Row:
    """Returns a comparison. ``largest`` is the largest term in the sum ``got``."""
    scale = max(abs(expected), largest)
    distance = abs(got - expected)
    good = bool(distance <= limits.atol + limits.rtol * scale)
    return Row(order, name, probe, expected, got, distance / max(scale, limits.atol), good, what)


def directions_in(
    at: np.ndarray, count: int, rng: np.random.Generator
) -> Iterator[tuple[str, np.ndarray]]:
    """Yields ``count`` random directions and some single elements, each with its name."""
    for number in range(count if at.size > 1 else 0):
        yield (
            f"direction {number + 1}",
            rng.choice([-1.0, 1.0], at.shape) * (0.5 + rng.random(at.shape)),
        )
    few = min(at.size, EACH_ELEMENT)
    for flat in sorted(rng.choice(at.size, few, replace=False)) if few else ():
        place = np.unravel_index(flat, at.shape)
        unit = np.zeros(at.shape)
        unit[place] = 1.0
        yield f"element {[int(k) for k in place]}", unit


def difference(
    function: Callable[[np.ndarray], float], at: np.ndarray, direction: np.ndarray, step: float
) -> float:
    """Returns the derivative along ``direction``: Richardson's formula on two central
    differences."""

    def central(h: float) -> float:
        return (function(at + h * direction) - function(at - h * direction)) / (2.0 * h)

    return (4.0 * central(step / 2.0) - central(step)) / 3.0


__all__ = ["Limits", "Row", "compared", "difference", "directions_in", "probe"]
