"""``python -m tests.fuzz N [first seed]``: runs N random programs, and prints what goes wrong.

The work is shared by as many processes as there are cores. Second derivatives are taken of one
program in three: they cost more than all the rest. Every other batch reuses even the smallest
buffers.
"""

from __future__ import annotations

import ast
import os
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from autodiff_compiler import compile_info, pipeline
from autodiff_compiler.passes import reuse, tiles
from tests.fuzz.checks import outcome, programs
from tests.fuzz.programs import Writer

BATCH = 20
LARGE = reuse.LARGE
TILES = tiles.TILE, tiles.TILES, tiles.ROW


def batch(first: int, count: int) -> tuple[Counter[str], Counter[str], list[str]]:
    """How the seeds ended, the kinds of nodes in their texts, and what went wrong."""
    pipeline.VERIFY = True
    small = first // BATCH % 2  # arrays count as large, and run in tiles
    reuse.LARGE = 1 if small else LARGE
    tiles.TILE, tiles.TILES, tiles.ROW = (16, 1, 0) if small else TILES
    ends: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for seed, program in programs(range(first, first + count), Path(folder)):
            text = Writer(seed).text()
            kinds.update({type(node).__name__ for node in ast.walk(ast.parse(text))})
            try:
                ends[outcome(seed, program, order=2 if seed % 3 == 0 else 1)] += 1
            except Exception as error:
                ends["WRONG"] += 1
                wrong.append(f"{type(error).__name__}: {error}\n{text}")
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
    print(f"programs: {', '.join(f'{n} {name}' for name, n in ends.most_common())}")
    print(f"in how many: {', '.join(f'{name} {n}' for name, n in kinds.most_common())}")
    return 1 if ends["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:] or ["200"])))
