"""``python -m tests.fuzz N [first seed] [kind]``: runs N random programs; prints what is wrong.

The kinds are ``cells`` and ``arrays``; without one, three programs in four are on arrays. The work
is shared by as many processes as there are cores. Every other batch reuses even the smallest
buffers, and verifies every stage. A program that goes wrong is made smaller and printed as a test.
"""

from __future__ import annotations

import ast
import gc
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TypeAlias

from autodiff_compiler import compile_info
from tests.fuzz.checks import loaded
from tests.fuzz.kinds import KINDS
from tests.fuzz.shrink import ready_test, smaller

#: The first seed, the number of seeds, and their kind.
Batch: TypeAlias = tuple[int, int, str]
#: How the seeds ended, the kinds of nodes in their texts, and what went wrong.
Outcome: TypeAlias = tuple[Counter[str], Counter[str], list[str]]
BATCH = 20
#: Bytes of memory that a process may take: a program that needs more fails by itself.
MEMORY = 6 << 30
#: What differs between two refusals for the same reason.
SPECIFIC = re.compile(r"'[^']*'|\d+")


def batch(first: int, count: int, name: str) -> Outcome:
    """Runs ``count`` programs from the seed ``first`` on."""
    gc.set_threshold(100_000)
    kind = KINDS[name]
    small, seeds = bool(first // BATCH % 2), range(first, first + count)
    ends: Counter[str] = Counter()
    nodes: Counter[str] = Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        texts = {seed: kind.text(seed) for seed in seeds}
        programs = loaded(
            f"{name}_{first}", "\n\n".join([kind.head, *texts.values()]), Path(folder)
        )
        for seed, text in texts.items():
            order = 1 if seed % kind.second_every else 2
            nodes.update({type(node).__name__ for node in ast.walk(ast.parse(text))})
            try:
                ended = kind.outcome(seed, kind.program(programs, seed), order, small)
                ends[f"{name}: {SPECIFIC.sub('_', ended)}"] += 1
            except Exception as error:
                ends["WRONG"] += 1
                shrunk, message = smaller(text, error, seed, order, small, Path(folder), kind)
                wrong.append(ready_test(shrunk, message, seed, order, small, kind))
    compile_info().clear()
    return ends, nodes, wrong


def _limit_memory() -> None:
    if sys.platform != "win32":  # which has no such limits
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _outcomes(batches: Sequence[Batch]) -> Iterator[Outcome]:
    """What ``batch`` returns for each of them. One that kills its process is run again, by itself.

    If it does so again, it is wrong.
    """
    lost = []
    with _pool(os.cpu_count()) as pool:
        running = [(pool.submit(batch, *each), each) for each in batches]
        for future, each in running:
            try:
                yield future.result()
            except BrokenProcessPool:
                lost.append(each)
    for each in lost:
        with _pool(1) as pool:
            try:
                yield pool.submit(batch, *each).result()
            except BrokenProcessPool:
                yield Counter(WRONG=1), Counter(), [f"# a process died: {each}"]


def _pool(processes: int | None) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(processes, initializer=_limit_memory)


def main(count: int, first: int = 0, kind: str = "") -> int:
    """Runs the seeds from ``first`` on; the exit status."""
    ends: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    starts = range(first, first + count, BATCH)
    sizes = [min(BATCH, first + count - start) for start in starts]
    names = [kind or ("arrays" if start // BATCH % 8 < 6 else "cells") for start in starts]
    for done, (ended, seen, wrong) in enumerate(_outcomes(list(zip(starts, sizes, names))), 1):
        if not done % 50:
            print(f"{done * BATCH} of {count}", file=sys.stderr, flush=True)
        ends += ended
        kinds += seen
        for text in wrong:
            print(text, flush=True)
    print(f"programs: {count}")
    for name, number in ends.most_common():
        print(f"  {number} {name}")
    print(f"in how many: {', '.join(f'{name} {n}' for name, n in kinds.most_common())}")
    return 1 if ends["WRONG"] else 0


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    asked = [word for word in sys.argv[1:] if not word.isdigit()]
    sys.exit(main(*(numbers or [200]), **({"kind": asked[0]} if asked else {})))
