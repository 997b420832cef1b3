"""Ours beside the hand-written gradient: values compared first, then timed in turn."""

from __future__ import annotations

import math
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_compiler import compile_info
from benchmarks import ours
from benchmarks.rounds import interleaved
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.workload import Workload


@dataclass(frozen=True)
class Row:
    """``ratio`` and ``memory`` are ours to the hand version's; ``first`` is in seconds."""

    name: str
    ratio: float
    memory: float
    first: float


def measure(name: str, rounds: int = 15) -> Row:
    """Runs one workload. Raises AssertionError where the values differ."""
    compile_info().clear()
    work = WORKLOADS[name]()
    call = ours.CALLS[name](work)
    start = time.perf_counter()
    found = call()
    first = time.perf_counter() - start
    compare(name, ours.arrays(found), ours.arrays(work.answer()), work)
    del found
    # Each candidate runs for several of its calls, so that what one leaves in the caches and in
    # the allocator is not charged to the other.
    times = interleaved({"ours": call, "hand": work.answer}, rounds, 0.03)
    kept = sum(unit.work_bytes for unit in compile_info().units)
    memory = (_peak(call) + kept) / max(_peak(work.answer), 1)
    return Row(name, times["ours"] / times["hand"], memory, first)


def compare(
    name: str, found: Sequence[np.ndarray], wanted: Sequence[np.ndarray], work: Workload
) -> None:
    """Holds every array against the hand-written one."""
    assert len(found) == len(wanted), f"{name}: {len(found)} arrays, not {len(wanted)}"
    for place, (have, want) in enumerate(zip(found, wanted)):
        assert have.shape == want.shape, f"{name}: array {place} is {have.shape}, not {want.shape}"
        scale = np.max(np.abs(want))
        error = np.max(np.abs(have - want)) / scale
        assert error <= work.tolerance, f"{name}: array {place} is off by {error:.1e}"


def _peak(call: Callable[[], Any]) -> int:
    """The most memory that a call takes beyond what is there before it, in bytes."""
    tracemalloc.start()
    call()
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - before


def markdown(rows: Sequence[Row]) -> str:
    """The table, with the geometric mean of the ratios."""
    lines = [
        "| workload | ours / hand | peak memory, ours / hand | first call |",
        "|---|---:|---:|---:|",
    ]
    for row in rows:
        first = f"{row.first * 1e3:.0f} ms"
        lines.append(f"| {row.name} | {row.ratio:.2f} | {row.memory:.2f} | {first} |")
    mean = math.exp(sum(math.log(row.ratio) for row in rows) / len(rows))
    return "\n".join([*lines, f"| geometric mean | {mean:.2f} | | |"])
