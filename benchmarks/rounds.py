"""Times candidates in turn (A B C, B C A, …), so that a machine's drift meets all of them.

A candidate is a function that runs one round and tells the seconds of one call. ``repeated`` makes
one of a callable; a process that runs one when it is asked is another.
"""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Callable, Mapping

#: What makes a process and those that it starts count their own time, and work in one thread.
ONE_CORE = {"BENCHMARK_CLOCK": "cpu"} | dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)

#: What makes processes use the allocator as it is at first.
FRESH = {"BENCHMARK_ALLOCATOR": "fresh"}
#: What makes glibc keep freed memory, as it does in any process that runs for some time.
_STEADY = {
    "MALLOC_TRIM_THRESHOLD_": "1000000000",
    "MALLOC_MMAP_THRESHOLD_": "1000000000",
    "MALLOC_TOP_PAD_": "67108864",
}


def allocator() -> dict[str, str]:
    """The environment of a process that is measured: steady, unless ``FRESH`` is set."""
    return {} if FRESH.items() <= os.environ.items() else dict(_STEADY)


def clock() -> float:
    """Seconds: of the day, or of the processor where ``BENCHMARK_CLOCK`` says ``cpu``, then with
    all threads and with the processes that are over."""
    if os.environ.get("BENCHMARK_CLOCK") != "cpu":
        return time.perf_counter()
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


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
    count = _repeats(call, seconds)

    def one_round() -> float:
        start = clock()
        for _ in range(count):
            call()
        return (clock() - start) / count

    return one_round


def _repeats(call: Callable[[], object], seconds: float) -> int:
    """How many calls take about ``seconds``; the first ones only warm up."""
    count = 1
    while True:
        start = clock()
        for _ in range(count):
            call()
        spent = clock() - start
        if spent >= seconds / 4:
            return max(1, round(seconds * count / spent))
        count *= 4
