"""The C of the corpus runs without a report of the sanitizers of GCC.

They watch addresses (arrays, the stack, memory that was released) and undefined behaviour. A
sample of the programs runs; ``SANITIZE_CORPUS=all`` takes all of them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.corpus.test_corpus import CASES
from tests.emit.c.sanitized import FAULTS

pytestmark = pytest.mark.thorough
ROOT = Path(__file__).parents[3]
#: The processes that share the programs, so that two cores have work.
PARTS = 2
#: The programs of a sample.
SAMPLE = 120
REPORTS = re.compile(r".*(?:AddressSanitizer|runtime error:).*")


@pytest.fixture(scope="session")
def libraries() -> str:
    """The libraries of the sanitizers; where there are none, nothing can be tested."""
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("there is no gcc")
    paths = []
    for name in ("libasan.so", "libubsan.so"):
        run = subprocess.run(
            [gcc, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        )
        paths.append(run.stdout.strip())
    if not all(os.path.isabs(path) for path in paths):
        pytest.skip("gcc has no sanitizers")
    return " ".join(paths)


def run(libraries: str, folder: Path, *names: str) -> subprocess.CompletedProcess[str]:
    """Runs programs of the corpus in a process that the sanitizers watch."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.emit.c.sanitized", *names],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONMALLOC": "malloc",
            "XDG_CACHE_HOME": str(folder),
            "LD_PRELOAD": libraries,
            "CC": "gcc -fsanitize=address,undefined -g -O1",
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        },
        capture_output=True,
        text=True,
    )


def sample() -> list[str]:
    names = [case.name for case in CASES]
    if os.environ.get("SANITIZE_CORPUS") == "all":
        return names
    return [names[place * len(names) // SAMPLE] for place in range(SAMPLE)]


@pytest.mark.parametrize("part", range(PARTS))
def test_no_program_is_reported(part: int, libraries: str, tmp_path: Path) -> None:
    names = sample()[part::PARTS]
    done = run(libraries, tmp_path, *names)
    reports = [line for line in done.stderr.splitlines() if REPORTS.match(line)]
    last = done.stdout.splitlines()[-1:]
    assert not reports, f"{last}: {done.stderr[-3000:]}"
    assert done.returncode == 0, f"{last}: {done.stderr[-3000:]}"
    in_c, _, count, *_ = last[0].split()
    assert int(count) == len(names) and int(in_c) > 0.7 * len(names)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_reported(fault: str, libraries: str, tmp_path: Path) -> None:
    wanted = {
        "read": "heap-buffer-overflow",
        "stack": "stack-buffer-overflow",
        "overflow": "signed integer overflow",
    }
    assert wanted[fault] in run(libraries, tmp_path, fault).stderr
