"""``python -m benchmarks.peers [options] [workloads]``: ours beside other systems.

``--of jax_jit,torch_eager`` chooses peers; the gradient written by hand and ours always take part.
``--cpu`` counts the time on one core, for a machine that others use as well.
``--write`` writes ``benchmarks/results/``: the figures, the tables, the chart (needs matplotlib);
and the first tables into ``benchmarks/README.md``, between two marks. It does so after each
workload; figures of others stay. All peers have to take part.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import describe
from benchmarks.measure import Result, measure
from benchmarks.peers.environments import PEERS
from benchmarks.rounds import ONE_CORE
from benchmarks.table import full, short
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
    if given.write and set(peers) != set(PEERS):
        parser.error("--write takes all peers: ratios are of times taken in turn")
    machine = describe()
    if given.cpu:
        os.environ.update(ONE_CORE)
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        machine += "; processor time on one core"
    results: list[Result] = []
    for workload in given.workloads or WORKLOADS:
        start = time.perf_counter()
        found = measure(workload, peers, given.rounds, given.starts)
        results += (dataclasses.replace(each, machine=machine) for each in found)
        print(f"{workload}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        if given.write:
            _write(_beside_earlier(results))
    print(full(results))
    # matplotlib may be missing, and should not be in the process that measures.
    draw = [sys.executable, "-m", "benchmarks.chart"]
    if given.write and subprocess.run(draw).returncode:
        print("there is no new chart: pip install '.[bench]', then python -m benchmarks.chart",
              file=sys.stderr)  # fmt: skip
    return 0


def read() -> list[Result]:
    """The results that are written, in the order of workloads; what is no workload any more is
    left out."""
    file = RESULTS / "peers.json"
    rows = json.loads(file.read_text("utf-8")) if file.is_file() else []
    return _in_order([Result(**row) for row in rows])


def _in_order(results: Sequence[Result]) -> list[Result]:
    return [each for name in WORKLOADS for each in results if each.workload == name]


def _beside_earlier(results: Sequence[Result]) -> list[Result]:
    """With those that are written, of other workloads."""
    new = {result.workload for result in results}
    return _in_order([*results, *(each for each in read() if each.workload not in new)])


def _write(results: Sequence[Result]) -> None:
    RESULTS.mkdir(exist_ok=True)
    rows = [dataclasses.asdict(result) for result in results]
    (RESULTS / "peers.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    (RESULTS / "peers.md").write_text(f"{full(results)}\n", "utf-8")
    before, begin, rest = README.read_text("utf-8").partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    README.write_text("".join((before, begin, short(results), "\n", end, after)), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
