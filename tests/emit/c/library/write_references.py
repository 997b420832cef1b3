"""Prints values of special functions, at points of a fixed seed, to 106 bits: references.json.

``python -m tests.emit.c.library.write_references`` needs mpmath. A value is two float64 numbers in
hexadecimal, of which the second is the rest.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import mpmath as m
import numpy as np
from mpmath import mp, mpf

mp.prec = 200


def erfinv(x: Any) -> Any:
    """Returns the inverse of erf, by Newton's steps; of large x on the logarithm of erfc."""
    size = abs(x)
    y = m.sqrt(-m.log((1 - size) * (1 + size))) * mpf("0.9")
    for _ in range(14):
        slope = 2 / m.sqrt(m.pi) * m.exp(-y * y)
        if size < 0.5:
            y -= (m.erf(y) - size) / slope
        else:
            y += m.erfc(y) / slope * m.log(m.erfc(y) / (1 - size))
    return y * m.sign(x)


def sinc(x: Any) -> Any:
    return m.sinpi(x) / (m.pi * x)


def lgamma(x: Any) -> Any:
    return m.re(m.loggamma(x))


def points(*parts: np.ndarray) -> np.ndarray:
    return np.concatenate(parts)


def sizes(low: float, high: float, count: int) -> np.ndarray:
    return 10.0 ** RANDOM.uniform(low, high, count)


RANDOM = np.random.default_rng(20)
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "erf": (
        m.erf,
        points(RANDOM.uniform(-6, 6, 120), RANDOM.uniform(0.9, 1.1, 30), sizes(-300, 0, 30)),
    ),
    "erfc": (
        m.erfc,
        points(
            RANDOM.uniform(-6, 6, 80),
            RANDOM.uniform(5, 27.2, 80),
            RANDOM.uniform(0.4, 0.6, 20),
            sizes(-20, 0, 20),
        ),
    ),
    "erfinv": (
        erfinv,
        points(RANDOM.uniform(-1, 1, 100), 1 - sizes(-16, 0, 50), sizes(-200, -1, 30)),
    ),
    "sinc": (sinc, points(RANDOM.normal(0, 3, 80), RANDOM.normal(0, 1e5, 40), sizes(-20, 0, 20))),
    "lgamma": (
        lgamma,
        points(
            RANDOM.uniform(0, 30, 120),
            RANDOM.normal(1, 1e-3, 20),
            RANDOM.normal(2, 1e-3, 20),
            sizes(-300, 305, 40),
            -RANDOM.uniform(0, 30, 40),
        ),
    ),
    "digamma": (
        m.digamma,
        points(
            RANDOM.uniform(0, 30, 120),
            RANDOM.normal(1.4616321449683622, 1e-3, 20),
            sizes(-300, 300, 40),
            -RANDOM.uniform(0, 30, 40),
        ),
    ),
}


def main() -> None:
    table = {}
    for name, (function, xs) in FUNCTIONS.items():
        rows = []
        for x in map(float, xs):
            value = function(mpf(x))
            high = float(value)
            rows.append([x.hex(), high.hex(), float(value - mpf(high)).hex()])
        table[name] = rows
    text = json.dumps(table).replace("], [", "],\n[").replace("]], ", "]],\n")
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
