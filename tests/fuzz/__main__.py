"""``python -m tests.fuzz N [first seed]``: runs N random programs, and prints what goes wrong."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from autodiff_compiler import pipeline
from autodiff_compiler.passes import reuse
from tests.fuzz.checks import outcome, programs
from tests.fuzz.programs import Writer

BATCH = 20


def main(count: int, first: int = 0) -> int:
    """Runs the seeds from ``first`` on; the exit status."""
    pipeline.VERIFY = True
    reuse.LARGE = 1  # memory is reused at level 1, and not at level 0
    told: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for start in range(first, first + count, BATCH):
            seeds = range(start, min(start + BATCH, first + count))
            for seed, program in programs(seeds, Path(folder)):
                try:
                    told[outcome(seed, program, order=2)] += 1
                except Exception as error:
                    told["WRONG"] += 1
                    print(f"{type(error).__name__}: {error}\n{Writer(seed).text()}", flush=True)
    print(", ".join(f"{number} {name}" for name, number in told.most_common()))
    return 1 if told["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:] or ["200"])))
