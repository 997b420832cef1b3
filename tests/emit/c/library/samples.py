"""Numbers at which functions are tried, and the distance of results in units in the last place."""

from __future__ import annotations

import numpy as np

SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, 10.0)
#: A number of more digits than float64, where the platform has one.
WIDE = np.longdouble
#: What the reference itself may be wrong by, in units of float64.
SLACK = 0.01 if np.finfo(WIDE).nmant > 60 else 1.5


def _extremes(dtype: type) -> list[float]:
    info = np.finfo(dtype)
    sizes = [info.smallest_subnormal, info.tiny, info.max, info.eps, info.tiny * 1.5]
    return [*sizes, *(-each for each in sizes)]


def numbers(dtype: type) -> np.ndarray:
    """Returns numbers of all sizes: every 100,003rd float32, or float64 of a fixed seed."""
    if dtype is np.float32:
        bits = np.arange(0, 2**32, 100_003, dtype=np.uint64).astype(np.uint32)
        drawn = [bits.view(np.float32)]
    else:
        random = np.random.default_rng(17)
        drawn = [random.integers(0, 2**64, 6000, dtype=np.uint64).view(np.float64)]
        drawn += [random.normal(0.0, scale, 1500) for scale in (1e-3, 0.1, 0.5, 1, 5, 30, 300, 1e6)]
        drawn += [random.normal(1.0, scale, 1500) for scale in (1e-9, 1e-3, 0.2)]
    return np.concatenate([*drawn, np.array([*SPECIAL, *_extremes(dtype)], dtype)]).astype(dtype)


def pairs(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Returns pairs of numbers: special ones with each other, near ones, and ones of all sizes."""
    random = np.random.default_rng(18)
    special = np.array([*SPECIAL, *_extremes(dtype), 1.5, 2.5, -2.5, 7.0, -3.0, 2.0**24 + 1])
    x, y = (each.ravel() for each in np.meshgrid(special, special))
    near = random.normal(0.0, 10.0, 4000)
    bits = random.integers(0, 2**64, 1500, dtype=np.uint64)
    drawn = bits.view(np.float64) if dtype is np.float64 else bits.astype(np.uint32).view(dtype)
    with np.errstate(all="ignore"):
        first = [x, near, np.round(near), drawn, drawn]
        second = [y, near[::-1], np.round(near[::-1]), drawn[::-1], drawn * dtype(0.37)]
        return (
            np.concatenate([each.astype(dtype) for each in first]),
            np.concatenate([each.astype(dtype) for each in second]),
        )


def distance(result: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Returns how far results are from exact values, in units in the last place of these.

    A wrong sign of zero, a wrong infinity and a wrong NaN are infinitely far. Values that exceed
    the largest number by less than half a unit may be infinite or not.
    """
    info = np.finfo(result.dtype)
    with np.errstate(all="ignore"):
        finite = np.isfinite(exact) & (exact != 0)
        exponent = np.frexp(np.where(finite, exact, 1))[1] - 1
        unit = np.ldexp(WIDE(1), np.maximum(exponent, info.minexp) - info.nmant)
        apart = np.abs(result.astype(WIDE) - exact) / unit
        rounded = exact.astype(result.dtype)
        same = (np.isnan(result) & np.isnan(exact)) | (result == rounded)
        same &= (result != 0) | (rounded != 0) | (np.signbit(result) == np.signbit(rounded))
        at_edge = np.isinf(result) & (np.abs(exact) > info.max * (1 - 4 * info.eps))
        at_edge &= np.signbit(result) == np.signbit(exact)
        apart = np.where(same & ~np.isfinite(result), 0, np.where(at_edge, 0.5, apart))
        apart = np.where(~same & (result == 0) & (rounded == 0), np.inf, apart)
        return np.where(np.isnan(apart), np.inf, apart).astype(np.float64)


def farthest(apart: np.ndarray, result: np.ndarray, *operands: np.ndarray) -> str:
    """Returns a line about the worst result, for a failed test."""
    k = int(np.argmax(apart))
    return f"{apart[k]:.3f} units at {[float(x[k]) for x in operands]}: {result[k]!r}"
