"""``python -m benchmarks [--cpu] [--fresh] [names]``: a table of ours beside hand-written NumPy.

Ours is measured at level 1, the default, at level 2, which plans all memory, and as C.

``--cpu`` counts the time on one core, for a machine that others use as well. ``--fresh`` lets the
allocator return freed memory to the system, as in a young process.

``python -m benchmarks calls`` measures what a cached call costs instead, and ``python -m benchmarks
loops`` gradients of loops that write items, at three sizes. ``python -m benchmarks eager`` measures
calls at once.
"""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks import call_overhead, eager, loops
from benchmarks.measure import measure
from benchmarks.peers.environments import DEFAULT, RUNNERS, C
from benchmarks.rounds import FRESH, ONE_CORE
from benchmarks.table import brief
from benchmarks.workloads import WORKLOADS


def main(names: list[str]) -> int:
    """Measures the workloads of these names, or all."""
    options = {name for name in names if name in ("--cpu", "--fresh")}
    names = [name for name in names if name not in options]
    if "--fresh" in options:
        os.environ.update(FRESH)
    if "--cpu" in options:
        os.environ.update(ONE_CORE)
        if names in (["calls"], ["eager"], ["loops"]):
            # Measured in a new process: this one has imported NumPy, and its BLAS has threads.
            return subprocess.call([sys.executable, "-m", "benchmarks", *names])
    if names == ["calls"]:
        call_overhead.main()
        return 0
    if names == ["eager"]:
        return eager.main()
    if names == ["loops"]:
        return loops.main()
    strange = [name for name in names if name not in WORKLOADS]
    if strange:
        known = ", ".join([*WORKLOADS, "calls", "eager", "loops"])
        print(f"no workload {', '.join(strange)}; there are {known}", file=sys.stderr)
        return 2
    found = [DEFAULT, "ours", C, "hand"]
    results = [each for name in names or WORKLOADS for each in measure(name, found)]
    print(brief(results))
    failed = [each for each in results if each.reason]
    for each in failed:
        print(f"{RUNNERS[each.peer].title}, {each.workload}: {each.reason}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
