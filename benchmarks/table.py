"""Results as Markdown: ours beside the hand-written gradient, and all peers side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from benchmarks.measure import Result
from benchmarks.peers.environments import PEERS
from benchmarks.workloads import LOOPS

Cell = Callable[[Result], str]


def brief(results: Sequence[Result]) -> str:
    """Ours over hand-written, with the geometric mean of the ratios."""
    lines = [
        "| workload | ours / hand | peak memory, ours / hand | first call |",
        "|---|---:|---:|---:|",
    ]
    by_name = {(result.workload, result.peer): result for result in results}
    for workload in dict.fromkeys(result.workload for result in results):
        ours = by_name[workload, "ours"]
        figures = [_ratio(ours, results), _allocated(ours, results), f"{ours.first * 1e3:.0f} ms"]
        lines.append(f"| {workload} | {' | '.join(figures)} |")
    return "\n".join([*lines, f"| geometric mean | {mean(results, 'ours'):.2f} | | |"])


def full(results: Sequence[Result]) -> str:
    """Time, first calls and memory of every peer, and what must be said of them."""
    peers = list(dict.fromkeys(result.peer for result in results))
    means = [f"{mean(results, peer):.2f}" for peer in peers]
    sections = [
        ("Time of a call, beside the hand-written gradient",
         [*_grid(results, peers, lambda each: _ratio(each, results)),
          f"| geometric mean | {' | '.join(means)} |"]),
        ("First call in a fresh process, after the import, ms",
         [*_grid(results, peers, lambda each: f"{each.first * 1e3:.0f}"),
          _import_row(results, peers)]),
        ("First call of a program compiled anew, in a process that is warm, ms",
         _grid(results, peers, lambda each: _milliseconds(each.again))),
        ("First call where the program has loops, beside ours: fresh / compiled anew",
         _grid([each for each in results if each.workload in LOOPS], peers,
               lambda each: _firsts(each, results))),
        ("Growth of the process in its first calls, MiB",
         _grid(results, peers, lambda each: _mebibytes(each.resident))),
        ("What NumPy and Python allocate in a call and keep, beside the hand-written gradient",
         _grid(results, peers, lambda each: _allocated(each, results))),
    ]  # fmt: skip
    text = "\n\n".join("\n".join([f"### {title}", "", *lines]) for title, lines in sections)
    return "\n\n".join([text, *_remarks(results)])


def ratio(result: Result, results: Sequence[Result]) -> float | None:
    """The time beside that of the hand-written gradient; None where there is no time."""
    hand = _of("hand", result, results)
    return result.seconds and hand.seconds and result.seconds / hand.seconds


def mean(results: Sequence[Result], peer: str) -> float:
    """The geometric mean of a peer's ratios; not a number where it has none."""
    found = [ratio(result, results) for result in results if result.peer == peer]
    logs = [math.log(each) for each in found if each]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def _ratio(result: Result, results: Sequence[Result]) -> str:
    found = ratio(result, results)
    return "–" if found is None else f"{found:.2f}"


def _firsts(result: Result, results: Sequence[Result]) -> str:
    """How much longer the first calls take than ours."""
    ours = _of("ours", result, results)
    if ours.seconds is None:
        return "–"
    again = f"{result.again / ours.again:.1f}" if result.again and ours.again else "–"
    return f"{result.first / ours.first:.1f} / {again}"


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * 1e3:.0f}"


def _allocated(result: Result, results: Sequence[Result]) -> str:
    hand = _of("hand", result, results)
    if result.allocated is None or hand.allocated is None:
        return "–"
    return f"{result.allocated / max(hand.allocated, 1):.2f}"


def _of(peer: str, result: Result, results: Sequence[Result]) -> Result:
    """What another peer did with the same workload."""
    return next(r for r in results if (r.workload, r.peer) == (result.workload, peer))


def _mebibytes(count: int | None) -> str:
    return "–" if count is None else f"{count / 2**20:.1f}"


def _grid(results: Sequence[Result], peers: Sequence[str], cell: Cell) -> list[str]:
    """A row for each workload, a column for each peer; a dash where there is no result."""
    by_name = {(result.workload, result.peer): result for result in results}
    titles = " | ".join(PEERS[peer].title for peer in peers)
    lines = [f"| workload | {titles} |", f"|---{'|---:' * len(peers)}|"]
    for workload in dict.fromkeys(result.workload for result in results):
        found = [by_name[workload, peer] for peer in peers]
        cells = ["–" if each.seconds is None else cell(each) for each in found]
        lines.append(f"| {workload} | {' | '.join(cells)} |")
    return lines


def _import_row(results: Sequence[Result], peers: Sequence[str]) -> str:
    """The least time that each import took: the first one of all reads the disk."""
    cells = []
    for peer in peers:
        times = [each.imported for each in results if each.peer == peer and each.seconds]
        cells.append(f"{min(times) * 1e3:.0f}" if times else "–")
    return f"| (the import) | {' | '.join(cells)} |"


def _remarks(results: Sequence[Result]) -> list[str]:
    """Notes, and what could not be done and why."""
    lines = [
        f"- {PEERS[each.peer].title}, {each.workload}: {remark}"
        for each in results
        if (remark := each.reason or PEERS[each.peer].notes.get(each.workload, ""))
    ]
    versions = dict.fromkeys(
        f"{PEERS[each.peer].package} {each.version}" for each in results if each.version
    )
    return ["\n".join(lines)] * bool(lines) + [f"Versions: {', '.join(versions)}."]
