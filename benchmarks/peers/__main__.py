"""``python -m benchmarks.peers [options] [workloads]``: ours beside other systems.

``--of jax_jit,torch_eager`` chooses peers; the gradient written by hand and ours always take part.
``--cpu`` counts the time on one core, for a machine that others use as well.
``--write`` writes ``benchmarks/results/``: the tables, the figures, the chart (needs matplotlib);
and the tables into ``benchmarks/README.md``, between two marks.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import describe
from benchmarks.measure import Result, measure
from benchmarks.peers.environments import PEERS
from benchmarks.rounds import ONE_CORE
from benchmarks.table import full
from benchmarks.workloads import WORKLOADS

RESULTS = Path(__file__).parents[1] / "results"
README = Path(__file__).parents[1] / "README.md"
MARKS = "<!-- measured -->\n", "<!-- end -->\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measures, prints the tables, and writes them where that is wanted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--of", default=",".join(PEERS), metavar="NAMES", help="peers, by commas")
    parser.add_argument("--rounds", type=int, default=15, help="times in turn (default: 15)")
    parser.add_argument("--starts", type=int, default=3, help="of quick ones (default: 3)")
    parser.add_argument("--cpu", action="store_true", help="processor time, on one core")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/")
    given = parser.parse_args(argv)
    peers = list(dict.fromkeys(["hand", "ours", *given.of.split(",")]))
    for names, known in ((given.workloads, WORKLOADS), (peers, PEERS)):
        strange = [name for name in names if name not in known]
        if strange:
            parser.error(f"there is no {', '.join(strange)}; there are {', '.join(known)}")
    machine = describe()
    if given.cpu:
        os.environ.update(ONE_CORE)
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        machine += "; processor time on one core"
    results: list[Result] = []
    for workload in given.workloads or WORKLOADS:
        results += measure(workload, peers, given.rounds, given.starts)
        print(f"{workload} is done", file=sys.stderr)
    text = f"On {machine}.\n\n{full(results)}\n"
    print(text, end="")
    if given.write:
        _write(text, results)
    return 0


def _write(text: str, results: Sequence[Result]) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "peers.md").write_text(text, "utf-8")
    before, begin, rest = README.read_text("utf-8").partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    README.write_text("".join((before, begin, text, end, after)), "utf-8")
    rows = [dataclasses.asdict(result) for result in results]
    (RESULTS / "peers.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    # matplotlib may be missing, and should not be in the process that measures.
    if subprocess.run([sys.executable, "-m", "benchmarks.chart"]).returncode:
        print("there is no new chart: pip install '.[bench]', then python -m benchmarks.chart",
              file=sys.stderr)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
