"""Files stay small enough to read in one sitting."""

from __future__ import annotations

from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]
LONGEST = 400
MEDIAN = 180
VAGUE = {"utils", "util", "helpers", "helper", "misc", "tmp"}


def lengths(*folders: str) -> dict[Path, int]:
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return {path.relative_to(ROOT): len(path.read_bytes().splitlines()) for path in paths}


def test_no_file_is_over_the_budget() -> None:
    measured = lengths("autodiff_compiler", "tests", "examples", "benchmarks")
    over = {str(path): count for path, count in measured.items() if count > LONGEST}
    assert not over, f"over {LONGEST} lines: {over}"


def test_the_median_is_small() -> None:
    counts = [n for path, n in lengths("autodiff_compiler").items() if path.name != "__init__.py"]
    assert median(counts) <= MEDIAN


def test_names_of_files_say_what_is_in_them() -> None:
    vague = [str(path) for path in lengths("autodiff_compiler", "tests") if path.stem in VAGUE]
    assert not vague
