"""``python -m benchmarks.chart``: draws ``results/peers.png`` from ``results/peers.json``.

It needs matplotlib (``pip install '.[bench]'``).
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes

from benchmarks.measure import Result
from benchmarks.peers.__main__ import RESULTS, read
from benchmarks.peers.environments import PEERS
from benchmarks.table import ratio

COLOURS = ("#0b5fa5", "#f0a030", "#c94f3d", "#7d3c98", "#2e8b57", "#7f8c8d")


def main() -> None:
    """A group of bars for each workload, on a logarithmic scale: below the line is faster."""
    results = read()
    workloads = list(dict.fromkeys(result.workload for result in results))
    half = (len(workloads) + 1) // 2
    peers = [peer for peer in dict.fromkeys(r.peer for r in results) if peer != "hand"]
    matplotlib.use("Agg")
    figure, rows = pyplot.subplots(2, figsize=(13, 9), layout="constrained", sharey=True)
    for axes, names in zip(rows, (workloads[:half], workloads[half:])):
        _draw(axes, names, peers, results)
        axes.set_ylabel("time / time by hand")
    handles, titles = rows[0].get_legend_handles_labels()
    figure.legend(handles, titles, ncols=len(peers), loc="outside lower center", frameon=False)
    figure.suptitle("Value and gradient: below 1 is faster than NumPy written by hand")
    figure.savefig(RESULTS / "peers.png", dpi=110)


def _draw(
    axes: Axes, workloads: Sequence[str], peers: Sequence[str], results: Sequence[Result]
) -> None:
    """A row of groups. A bar begins at 1: upward is slower than the gradient written by hand."""
    width = 0.8 / len(peers)
    for number, peer in enumerate(peers):
        found = {r.workload: ratio(r, results) for r in results if r.peer == peer}
        drawn = [(k, value) for k, name in enumerate(workloads) if (value := found.get(name))]
        places = [k + (number - (len(peers) - 1) / 2) * width for k, _ in drawn]
        axes.bar(places, [value - 1 for _, value in drawn], width, bottom=1,
                 color=COLOURS[number], label=PEERS[peer].title)  # fmt: skip
    axes.set_yscale("log")
    axes.axhline(1, color="black", linewidth=1)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    labels = [name.replace("_", "\n", 1) for name in workloads]
    axes.set_xticks(range(len(workloads)), labels)
    axes.margins(x=0.01)


if __name__ == "__main__":
    main()
