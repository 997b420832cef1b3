"""Prints how far special functions are from the exact value, in units in the last place.

    python -m benchmarks.bounds

It needs mpmath. The figures stand in ``docs/extremes.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np

from autodiff_compiler import Tensor, grad, ops

Exact = Callable[[Any], Any]
NEAR = [1e-8, 1e-3, 1 - 1e-9, 1 + 1e-9, 2 - 1e-9, 2 + 1e-9]


def between(low: float, high: float, count: int = 80) -> list[float]:
    """Points of equal distance."""
    return [float(x) for x in np.linspace(low, high, count)]


def _sigmoid_slope(x: Any) -> Any:
    return mpmath.exp(-x) / (1 + mpmath.exp(-x)) ** 2


#: The name, our function, the exact one, and the points.
ROWS: Sequence[tuple[str, Callable[[Tensor], Tensor], Exact, list[float]]] = (
    ("sigmoid", ops.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x)), between(-700, 40)),
    ("sigmoid', x < 0", grad(ops.sigmoid), _sigmoid_slope, between(-80, -0.1)),
    ("sigmoid', 0 < x < 8", grad(ops.sigmoid), _sigmoid_slope, between(0.1, 8)),
    ("tanh", ops.tanh, mpmath.tanh, between(-25, 25)),
    ("tanh', -2 to 2", grad(ops.tanh), lambda x: 1 / mpmath.cosh(x) ** 2, between(-2, 2)),
    ("softplus", ops.softplus, lambda x: mpmath.log1p(mpmath.exp(x)), between(-700, 700)),
    ("lgamma, 0.5 to 2.5", ops.lgamma, mpmath.loggamma, [*between(0.51, 2.49), *NEAR[2:]]),
    ("lgamma, 2.5 to 1000", ops.lgamma, mpmath.loggamma, between(2.5, 1000, 400)),
    ("digamma, beyond 1.6", ops.digamma, mpmath.digamma, between(1.6, 40)),
    ("polygamma(1)", lambda x: ops.polygamma(1, x), lambda x: mpmath.polygamma(1, x),
     [*between(-9.7, -0.3, 18), *between(0.01, 40)]),
    ("polygamma(2), x > 0", lambda x: ops.polygamma(2, x), lambda x: mpmath.polygamma(2, x),
     between(0.01, 40)),
    ("erf", ops.erf, mpmath.erf, between(-6, 6)),
    ("erfc, x < 9", ops.erfc, mpmath.erfc, between(-6, 9)),
    ("erfc, 9 to 26", ops.erfc, mpmath.erfc, between(9, 26)),
    ("erfinv", ops.erfinv, mpmath.erfinv, between(-0.999, 0.999)),
    ("i0", ops.i0, lambda x: mpmath.besseli(0, x), between(-80, 80)),
)  # fmt: skip


def farthest(
    ours: Callable[[Tensor], Tensor], exact: Exact, points: list[float], dtype: str
) -> Any:
    """The largest error in units in the last place, of results that are normal numbers."""
    x = np.unique(np.array(points, dtype))
    worst = 0.0
    with mpmath.workdps(60):
        for at, found in zip(x, ours(Tensor(x)).asnumpy()):
            right = mpmath.mpf(mpmath.re(exact(mpmath.mpf(float(at)))))
            if np.finfo(dtype).tiny < abs(right) < float(np.finfo(dtype).max):
                unit = float(np.spacing(np.abs(np.dtype(dtype).type(float(right)))))
                worst = max(worst, float(abs(mpmath.mpf(float(found)) - right)) / unit)
    return worst


def main() -> None:
    """Prints the table."""
    print("| function | float64 | float32 |\n| --- | --- | --- |")
    for name, ours, exact, points in ROWS:
        cells = [f"{farthest(ours, exact, points, t):.1f}" for t in ("float64", "float32")]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
