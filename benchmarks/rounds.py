"""Times callables in turn (A B C, B C A, …), so that a machine's drift meets all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def interleaved(
    candidates: Mapping[str, Callable[[], object]], rounds: int = 40, seconds: float = 0.005
) -> dict[str, float]:
    """The median time of one call of each candidate, in seconds.

    Each round runs every candidate for about ``seconds``, beginning with another one each time.
    """
    names = list(candidates)
    repeats = {name: _repeats(candidates[name], seconds) for name in names}
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            call, count = candidates[name], repeats[name]
            start = time.perf_counter()
            for _ in range(count):
                call()
            times[name].append((time.perf_counter() - start) / count)
    return {name: statistics.median(times[name]) for name in names}


def _repeats(call: Callable[[], object], seconds: float) -> int:
    """How many calls take about ``seconds``; the first ones only warm up."""
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            call()
        spent = time.perf_counter() - start
        if spent >= seconds / 4:
            return max(1, round(seconds * count / spent))
        count *= 4
