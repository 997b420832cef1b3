"""Texts of arrays that are made while compiling: each evaluates to the array that it stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.frontend.abstract.array_recipes import Recipes, literal


@pytest.mark.parametrize(
    "array",
    [
        np.array(2.5), np.float32(0.1), np.array([True, False]), np.zeros((0, 3)),
        np.array([1 + 2j, np.nan]), np.array([[np.inf, -np.inf]], np.float16), np.int8(3),
        np.array([2**63], np.uint64), np.array([-0.0, 5e-324]), np.bool_(True),
    ],
)  # fmt: skip
def test_literals(array):
    found = eval(literal(array), {"np": np})
    assert type(found) is type(array) and found.dtype == array.dtype
    assert found.shape == array.shape and found.tobytes() == array.tobytes()


@pytest.mark.parametrize("array", [np.arange(65), np.array(["a"]), np.ma.array([1.0]),
                                   np.array([1.0], ">f8")])  # fmt: skip
def test_what_is_no_literal(array):
    assert literal(array) is None


def called(recipes: Recipes, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls ``function``, and records the call as the front end does."""
    outcome = function(*args, **kwargs)
    recipes.remember(function, args, kwargs, outcome)
    return outcome


LARGE = 200


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "text"),
    [
        (np.linspace, (-1.0, 1.0, LARGE), {}, "np.linspace(-1.0, 1.0, 200)"),
        (np.zeros, ((LARGE, 2), np.float32), {}, "np.zeros((200, 2), np.float32)"),
        (np.arange, (LARGE,), {"dtype": float}, "np.arange(200, dtype=float)"),
        (np.full, ((LARGE,), np.inf), {}, "np.full((200,), np.inf)"),
        (np.tile, ([1, 2], LARGE), {}, "np.tile([1, 2], 200)"),
        (np.eye, (LARGE,), {"dtype": np.dtype("f4")}, "np.eye(200, dtype=np.float32)"),
    ],
)
def test_a_large_array_has_the_text_of_its_call(
    function: Callable[..., Any], args: Any, kwargs: Any, text: str
) -> None:
    recipes = Recipes()
    array = called(recipes, function, *args, **kwargs)
    assert recipes.text(array) == text and literal(array) is None
    again = eval(text, {"np": np})
    assert again.dtype == array.dtype and again.tobytes() == array.tobytes()
    assert recipes.text(array.copy()) is None  # another array, even if it is equal


def test_calls_of_calls_and_items_of_tuples() -> None:
    recipes = Recipes()
    steps = called(recipes, np.linspace, 0.0, 1.0, LARGE)
    assert recipes.text(called(recipes, np.sin, steps)) == "np.sin(np.linspace(0.0, 1.0, 200))"
    rows, _ = called(recipes, np.meshgrid, steps, steps)
    text = recipes.text(rows)
    assert text is not None and text.endswith("[0]")
    np.testing.assert_array_equal(eval(text, {"np": np}), rows)


def test_calls_that_are_not_repeated() -> None:
    """Outcomes of other functions, of arguments without a text, and of random numbers."""
    recipes = Recipes()
    for function, args in (
        (np.random.default_rng(0).normal, (0.0, 1.0, LARGE)),
        (np.fromiter, (range(LARGE), float)),
        (np.sin, (np.random.default_rng(1).normal(size=LARGE),)),
        (lambda: np.zeros(LARGE), ()),
    ):
        assert recipes.text(called(recipes, function, *args)) is None
    with changed_costs(checked_array_elements=10):  # too large to be compared
        assert recipes.text(called(recipes, np.zeros, LARGE)) is None
