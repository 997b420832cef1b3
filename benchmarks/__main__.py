"""``python -m benchmarks [names]``: a Markdown table of ours beside hand-written NumPy.

``python -m benchmarks calls`` measures what a cached call costs instead.
"""

from __future__ import annotations

import sys

from benchmarks import call_overhead
from benchmarks.table import markdown, measure
from benchmarks.workloads import WORKLOADS


def main(names: list[str]) -> int:
    """Measures the workloads of these names, or all."""
    if names == ["calls"]:
        call_overhead.main()
        return 0
    strange = [name for name in names if name not in WORKLOADS]
    if strange:
        print(f"no workload {', '.join(strange)}; there are {', '.join(WORKLOADS)}, calls",
              file=sys.stderr)  # fmt: skip
        return 2
    print(markdown([measure(name) for name in names or WORKLOADS]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
