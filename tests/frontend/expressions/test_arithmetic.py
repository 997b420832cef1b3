"""A list or tuple beside an array in plain NumPy code is an array, for every operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from tests.frontend.written_programs import X, problems, program, refused

_LISTS = [
    "[1.1, 2.3, 3.1, 4.2]",
    "(1.2, 2, 3.3, 2)",
    "[x[1] - 0.2, 2.2, x[0] + 0.3, 3.2]",
    "[[1.3], [2.2]]",
    "[2.7]",
]
#: With no jumps near X: the other operand is never a multiple of an item.
_SIGNS = ["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!="]


def _texts() -> dict[str, Any]:
    texts = [
        f"np.sum(({left} {sign} {right}) * x)"
        for sign in _SIGNS
        for one in _LISTS
        for left, right in (("x", one), (one, "x"))
    ]
    texts += [f"np.sum(np.abs(x) ** {one})" for one in _LISTS]
    texts += ["x @ [1, 2, 3, 4]", "(1.0, 2.0, 3.0, 4.0) @ x",
              "np.sum(x == [0.5, 9, 2.1, 9]) * x[1]",
              "np.sum(x[0] + [1.0, x[1]])", "np.sum(x[0] == [0.5, 2.0]) * x[1]",
              "np.sum(np.array(x[0]) * [1.0, 2.0])", "np.sum([1, 2] * np.array(x[0]))",
              "np.sum(x[:, None] * [[1.0, 2.0]])"]  # fmt: skip
    found = {text: program(f"return {text}") for text in texts}
    found["+="] = program(
        "y = x.copy()", "y += [1, 2, 3, 4]", "y *= (1.0, 2.0, 3.0, 4.0)", "return y @ y"
    )
    found["named"] = program("w = [1.0, 2.0, 3.0, 4.0]", "w[1] = x[0]", "return (x * w).sum()")
    return found


def test_values_and_gradients_are_numpys() -> None:
    assert problems(_texts()) == []


WEIGHTS: Any = [1.0, 2.0, 3.0, 4.0]


def _weighted(x):
    return (x * WEIGHTS).sum()


def test_an_outside_list_is_read_at_every_call() -> None:
    grad = ms.grad(_weighted)
    np.testing.assert_array_equal(grad(X), WEIGHTS)
    WEIGHTS[2] = 7.0
    np.testing.assert_array_equal(grad(X), WEIGHTS)


@pytest.mark.parametrize("text", ["x[0] * [1.0, 2.0]", "[1.0, 2.0] * x[0]"])
def test_a_list_times_a_scalar_is_none(text: str) -> None:
    """NumPy raises TypeError: only integers repeat a list."""
    refused(program(f"y = {text}", "return y[1]"), "does not take this list")
