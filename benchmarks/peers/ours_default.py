"""Ours at level 1, the default: the text that a careful person writes."""

from __future__ import annotations

from benchmarks.peers import ours
from benchmarks.peers.ours import Call, arrays, forget, kept
from benchmarks.workloads.workload import Workload


def make(work: Workload) -> Call:
    """The gradient of the program, as ``ours.make`` makes it."""
    return ours.make(work, level=1)


__all__ = ["arrays", "forget", "kept", "make"]
