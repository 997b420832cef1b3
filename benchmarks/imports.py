"""``python -m benchmarks.imports``: what importing the package costs, beside ``import numpy``.

Processes are started in turn, and their own time is taken, not that of the machine.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

PROGRAMS = {"numpy": "import numpy", "autodiff_compiler": "import autodiff_compiler"}


def seconds(program: str) -> float:
    """The processor time of one process that runs ``program``, beyond an empty one's start."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(rounds: int = 15) -> None:
    """Prints the medians and their ratio."""
    times: dict[str, list[float]] = {"nothing": [], **{name: [] for name in PROGRAMS}}
    for _ in range(rounds):
        times["nothing"].append(seconds("pass"))
        for name, program in PROGRAMS.items():
            times[name].append(seconds(program))
    empty, numpy, ours = (statistics.median(times[name]) for name in times)
    print(f"import numpy                    {(numpy - empty) * 1e3:.0f} ms")
    print(f"import autodiff_compiler        {(ours - empty) * 1e3:.0f} ms")
    print(f"beyond numpy / numpy            {(ours - numpy) / (numpy - empty):.2f}")


if __name__ == "__main__":
    main()
