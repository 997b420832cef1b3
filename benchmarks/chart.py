"""``python -m benchmarks.chart``: draws ``results/peers.png`` from ``results/peers.json``.

It needs matplotlib (``pip install '.[bench]'``).
"""

from __future__ import annotations

import json

import matplotlib
from matplotlib import pyplot

from benchmarks.measure import Result
from benchmarks.peers.__main__ import RESULTS
from benchmarks.peers.environments import PEERS
from benchmarks.table import ratio

COLOURS = ("#0b5fa5", "#f0a030", "#c94f3d", "#7d3c98", "#2e8b57", "#7f8c8d")


def main() -> None:
    """A group of bars for each workload, on a logarithmic scale: below the line is faster."""
    rows = json.loads((RESULTS / "peers.json").read_text("utf-8"))
    results = [Result(**row) for row in rows]
    workloads = list(dict.fromkeys(result.workload for result in results))
    peers = [peer for peer in dict.fromkeys(r.peer for r in results) if peer != "hand"]
    matplotlib.use("Agg")
    figure, axes = pyplot.subplots(figsize=(12, 5), layout="constrained")
    width = 0.8 / len(peers)
    for number, peer in enumerate(peers):
        found = [ratio(result, results) for result in results if result.peer == peer]
        places = [k + (number - (len(peers) - 1) / 2) * width for k in range(len(workloads))]
        drawn = [(place, each) for place, each in zip(places, found) if each]
        # A bar begins at 1: upward is slower than the gradient written by hand.
        heights = [each - 1 for _, each in drawn]
        axes.bar([place for place, _ in drawn], heights, width, bottom=1,
                 color=COLOURS[number % len(COLOURS)], label=PEERS[peer].title)  # fmt: skip
    axes.set_yscale("log")
    axes.axhline(1, color="black", linewidth=1)
    axes.set_xticks(range(len(workloads)), workloads)
    axes.set_ylabel("time / time of the gradient written by hand")
    axes.set_title("Value and gradient: below 1 is faster than NumPy written by hand")
    figure.legend(ncols=len(peers), loc="outside lower center", frameon=False)
    axes.margins(x=0.01)
    figure.savefig(RESULTS / "peers.png", dpi=110)


if __name__ == "__main__":
    main()
