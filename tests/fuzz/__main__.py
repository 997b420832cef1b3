"""``python -m tests.fuzz N [first seed]``: runs N random programs, and prints what goes wrong.

The work is shared by as many processes as there are cores. Second derivatives are taken of one
program in six: they cost more than all the rest. Every other batch reuses even the smallest
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
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from autodiff_compiler import compile_info
from tests.fuzz.checks import loaded, outcome
from tests.fuzz.programs import Writer, module
from tests.fuzz.shrink import ready_test, smaller

BATCH = 20


def batch(first: int, count: int) -> tuple[Counter[str], Counter[str], list[str]]:
    """How the seeds ended, the kinds of nodes in their texts, and what went wrong."""
    gc.set_threshold(100_000)
    small, seeds = bool(first // BATCH % 2), range(first, first + count)
    ends: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        programs = loaded(f"programs_{first}", module(seeds), Path(folder))
        for seed in seeds:
            text, order = Writer(seed).text(), 2 if seed % 6 == 0 else 1
            kinds.update({type(node).__name__ for node in ast.walk(ast.parse(text))})
            try:
                ended = outcome(seed, getattr(programs, f"Program{seed}"), order, small)
                ends[re.sub(r"'[^']*'|\d+", "_", ended)] += 1
            except Exception as error:
                ends["WRONG"] += 1
                shrunk, message = smaller(text, error, seed, order, small, Path(folder))
                wrong.append(ready_test(shrunk, message, seed, order, small))
    compile_info().clear()
    return ends, kinds, wrong


def main(count: int, first: int = 0) -> int:
    """Runs the seeds from ``first`` on; the exit status."""
    ends: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    starts = range(first, first + count, BATCH)
    sizes = [min(BATCH, first + count - start) for start in starts]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for ended, seen, wrong in pool.map(batch, starts, sizes):
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
    sys.exit(main(*map(int, sys.argv[1:] or ["200"])))
