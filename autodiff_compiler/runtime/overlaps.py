"""Tests of memory overlap between the arrays of a call, for functions that write to arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from autodiff_compiler.cost_model import costs


def are_disjoint(things: Sequence[Any], first: int, last: int) -> bool:
    """True if none of ``things[:last]`` shares memory with another of ``things[first:]``.

    >>> a = np.ones(4)
    >>> are_disjoint((a[::2], a[1::2]), 1, 1), are_disjoint((a[1:], a[:2]), 1, 1)
    (True, False)
    """
    arrays = [getattr(thing, "_data", thing) for thing in things]
    if last * (len(arrays) - first) <= costs().compared_pairs:
        pairs = ((n, m) for n in range(last) for m in range(first, len(arrays)) if n != m)
    else:
        pairs = ((n, m) for n, m in _neighbours(arrays) if min(n, m) < last and max(n, m) >= first)
    return not any(_overlap(arrays[n], arrays[m]) for n, m in pairs)


def _neighbours(arrays: Sequence[np.ndarray]) -> Iterator[tuple[int, int]]:
    """Yields the pairs of arrays whose address ranges intersect."""
    rows = sorted((*byte_bounds(array), n) for n, array in enumerate(arrays))
    open_rows: list[tuple[int, int]] = []
    for low, high, n in rows:
        open_rows = [(end, m) for end, m in open_rows if end > low]
        for _, m in open_rows:
            yield n, m
        open_rows.append((high, n))


def _overlap(one: np.ndarray, other: np.ndarray) -> bool:
    if not np.may_share_memory(one, other):
        return False
    try:
        # NumPy's stub allows -1 and 0 only.
        return np.shares_memory(one, other, costs().overlap_steps)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def overlaps_itself(array: Any) -> bool:
    """True if two elements of an array lie in the same place. If each stride is at least the extent
    of the shorter ones, none do.

    >>> rows = np.lib.stride_tricks.sliding_window_view(np.arange(4.0), 3)
    >>> overlaps_itself(rows), overlaps_itself(rows[:1]), overlaps_itself(rows.copy())
    (True, False, False)
    """
    if not isinstance(array, np.ndarray):
        return False  # a number
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return False
    axes = sorted((abs(s), n) for s, n in zip(array.strides, array.shape) if n > 1)
    extent = array.itemsize
    for stride, count in axes:
        if stride < extent:
            break
        extent += stride * (count - 1)
    else:
        return False
    span = sum(stride * (count - 1) for stride, count in axes) + array.itemsize
    if span < array.nbytes or any(stride % array.itemsize for stride, _ in axes):
        return True
    places = np.zeros((1,), np.int64)
    for stride, count in axes:
        places = np.add.outer(places, stride * np.arange(count)).reshape(-1)
    return np.unique(places).size < places.size


__all__ = ["are_disjoint", "overlaps_itself"]
