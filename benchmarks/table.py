"""Results as Markdown: ours beside the hand-written gradient, and all peers side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from benchmarks import limits
from benchmarks.measure import Result
from benchmarks.peers.environments import DEFAULT, RUNNERS, C
from benchmarks.workloads import LOOPS

Cell = Callable[[Result], str]
#: A title and the lines of a table.
Section = tuple[str, list[str]]


def brief(results: Sequence[Result]) -> str:
    """Ours over hand-written at both levels and as C, the geometric means, and what is over its
    limit.
    """
    lines = [
        "| workload | time, -O1 | time, -O2 | -O2 at most | time, C | C at most | memory, -O1 "
        "| memory, -O2 | first call, -O1 | first call, -O2 | first call, C |",
        f"|---{'|---:' * 10}|",
    ]
    for name in _workloads(results):
        ours = [_of(peer, name, results) for peer in (DEFAULT, "ours", C)]
        plain, planned, native = (_ratio(each, results) for each in ours)
        times = [plain, planned, f"{limits.time_of(name):.2f}"]
        times += [native, f"{limits.C_TIME[name]:.2f}"]
        memory = [_allocated(each, results) for each in ours[:2]]
        first = [f"{each.first * 1e3:.0f} ms" for each in ours]
        lines.append(f"| {name} | {' | '.join([*times, *memory, *first])} |")
    plain, planned, native = (f"{mean(results, peer):.2f}" for peer in (DEFAULT, "ours", C))
    means = [plain, planned, f"{limits.MEAN:.2f}", native, f"{limits.C_MEAN:.2f}"]
    lines.append(f"| geometric mean | {' | '.join(means)} |{' |' * 5}")
    return "\n".join([*lines, "", _verdict(results)])


def short(results: Sequence[Result]) -> str:
    """The times of every peer, the first calls of programs with loops, and what must be said."""
    return _page(results, [_times(results), _loops(results)])


def full(results: Sequence[Result]) -> str:
    """Time, first calls and memory of every peer, and what must be said of them."""
    peers = _peers(results)
    counted = [peer for peer in peers if RUNNERS[peer].counted]
    others = [
        ("First call after the import, ms: in a fresh process / compiled anew in a warm one",
         [*_grid(results, peers, _both_firsts), _import_row(results, peers)]),
        ("Growth of the process in its first calls, MiB",
         _grid(results, peers, lambda each: _mebibytes(each.resident))),
        ("What NumPy and Python allocate in a call and keep, beside the hand-written gradient",
         _grid(results, counted, lambda each: _allocated(each, results))),
    ]  # fmt: skip
    return _page(results, [_times(results), _loops(results), *others])


def _page(results: Sequence[Result], sections: Sequence[Section]) -> str:
    text = "\n\n".join("\n".join([f"### {title}", "", *lines]) for title, lines in sections)
    return "\n\n".join([*_machines(results), text, _verdict(results), *_remarks(results)])


def _times(results: Sequence[Result]) -> Section:
    """With the limit, and with what ours allocates beside the hand-written gradient."""
    peers = _peers(results)
    title, rule, *rows = _grid(results, peers, lambda each: _ratio(each, results))
    for place, workload in enumerate(_workloads(results)):
        ours = next(r for r in results if (r.workload, r.peer) == (workload, "ours"))
        rows[place] += f" {limits.time_of(workload):.2f} | {_allocated(ours, results)} |"
    means = " | ".join(f"{mean(results, peer):.2f}" for peer in peers)
    return (
        "Time of a call, beside the hand-written gradient",
        [f"{title} ours at most | ours, memory |", f"{rule}---:|---:|", *rows,
         f"| geometric mean | {means} | {limits.MEAN:.2f} | |"],
    )  # fmt: skip


def _loops(results: Sequence[Result]) -> Section:
    looping = [each for each in results if each.workload in LOOPS]
    return (
        "First call where the program has loops, beside ours: fresh / compiled anew",
        _grid(looping, _peers(results), lambda each: _firsts(each, results)),
    )


def _peers(results: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(result.peer for result in results))


def _workloads(results: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(result.workload for result in results))


def _verdict(results: Sequence[Result]) -> str:
    """What of ours is outside its limit, and by how much."""
    beyond = []
    for each in results:
        hand = _of("hand", each.workload, results)
        if each.peer == "ours" and (time := ratio(each, results)):
            memory = _share(each, hand)
            jax = [r.first for r in results if (r.workload, r.peer) == (each.workload, "jax_jit")
                   and r.seconds and each.workload in LOOPS]  # fmt: skip
            if time > limits.time_of(each.workload):
                beyond.append(f"{each.workload} (time {time:.2f})")
            if memory is not None and memory > limits.MEMORY:
                beyond.append(f"{each.workload} (memory {memory:.2f})")
            if jax and jax[0] < limits.FIRST * each.first:
                beyond.append(f"{each.workload} (JAX's first call {jax[0] / each.first:.1f} ours)")
        time = ratio(each, results) if each.peer == C else None
        if time is not None and time > limits.C_TIME[each.workload]:
            beyond.append(f"{each.workload} (time of C {time:.3f})")
    for peer, name, most in (("ours", "mean", limits.MEAN), (C, "mean of C", limits.C_MEAN)):
        if (found := mean(results, peer)) > most:
            beyond.append(f"the {name} ({found:.2f})")
    return f"Outside the limits: {', '.join(beyond)}." if beyond else "All within the limits."


def _machines(results: Sequence[Result]) -> list[str]:
    """What the figures were made on: a line for all, or for the workloads of each."""
    machines = dict.fromkeys(result.machine for result in results if result.machine)
    lines = []
    for machine in machines:
        those = _workloads([result for result in results if result.machine == machine])
        names = "" if len(machines) == 1 else f": {', '.join(those)}"
        lines.append(f"On {machine}{names}.")
    return lines


def ratio(result: Result, results: Sequence[Result]) -> float | None:
    """The time beside that of the hand-written gradient; None where there is no time."""
    hand = _of("hand", result.workload, results)
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
    ours = _of("ours", result.workload, results)
    if ours.seconds is None:
        return "–"
    again = f"{result.again / ours.again:.1f}" if result.again and ours.again else "–"
    return f"{result.first / ours.first:.1f} / {again}"


def _both_firsts(result: Result) -> str:
    return f"{_milliseconds(result.first)} / {_milliseconds(result.again)}"


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * 1e3:.0f}"


def _allocated(result: Result, results: Sequence[Result]) -> str:
    share = _share(result, _of("hand", result.workload, results))
    return "–" if share is None else f"{share:.2f}"


def _share(result: Result, hand: Result) -> float | None:
    """What it allocates beside the hand-written gradient; None where that is not known."""
    if result.allocated is None or hand.allocated is None:
        return None
    return result.allocated / max(hand.allocated, 1)


def _of(peer: str, workload: str, results: Sequence[Result]) -> Result:
    """What a peer did with a workload."""
    return next(r for r in results if (r.workload, r.peer) == (workload, peer))


def _mebibytes(count: int | None) -> str:
    return "–" if count is None else f"{count / 2**20:.1f}"


def _grid(results: Sequence[Result], peers: Sequence[str], cell: Cell) -> list[str]:
    """A row for each workload, a column for each peer; a dash where there is no result."""
    by_name = {(result.workload, result.peer): result for result in results}
    titles = " | ".join(RUNNERS[peer].title for peer in peers)
    lines = [f"| workload | {titles} |", f"|---{'|---:' * len(peers)}|"]
    for workload in _workloads(results):
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


def _note(result: Result) -> str:
    return RUNNERS[result.peer].notes.get(result.workload, "")


def _remarks(results: Sequence[Result]) -> list[str]:
    """Notes, and what could not be done and why."""
    lines = [
        f"- {RUNNERS[each.peer].title}, {each.workload}: {remark}"
        for each in results
        if (remark := "; ".join(filter(None, (each.reason, _note(each)))))
    ]
    versions = dict.fromkeys(
        f"{RUNNERS[each.peer].package} {each.version}" for each in results if each.version
    )
    return ["\n".join(lines)] * bool(lines) + [f"Versions: {', '.join(versions)}."]
