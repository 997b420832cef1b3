"""One comparison of a derivative: along which directions, with which difference, how near."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from autodiff_compiler.common.tensor import Tensor

#: Inputs with no more elements than this are probed at each of them.
EACH_ELEMENT = 6


@dataclass(frozen=True)
class Row:
    """One comparison: of which order, in what, along which direction, and both numbers; ``what``
    is the gradient, the tangent, or the inner product of both."""

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
    limits: tuple,
) -> Iterator[Row]:
    """Compares a gradient along directions with the differences of ``function`` around ``at``.

    ``limits`` are the relative and the absolute error allowed, the step of a difference, and how
    many random directions are taken."""
    _, _, step, directions = limits
    found = gradient.asnumpy()
    if found.shape != at.shape:
        raise AssertionError(
            f"the gradient of order {order} in '{name}' has the shape {found.shape}, "
            f"but '{name}' has {at.shape}"
        )
    for along, direction in directions_in(at, directions, rng):
        terms = found * direction
        expected = difference(function, at, direction, step)
        largest = float(np.abs(terms).max(initial=0.0))
        yield compared(order, name, along, expected, float(terms.sum()), largest, limits)


def compared(
    order: int,
    name: str,
    probe: str,
    expected: float,
    got: float,
    largest: float,
    limits: tuple,
    what: str = "gradient",
) -> Row:
    """A comparison; ``largest`` is the largest term that ``got`` is the sum of."""
    rtol, atol = limits[:2]
    scale = max(abs(expected), largest)
    distance = abs(got - expected)
    good = bool(distance <= atol + rtol * scale)
    return Row(order, name, probe, expected, got, distance / max(scale, atol), good, what)


def directions_in(
    at: np.ndarray, count: int, rng: np.random.Generator
) -> Iterator[tuple[str, np.ndarray]]:
    """``count`` random directions and some single elements, with what they are called."""
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
    """The derivative along ``direction``: Richardson's formula on two central differences."""

    def central(h: float) -> float:
        return (function(at + h * direction) - function(at - h * direction)) / (2.0 * h)

    return (4.0 * central(step / 2.0) - central(step)) / 3.0


__all__ = ["Row", "compared", "difference", "directions_in", "probe"]
