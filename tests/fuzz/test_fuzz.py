"""A few random programs; ``make fuzz N=1000`` runs many."""

from __future__ import annotations

from pathlib import Path

import pytest

from autodiff_compiler import compile_info
from autodiff_compiler.operators.elementwise import activation, arithmetic
from tests.fuzz.checks import Wrong, loaded, outcome
from tests.fuzz.kinds import ARRAYS
from tests.fuzz.programs import Writer, module
from tests.fuzz.shrink import ready_test, smaller, sort_of

SEEDS = range(1000, 1030)


@pytest.mark.thorough
def test_random_programs(tmp_path: Path) -> None:
    """Most of them compile, and all that do are right."""
    programs = loaded("some_programs", module(SEEDS), tmp_path)
    outcomes = [outcome(seed, getattr(programs, f"Program{seed}"), small=True) for seed in SEEDS]
    assert outcomes.count("ok") > len(SEEDS) * 0.7


@pytest.mark.thorough
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
    monkeypatch.setitem(activation.sigmoid.adjoint, "x", lambda ct, out: ct * out)
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


def told(message: str) -> tuple[str, ...]:
    return sort_of(Wrong(message))


ALIKE = [
    ("the gradient is 0.5, but differences [1.0]", "the gradient is -3e-05, but differences []"),
    ("the value has [1. 2.] as part 0, but should", "the value has [nan] as part 2, but should"),
    ("raised NameError: name 'a1' is not defined", "raised NameError: name 'b' is not defined"),
    ("/t/a_7.py:2:3: InternalError: lowering fails", "b.py:12:13: InternalError: lowering fails"),
    ("raised ValueError('a b'), but should None", "raised ValueError('c'), but should None"),
]  # fmt: skip
UNLIKE = [
    ("the gradient is 0.5, but differences say [1.0]", "the gradient at level 0 has 1.0 as part 0"),
    ("raised TypeError: 'int' object is not iterable", "raised TypeError: only 0-d arrays"),
    ("raised TypeError: only 0-dimensional arrays", "raised ValueError: only 0-dimensional arrays"),
    ("raised ValueError('a'), but should KeyError('a')", "raised ValueError('a'), but should None"),
    ("the value has float64(3,) as part 0", "the value has 2 parts"),
    ("a.py:1:2: InternalError: lowering fails", "a.py:1:2: InternalError: emission fails"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_errors_that_say_the_same_are_of_one_sort(one: str, other: str) -> None:
    assert told(one) == told(other) and told(one) != sort_of(TypeError(one))


@pytest.mark.parametrize(("one", "other"), UNLIKE)
def test_errors_that_say_something_else_are_of_another_sort(one: str, other: str) -> None:
    assert told(one) != told(other)


RETURNS = ["np.sin(m), x", "m", "(np.sin(m),)", "", "None", "()", "x", "np.sum(x) + q, m"]


@pytest.mark.parametrize("returned", RETURNS)
def test_an_array_program_that_returns_no_number_first_is_not_judged(
    returned: str, tmp_path: Path
) -> None:
    """A shrunk program that lost its sum is no finding."""
    text = f"def program2001(x, y, m, s, n, cfg):\n    return {returned}\n"
    module = loaded("no_number", f"{ARRAYS.head}\n\n{text}", tmp_path)
    ended = ARRAYS.outcome(2001, ARRAYS.program(module, 2001))
    assert ended in ("does not return a number first", "raises NameError")


def test_a_shrunk_array_program_goes_wrong_as_the_first_one_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a wrong derivative of the sine, the test that is printed tells of a wrong gradient."""
    seed = 2001
    monkeypatch.setitem(arithmetic.sin.adjoint, "x", lambda ct, x: ct * 0.5)
    text = ARRAYS.text(seed)
    program = ARRAYS.program(
        loaded("went_wrong", ARRAYS.module(range(seed, seed + 1)), tmp_path), seed
    )
    with pytest.raises(Wrong) as raised:
        ARRAYS.outcome(seed, program)
    small, message = smaller(text, raised.value, seed, 1, False, tmp_path, ARRAYS)
    assert len(small) < len(text) / 2 and "np.sin" in small
    printed = loaded("printed", ready_test(small, message, seed, 1, False, ARRAYS), tmp_path)
    with pytest.raises(Wrong, match="^the gradient is .* but differences say") as again:
        printed.test_program_2001()
    assert sort_of(again.value) == sort_of(raised.value)
    monkeypatch.undo()
    compile_info().clear()
    printed.test_program_2001()
