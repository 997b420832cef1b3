"""Suggestions for unknown names: the same thing under another name, or one with a typing error."""

from __future__ import annotations

import random
import types

import pytest

from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.errors import UnknownAttribute
from autodiff_compiler.mindspore_names.suggestions import (
    EQUIVALENTS,
    OWNERS,
    SCIPY,
    equivalent,
    left_out,
    module_getattr,
    names,
    nearest,
    no_such,
)
from autodiff_compiler.mindspore_names.supported import TIERS
from autodiff_compiler.mindspore_names.unsupported import OTHERS

KNOWN = ("matmul", "mean", "reshape", "gather_elements", "softmax", "_hidden", "Conv2d", "Conv3d")


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("matmull", "matmul"),
        ("MatMul", "matmul"),
        ("mat_mul", "matmul"),
        ("reshpae", "reshape"),
        ("gatherElements", "gather_elements"),
        ("sofmax", "softmax"),
        ("conv_2d", "Conv2d"),
        ("hidden", None),
        ("lu_unpack", None),
        ("men", "mean"),
        ("Adam", None),
    ],
)
def test_the_nearest_name(asked: str, meant: str | None) -> None:
    assert nearest(asked, KNOWN) == meant


def test_one_wrong_letter_is_always_forgiven() -> None:
    draw = random.Random(5)
    for name in ("matmul", "reshape", "gather_elements", "softmax"):
        for _ in range(20):
            place = draw.randrange(len(name))
            letter = draw.choice(("", "q", name[place] + "q"))
            assert nearest(name[:place] + letter + name[place + 1 :], KNOWN) == name


def test_equivalent_names_exist_here() -> None:
    """Each leads from a name that is not here, on one of the surfaces, to one that is."""
    surfaces = (ops, nn, Tensor, nn.Cell)
    for theirs, ours in EQUIVALENTS.items():
        assert any(hasattr(owner, ours) for owner in surfaces), (theirs, ours)
    for path in SCIPY.values():
        home, _, name = path.rpartition(".")
        assert home == "np.linalg" or hasattr(ops, name), path


def test_equivalents_of_scipy_are_found_by_where_a_function_comes_from() -> None:
    def erf(x: float) -> float:
        return x

    assert equivalent(erf) is None
    erf.__module__ = "scipy.special"
    assert equivalent(erf) == "ops.erf"
    erf.__name__ = "wofz"
    assert equivalent(erf) is None


@pytest.mark.parametrize(
    ("owner", "name", "cause", "cure"),
    [
        ("nn", "Linear", "nn has no 'Linear'", "called 'Dense' here"),
        ("ops", "matmull", "ops has no 'matmull'", "did you mean 'matmul'"),
        ("ops", "qqqqqq", "ops has no 'qqqqqq'", "lists all"),
        ("Tensor", "permute_", "a Tensor has no attribute 'permute_'", "lists all"),
    ],
)
def test_what_the_error_says(owner: str, name: str, cause: str, cure: str) -> None:
    error = no_such(owner, name, ("matmul", "Dense", "reshape"))
    (problem,) = error.problems
    assert cause in problem.cause and cure in problem.cure


def test_a_name_that_mindspore_has_is_named_as_its_own() -> None:
    owner, name = "ops", next(iter(OTHERS["function"].split()))
    assert f"MindSpore's ops.{name} is not part" in str(no_such(owner, name, ("matmul",)))


def test_the_tables_agree() -> None:
    """No name is both in a tier and left out of them, and each surface has an owner."""
    assert {surface for group in OWNERS.values() for surface in group} == set(TIERS) == set(OTHERS)
    for owner, surfaces in OWNERS.items():
        for surface in surfaces:
            tiers = [set(names(surface, tier)) for tier in (1, 2)]
            others = set(OTHERS[surface].split())
            assert not tiers[0] & tiers[1] and not others & (tiers[0] | tiers[1])
            assert others | tiers[0] | tiers[1] <= left_out(owner)
            assert not any(name.endswith("°") for name in tiers[0] | tiers[1])


def test_the_getattr_of_a_module() -> None:
    module = types.ModuleType("space")
    module.__dict__.update(matmul=len, VERSION=1)
    ask = module_getattr("ops", module.__dict__)
    with pytest.raises(AttributeError, match="module 'space' has no attribute '_private'"):
        ask("_private")
    with pytest.raises(UnknownAttribute, match="did you mean 'matmul'"):
        ask("matmol")
    with pytest.raises(UnknownAttribute, match="lists all"):
        ask("VERSIO")  # no function
