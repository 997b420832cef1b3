"""Ours as C: the same programs as ``ours``, with the target C."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_compiler import compile_info
from benchmarks.peers import ours
from benchmarks.peers.ours import Call, forget
from benchmarks.workloads.workload import Workload


def make(work: Workload) -> Call:
    """The gradient of the program, as ``ours.make`` makes it."""
    return ours.make(work, level=1, target="c")


def arrays(answer: Any) -> list[np.ndarray]:
    """The arrays of an answer, in order; raises RuntimeError if NumPy source ran in place of C."""
    for unit in compile_info().units:
        if unit.target != "c":
            raise RuntimeError(f"no C for {unit.title}: {unit.fallback}")
    return ours.arrays(answer)


__all__ = ["arrays", "forget", "make"]
