"""A user's NumPy functions, with every type written: ``make types`` checks them strictly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import autodiff_compiler as ms

Array = NDArray[np.float64]


def energy(x: Array, stiffness: float = 1.0) -> float:
    """Return the energy of springs between neighbours."""
    stretch = x[1:] - x[:-1] - 1.0
    return float(0.5 * stiffness * np.sum(stretch * stretch))


def force(x: Array) -> Array:
    """Return the force on each of the points."""
    return -ms.grad(energy)(x, stiffness=2.0)


def relax(x: Array, steps: int) -> tuple[Array, float]:
    """Move the points until the springs are at rest; return them and the energy that is left."""
    both = ms.value_and_grad(energy)
    left = 0.0
    for _ in range(steps):
        left, gradient = both(x)
        x = x - 0.2 * gradient
    return x, left


def slope(x: float) -> float:
    """Return the derivative of a lambda."""
    derivative: float = ms.grad(lambda t: t * t * t)(x)
    return derivative


def stiffness(x: Array) -> Array:
    """Return the second derivatives of the energy."""
    return ms.hessian(energy)(x)


def along(x: Array, v: Array) -> tuple[float, Array]:
    """Return the derivative of the energy along ``v``, and the Hessian times ``v``."""
    _, change = ms.jvp(energy, x, v)
    return change, ms.hvp(energy, x, v)


@ms.differentiable
def smooth(x: Array) -> Array:
    """Return the logistic function."""
    out: Array = 1.0 / (1.0 + np.exp(-x))
    return out


@ms.custom_gradient
def rounded(x: Array) -> tuple[Array, Callable[[Array], Array]]:
    """Return rounded values with the slope of the identity."""
    return np.round(x), lambda d_out: d_out


def text() -> str:
    """Return the source of a gradient."""
    return smooth.gradient_source("f64[3]") + ms.gradient_source(energy, "f64[3]", 1.0)
