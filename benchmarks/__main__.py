"""``python -m benchmarks [--cpu] [names]``: a Markdown table of ours beside hand-written NumPy.

``--cpu`` counts the time on one core, for a machine that others use as well.

``python -m benchmarks calls`` measures what a cached call costs instead.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys

from benchmarks import call_overhead
from benchmarks.table import Row, markdown, measure
from benchmarks.workloads import WORKLOADS


def main(names: list[str]) -> int:
    """Measures the workloads of these names, or all."""
    if names[:1] == ["--row"]:
        print(json.dumps(dataclasses.asdict(measure(names[1]))))
        return 0
    if names[:1] == ["--cpu"]:
        os.environ.update(BENCHMARK_CLOCK="cpu", OPENBLAS_NUM_THREADS="1")
        names = names[1:]
    if names == ["calls"]:
        call_overhead.main()
        return 0
    strange = [name for name in names if name not in WORKLOADS]
    if strange:
        print(f"no workload {', '.join(strange)}; there are {', '.join(WORKLOADS)}, calls",
              file=sys.stderr)  # fmt: skip
        return 2
    print(markdown([apart(name) for name in names or WORKLOADS]))
    return 0


def apart(name: str) -> Row:
    """The row of a workload, measured in a process of its own: what one allocates changes what the
    next one finds."""
    command = [sys.executable, "-m", "benchmarks", "--row", name]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Row(**json.loads(done.stdout))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
