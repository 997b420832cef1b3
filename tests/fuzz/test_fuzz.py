"""A few random programs; ``make fuzz N=1000`` runs many."""

from __future__ import annotations

from pathlib import Path

import pytest

from autodiff_compiler import compile_info
from autodiff_compiler.operators import elementwise
from tests.fuzz.checks import Wrong, loaded, outcome
from tests.fuzz.kinds import ARRAYS
from tests.fuzz.programs import Writer, module
from tests.fuzz.shrink import ready_test, smaller

SEEDS = range(1000, 1030)


def test_random_programs(tmp_path: Path) -> None:
    """Most of them compile, and all that do are right."""
    programs = loaded("some_programs", module(SEEDS), tmp_path)
    outcomes = [outcome(seed, getattr(programs, f"Program{seed}"), small=True) for seed in SEEDS]
    assert outcomes.count("ok") > len(SEEDS) * 0.7


def test_random_array_programs(tmp_path: Path) -> None:
    """Most of them compile, and all that do are right, call after call."""
    seeds = range(2000, 2030)
    programs = loaded("some_array_programs", ARRAYS.module(seeds), tmp_path)
    outcomes = [
        ARRAYS.outcome(seed, ARRAYS.program(programs, seed), small=bool(seed % 2)) for seed in seeds
    ]
    assert outcomes.count("ok") > len(seeds) * 0.7


def test_the_same_seed_gives_the_same_text() -> None:
    assert Writer(7).text() == Writer(7).text() != Writer(8).text()


def test_a_program_that_goes_wrong_is_made_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test that is printed fails with a wrong derivative of sigmoid, and passes without."""
    seed = 5323
    monkeypatch.setitem(elementwise.sigmoid.adjoint, "x", lambda ct, out: ct * out)
    text = Writer(seed).text()
    program = loaded("went_wrong", module(range(seed, seed + 1)), tmp_path).Program5323
    with pytest.raises(Wrong) as raised:
        outcome(seed, program)
    small, message = smaller(text, raised.value, seed, 1, False, tmp_path)
    assert len(small.splitlines()) < len(text.splitlines()) and "sigmoid" in small
    printed = loaded("printed", ready_test(small, message, seed, 1, False), tmp_path)
    with pytest.raises(Wrong, match="differences say"):
        printed.test_program_5323()
    monkeypatch.undo()
    compile_info().clear()
    printed.test_program_5323()
