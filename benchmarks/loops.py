"""Gradients of functions that fill arrays in loops, item by item, beside those written by hand.

The law is that a gradient costs a constant multiple of its function. It is held at three sizes: at
most twice the time that an expert's loop takes, which writes in place, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import autodiff_compiler as ad
from benchmarks.rounds import clock, interleaved

SIZES = (10_000, 100_000, 400_000)
LIMIT = 2.0
#: How many items all rounds of a case have, with at least five rounds.
ITEMS = 500_000
#: How many items a row has.
WIDTH = 8

Array = np.ndarray[Any, Any]


def recurrence(x: Array) -> Any:
    """Each item from the one before."""
    out = np.zeros(len(x))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = np.tanh(out[i - 1]) + x[i]
    return (out * out).sum()


def recurrence_by_hand(x: Array) -> tuple[Any, Array]:
    """Its value and gradient."""
    out = np.zeros(len(x))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = np.tanh(out[i - 1]) + x[i]
    d_out = 2 * out
    for i in range(len(x) - 1, 0, -1):
        slope = out[i] - x[i]
        d_out[i - 1] += d_out[i] * (1 - slope * slope)
    return (out * out).sum(), d_out


def soft_dtw(d: Array) -> Any:
    """The soft minimum of the costs of all ways through a matrix of distances (Cuturi, Blondel)."""
    n, m = d.shape
    r = np.zeros((n + 1, m + 1)) + 1e10
    r[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a, b, c = -r[i - 1, j - 1], -r[i - 1, j], -r[i, j - 1]
            top = max(a, b, c)
            total = np.exp(a - top) + np.exp(b - top) + np.exp(c - top)
            r[i, j] = d[i - 1, j - 1] - np.log(total) - top
    return r[n, m]


def soft_dtw_by_hand(d: Array) -> tuple[Any, Array]:
    """Its value and gradient: the shares of the three ways are kept."""
    n, m = d.shape
    r = np.zeros((n + 1, m + 1)) + 1e10
    r[0, 0] = 0.0
    shares = np.zeros((n + 1, m + 1, 3))
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a, b, c = -r[i - 1, j - 1], -r[i - 1, j], -r[i, j - 1]
            top = max(a, b, c)
            u, v, w = np.exp(a - top), np.exp(b - top), np.exp(c - top)
            total = u + v + w
            r[i, j] = d[i - 1, j - 1] - np.log(total) - top
            shares[i, j, 0], shares[i, j, 1], shares[i, j, 2] = u / total, v / total, w / total
    d_r = np.zeros((n + 1, m + 1))
    d_r[n, m] = 1.0
    for i in range(n, 0, -1):
        for j in range(m, 0, -1):
            given = d_r[i, j]
            d_r[i - 1, j - 1] += given * shares[i, j, 0]
            d_r[i - 1, j] += given * shares[i, j, 1]
            d_r[i, j - 1] += given * shares[i, j, 2]
    return r[n, m], d_r[1:, 1:]


def rows(x: Array) -> Any:
    """Each row from the one before."""
    out = np.zeros((len(x), WIDTH))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = np.tanh(out[i - 1]) * x[i]
    return (out * out).sum()


def rows_by_hand(x: Array) -> tuple[Any, Array]:
    """Its value and gradient."""
    out, slopes = np.zeros((len(x), WIDTH)), np.zeros((len(x), WIDTH))
    out[0] = x[0]
    for i in range(1, len(x)):
        slopes[i] = np.tanh(out[i - 1])
        out[i] = slopes[i] * x[i]
    d_out, d_x = 2 * out, np.zeros((len(x), WIDTH))
    for i in range(len(x) - 1, 0, -1):
        d_x[i] = d_out[i] * slopes[i]
        d_out[i - 1] += d_out[i] * x[i] * (1 - slopes[i] * slopes[i])
    d_x[0] = d_out[0]
    return (out * out).sum(), d_x


def _square(n: int) -> tuple[int, int]:
    return math.isqrt(n), math.isqrt(n)


#: The function, its gradient by hand, and the shape of its argument for so many items.
CASES: dict[
    str, tuple[Callable[..., Any], Callable[..., Any], Callable[[int], tuple[int, ...]]]
] = {
    "recurrence": (recurrence, recurrence_by_hand, lambda n: (n,)),
    "soft-DTW": (soft_dtw, soft_dtw_by_hand, _square),
    "rows": (rows, rows_by_hand, lambda n: (n // WIDTH, WIDTH)),
}


def measured(name: str, n: int, rounds: int | None = None) -> tuple[float, float]:
    """Returns the median seconds of our gradient and of that by hand, after both agreed.

    Small sizes have more rounds: a call of some milliseconds varies by a third.
    """
    function, by_hand, shape = CASES[name]
    x = np.random.default_rng(n).uniform(-1, 1, shape(n))
    ours = ad.value_and_grad(function)
    (value, found), (expected, slopes) = ours(x), by_hand(x)
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    np.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-9)

    def timed(call: Callable[[Array], Any]) -> Callable[[], float]:
        def one_round() -> float:
            start = clock()
            call(x)
            return clock() - start

        return one_round

    times = interleaved({"ours": timed(ours), "hand": timed(by_hand)}, rounds or max(5, ITEMS // n))
    return times["ours"], times["hand"]


def main() -> int:
    """Prints the table; 1 if the promise is broken anywhere."""
    print("| loop | items | ours, s | by hand, s | ours / by hand |\n|---|---|---|---|---|")
    worst = 0.0
    for name in CASES:
        for n in SIZES:
            ours, hand = measured(name, n)
            worst = max(worst, ours / hand)
            print(f"| {name} | {n:,} | {ours:.3f} | {hand:.3f} | {ours / hand:.2f} |", flush=True)
    return int(worst > LIMIT)
