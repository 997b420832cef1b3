"""Times candidates in turn (A B C, B C A, …), so that a machine's drift meets all of them.

A candidate is a function that runs one round and tells the seconds of one call. ``repeated`` makes
one of a callable; a process that runs one when it is asked is another.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping


def _clock() -> Callable[[], float]:
    """The time of this thread on a core where ``BENCHMARK_CLOCK`` says ``cpu``, else of the day."""
    return time.thread_time if os.environ.get("BENCHMARK_CLOCK") == "cpu" else time.perf_counter


def interleaved(
    candidates: Mapping[str, Callable[[], float]], rounds: int = 40
) -> dict[str, float]:
    """The median time of one call of each candidate, in seconds.

    Each round asks every candidate once, beginning with another one each time.
    """
    names = list(candidates)
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            times[name].append(candidates[name]())
    return {name: statistics.median(times[name]) for name in names}


def repeated(call: Callable[[], object], seconds: float = 0.005) -> Callable[[], float]:
    """A candidate whose rounds call ``call`` for about ``seconds``, so that what others left in
    the caches and in the allocator is not charged to it."""
    count, clock = _repeats(call, seconds), _clock()

    def one_round() -> float:
        start = clock()
        for _ in range(count):
            call()
        return (clock() - start) / count

    return one_round


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
