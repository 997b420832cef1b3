"""Whole gradients in C: value and gradients are those of the interpreter, and of differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.loops.core.values import NoNativeText
from autodiff_compiler.loops.lower import lower_to_loops
from autodiff_compiler.runtime.native import Compiler
from tests.differences import by_differences
from tests.loops.native import assert_agrees, compiled, joint_gradient

DRAW = np.random.default_rng(3)
X, Y, W = DRAW.uniform(0.5, 1.5, (4, 6)), DRAW.uniform(0.5, 1.5, (4, 6)), DRAW.normal(size=(6, 5))
ROW, BIAS = DRAW.uniform(0.5, 1.5, 6), DRAW.normal(size=5)


def chain(x: Any, y: Any) -> Any:
    return np.sum(np.sin(x) * np.exp(-y) + np.tanh(x * y) / (1 + x**2))


def layer(x: Any, w: Any, b: Any) -> Any:
    return np.mean(np.tanh(x @ w + b) ** 2)


def normalised(x: Any, scale: Any) -> Any:
    centered = x - np.mean(x, axis=1, keepdims=True)
    spread = np.sqrt(np.mean(centered**2, axis=1, keepdims=True) + 1e-5)
    return np.sum((centered / spread * scale) ** 3)


def by_columns(x: Any, y: Any) -> Any:
    return np.sum(np.sum(x, axis=0) * np.sum(y.T, axis=1)) + np.sum(np.max(x, axis=1))


def views(x: Any, y: Any) -> Any:
    mixed = x * y.T.reshape(4, 6)
    return np.sum(mixed) + np.sum(np.expand_dims(x, 1) * np.expand_dims(y, 0) ** 2)


def chosen(x: Any, y: Any) -> Any:
    return np.sum(np.where(x > y, x * y, np.maximum(x, 0.9) - y))


def recurrence(x: Any, w: Any) -> Any:
    state = np.sum(x, axis=0)
    for k in range(4):
        state = np.tanh(state * np.sum(w, axis=1) + k)
    return np.sum(state)


def recurrent(w: Any, x: Any) -> Any:
    state = np.zeros((2, 6))
    for k in range(4):
        state = np.tanh(state @ w + x[k])
    return np.sum(state)


def newton(a: Any) -> Any:
    x = a + 1.0
    while np.sum(np.abs(x * x - a)) > 1e-9:
        x = 0.5 * (x + a / x)
    return np.sum(x)


def branch(x: Any, y: Any) -> Any:
    total = np.sum(x)
    z = x * y if total > 1.0 else x + y
    return np.sum(z * z) * total


def powers(x: Any, n: int) -> Any:
    product = x
    for k in range(n):
        product = product * np.cos(x) + k
    return np.sum(product)


PROGRAMS: dict[Callable[..., Any], tuple[Any, ...]] = {
    chain: (X, Y),
    layer: (X, W, BIAS),
    normalised: (X, ROW),
    by_columns: (X, Y),
    views: (X, Y),
    chosen: (X, Y),
    recurrence: (X, W),
    recurrent: (DRAW.normal(size=(6, 6)), X),
    newton: (ROW,),
    branch: (X, Y),
    powers: (X, 5),
}


@pytest.mark.every_case
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_gradients_agree(program: Callable[..., Any], c_compiler: Compiler) -> None:
    inputs = PROGRAMS[program]
    arrays = sum(isinstance(each, np.ndarray) for each in inputs)
    count = 1 if program is recurrent else arrays
    function = joint_gradient(program, inputs, count)
    assert_agrees(function, inputs)
    value, *slopes = compiled(function)[0](*inputs)
    np.testing.assert_allclose(value, program(*inputs), rtol=1e-9)
    for place, slope in enumerate(slopes):
        expected = by_differences(program, place, inputs)
        np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=1e-6)


def test_a_chain_is_one_loop_without_temporaries(c_compiler: Compiler) -> None:
    text = compiled(joint_gradient(chain, (X, Y), 2))[1]
    body = text[text.index("int32_t chain") :]
    assert body.count("for (") == 4  # partial sums: zero, each step, and their sum
    assert "workspace" not in body and "[24]" not in body


def test_normalised_rows_need_one_row_of_memory(c_compiler: Compiler) -> None:
    text = compiled(joint_gradient(normalised, (X, ROW), 2))[1]
    assert "[6];" in text and "[24]" not in text


def sorted_values(x: Any) -> Any:
    return np.sum(np.sort(x, axis=0) * x)


def test_an_operator_without_loops_is_named() -> None:
    with pytest.raises(NoNativeText, match="argsort|take_along"):
        lower_to_loops(joint_gradient(sorted_values, (X,), 1))
