"""One workload for every peer: values first, then times in turn, one process running at a time."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from benchmarks.peers.environments import RUNNERS
from benchmarks.peers.process import Failed, Process
from benchmarks.rounds import interleaved

#: Seconds that a start may take to be made three times, and to be made again at all.
QUICK, SLOW = 3.0, 10.0


@dataclass(frozen=True)
class Result:
    """What one peer did with one workload; without ``seconds`` it did not, and ``reason`` says why.

    seconds    of a call, the median of many rounds.
    imported   seconds of the import in a fresh process, NumPy included.
    first      seconds of the first call there.
    again      seconds of the first call of the program compiled anew, in that process.
               None where the first took too long to be made again.
               Of these three the median, where they are quick.
    resident   bytes by which the process grew at most in its first calls, where it can be known.
    allocated  bytes that Python and NumPy allocate in a call and keep between calls; None where
               others allocate, too.
    machine    what it was measured on, and by which clock.
    """

    workload: str
    peer: str
    seconds: float | None = None
    imported: float = 0.0
    first: float = 0.0
    again: float | None = 0.0
    resident: int | None = None
    allocated: int | None = None
    version: str = ""
    reason: str = ""
    machine: str = ""


def measure(workload: str, peers: Sequence[str], rounds: int = 15, starts: int = 3) -> list[Result]:
    """Runs one workload for these peers, each in a process of its own; a quick start is made
    ``starts`` times."""
    results = {peer: Result(workload, peer, reason=RUNNERS[peer].missing) for peer in peers}
    running: dict[str, Process] = {}

    def first_of_another(peer: str) -> dict[str, float]:
        with Process(peer, workload) as process:
            return process.ask("first")

    def begin(peer: str) -> None:
        process = stack.enter_context(Process(peer, workload))
        first = process.ask("first")
        again = process.ask("again") if first["first"] < SLOW else None
        if first["imported"] + first["first"] < QUICK:
            more = [first, *(first_of_another(peer) for _ in range(starts - 1))]
            first = {key: first[key] and statistics.median([each[key] for each in more])
                     for key in first}  # fmt: skip
        if again is not None and again < QUICK:
            again = statistics.median([again, *(process.ask("again") for _ in range(starts - 1))])
        version = process.ask("version", RUNNERS[peer].package)
        process.ask("warm")
        results[peer] = Result(workload, peer, again=again, version=version, **first)
        running[peer] = process

    def failed(peer: str, failure: Failed) -> None:
        results[peer] = Result(workload, peer, reason=f"failed: {failure}")

    def round_of(peer: str) -> Callable[[], float]:
        def one_round() -> float:
            try:
                return running[peer].ask("round")
            except Failed as failure:
                failed(peer, failure)
                return math.nan

        return one_round

    with ExitStack() as stack:
        for peer in peers:
            if not results[peer].reason:
                try:
                    begin(peer)
                except Failed as failure:
                    failed(peer, failure)
        times = interleaved({peer: round_of(peer) for peer in running}, rounds)
        # Last: what the counting leaves in the heap keeps pages there that calls would lose.
        counted = {peer: each.ask("allocated") for peer, each in running.items()
                   if RUNNERS[peer].counted and not results[peer].reason}  # fmt: skip
    return [
        result
        if result.reason
        else replace(result, seconds=times[peer], allocated=counted.get(peer))
        for peer, result in results.items()
    ]
