"""A few random programs; ``make fuzz N=1000`` runs many."""

from __future__ import annotations

from pathlib import Path

import pytest

from autodiff_compiler import pipeline
from autodiff_compiler.passes import reuse, tiles
from tests.fuzz.checks import outcome, programs
from tests.fuzz.programs import Writer

SEEDS = range(1000, 1040)


def test_random_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of them compile, and all that do are right."""
    monkeypatch.setattr(pipeline, "VERIFY", True)
    monkeypatch.setattr(reuse, "LARGE", 1)
    for name, value in ("TILE", 16), ("TILES", 1), ("ROW", 0):
        monkeypatch.setattr(tiles, name, value)
    outcomes = [outcome(seed, program) for seed, program in programs(SEEDS, tmp_path)]
    assert outcomes.count("ok") > len(SEEDS) * 0.7


def test_the_same_seed_gives_the_same_text() -> None:
    assert Writer(7).text() == Writer(7).text() != Writer(8).text()
