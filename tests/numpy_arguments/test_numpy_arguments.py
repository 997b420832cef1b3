"""Random calls of every function of NumPy that is compiled, against NumPy itself.

A longer run: ``python -m tests.numpy_arguments 200 SEED``, or ``NUMPY_CALLS=200`` here.
"""

from __future__ import annotations

import os
import re

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.frontend.numpy_rules.names import ARRAY_METHODS, NUMPY
from autodiff_compiler.frontend.numpy_rules.signatures import signature_of
from tests.numpy_arguments.check import Case
from tests.numpy_arguments.table import CALLS, case, indexed

COUNT = int(os.environ.get("NUMPY_CALLS", "6"))
SEED = int(os.environ.get("NUMPY_SEED", "15"))
#: Refusals of calls that NumPy takes: of complex numbers, of sizes that only the run knows, and of
#: what no array of run-time numbers can be asked.
REFUSED = re.compile(
    r"does not take complex numbers|complex numbers (have|with another dtype)|needs to know|"
    r"needs the (size|length) of|needs a dtype|of '\w+' must be known at compile time|"
    r"has sizes 1 and \?|does not take bools|of bools without bounds is not supported|"
    r"(with (mode=\S+|order=\S+|lists of axes)|copy=False\)) is not supported|"
    r"the median of an empty array|no gradient for|'(reflect_type|stat_length|mean)' of|"
    r"full_matrices=True has no derivative|must be a compile-time constant"
)


@pytest.mark.parametrize("name", CALLS)
def test_random_calls_agree_with_numpy(name: str) -> None:
    """Value, dtype, shape, what is raised, and the slope along a random direction."""
    for number in range(COUNT):
        judge(case(name, SEED, number), f"({name}, seed {SEED}, {number})")


def judge(made: Case, what: str) -> None:
    try:
        end = made.run()
    except AssertionError as error:
        raise AssertionError(f"{made}\n{error}\n{what}") from None
    assert not end.startswith("refused") or REFUSED.search(end), f"{made}\n{end}\n{what}"


@pytest.mark.parametrize("part", range(5))
@pytest.mark.parametrize("way", ["reading", "writing"])
def test_random_subscripts_agree_with_numpy(way: str, part: int) -> None:
    """Of the values for a position that is named twice the last stays; ``+=`` adds once."""
    for number in range(part * 6 * COUNT, (part + 1) * 6 * COUNT):
        judge(indexed(way, SEED, number), f"({way}, seed {SEED}, {number})")


def test_subscripts_may_hold_lists_of_run_time_places() -> None:
    def picked(a: np.ndarray, i: int, j: int) -> np.ndarray:
        return a[[[i, j], [0, 1]], [1]] * 2.0

    a = np.arange(6.0).reshape(3, 2)
    for i, j in ((2, 0), (-1, -3)):
        np.testing.assert_array_equal(ms.jit(picked)(a, i, j), picked(a, i, j))
        slope = ms.grad(picked)(a, i, j)
        assert slope.sum() == 8.0 and slope[i, 1] == (4.0 if i == 1 else 2.0)


def _compiled() -> set[str]:
    names = {f".{name}" for name in ARRAY_METHODS}
    for theirs in NUMPY:
        linear = getattr(theirs, "__module__", "") == "numpy.linalg"
        names.add(f"linalg.{theirs.__name__}" if linear else theirs.__name__)
    return names


def test_every_function_and_method_has_random_calls() -> None:
    same = {"row_stack"}  # another name of vstack, in a NumPy that still has it
    assert _compiled() - same - set(CALLS) == set()


def test_signatures_are_numpys() -> None:
    """Calls are bound by the parameters of NumPy, for functions whose signature NumPy declares."""
    for name in CALLS:
        theirs = getattr(np.ndarray, name[1:], None) if name[0] == "." else np
        for part in () if name[0] == "." else name.split("."):
            theirs = getattr(theirs, part)
        ours = signature_of(None, name[1:]) if name[0] == "." else signature_of(theirs)
        own = list(ours.parameters.values())
        # np.arange(stop=3) is a call, too
        assert own[0].default is own[0].empty or name == "arange", name
        doc = (getattr(theirs, "__doc__", "") or "").partition("\n")[0]
        if name[0] == "." and doc.startswith("a."):
            for known in re.findall(r"(\w+)=", doc):
                assert known in ours.parameters, (name, known)
