"""A process that runs one workload for one peer: ``-m benchmarks.peers.serve PEER WORKLOAD``.

It does nothing until it reads a word on its standard input, does that, and answers with a line of
JSON. NumPy is imported with the runner, so that what the import costs is told for each alike.
"""

from __future__ import annotations

import json
import os
import sys
import tracemalloc
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import RUNNERS
from benchmarks.rounds import clock, repeated

#: About how long a round takes; a call that takes longer runs once.
ROUND = 0.03
STATUS = Path("/proc/self/status")


class Session:
    """What may be asked, each by its name."""

    def __init__(self, peer: str, workload: str):
        start = clock()
        self.runner = import_module(f"benchmarks.peers.{peer}")
        self.imported = clock() - start
        self.work = import_module("benchmarks.workloads").WORKLOADS[workload]()
        self.make = self.runner.make
        self.tolerance = RUNNERS[peer].tolerance

    def first(self) -> dict[str, Any]:
        """The first call; the values are held against those written by hand. ``resident`` is the
        most memory that the process has in its first calls, beyond what it had with the peer and
        the data loaded: tensors, what is compiled, and what is kept. Linux alone tells it."""
        before = _restart_peak() if STATUS.is_file() else None
        self.call = self.make(self.work)
        first = self._seconds()
        for _ in range(3):
            found = self.call()
        peak = None if before is None else _resident("VmHWM") - before
        self.work.check(self.runner.arrays(found), self.tolerance)
        return {"imported": self.imported, "first": first, "resident": peak}

    def again(self) -> float:
        """The first call of the same program once more, compiled anew in a process that is warm."""
        self.runner.forget()
        self.call = self.make(self.work)
        return self._seconds()

    def warm(self) -> None:
        """Prepares for rounds."""
        self.one_round = repeated(self.call, ROUND)

    def round(self) -> float:
        """The seconds of a call, in one round."""
        return self.one_round()

    def allocated(self) -> int:
        """The most memory that Python and NumPy allocate in a call, with what is kept between."""
        tracemalloc.start()
        self.call()
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        self.call()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak - before + getattr(self.runner, "kept", int)()

    def version(self, package: str) -> str:
        """The version of an installed package."""
        return metadata.version(package)

    def _seconds(self) -> float:
        start = clock()
        self.call()
        return clock() - start


def _restart_peak() -> int:
    """Forgets the peak so far; returns the bytes that are resident now."""
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    return _resident("VmRSS")


def _resident(field: str) -> int:
    """Bytes, from the line of the kernel's report that begins with ``field``."""
    (line,) = (line for line in STATUS.read_text("ascii").splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def main(peer: str, workload: str) -> None:
    """Answers until the input ends. What a peer prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    session = Session(peer, workload)
    for line in sys.stdin:
        word, *rest = line.split()
        print(json.dumps(getattr(session, word)(*rest)), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
