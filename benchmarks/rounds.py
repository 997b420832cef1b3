"""Times callables in turn (A B C, B C A, …), so that a machine's drift meets all of them."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping


def _clock() -> Callable[[], float]:
    """The time of this thread on a core where ``BENCHMARK_CLOCK`` says ``cpu``, else of the day."""
    return time.thread_time if os.environ.get("BENCHMARK_CLOCK") == "cpu" else time.perf_counter


def interleaved(
    candidates: Mapping[str, Callable[[], object]], rounds: int = 40, seconds: float = 0.005
) -> dict[str, float]:
    """The median time of one call of each candidate, in seconds.

    Each round runs every candidate for about ``seconds``, beginning with another one each time.
    """
    names, clock = list(candidates), _clock()
    repeats = {name: _repeats(candidates[name], seconds) for name in names}
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            call, count = candidates[name], repeats[name]
            start = clock()
            for _ in range(count):
                call()
            times[name].append((clock() - start) / count)
    return {name: statistics.median(times[name]) for name in names}


def _repeats(call: Callable[[], object], seconds: float) -> int:
    """How many calls take about ``seconds``; the first ones only warm up."""
    count, clock = 1, _clock()
    while True:
        start = clock()
        for _ in range(count):
            call()
        spent = clock() - start
        if spent >= seconds / 4:
            return max(1, round(seconds * count / spent))
        count *= 4
