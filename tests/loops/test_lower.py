"""Whole gradients in C: value and gradients are those of the interpreter, and of differences."""

from __future__ import annotations

import re
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


def leaves_early(x: Any, n: int) -> Any:
    for k in range(n):
        x = x * 1.6 + k
        if np.sum(x) > 60.0:
            break
    return np.sum(x * x)


def returns_early(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 1.3
        if np.sum(x) > 60.0:
            return np.sum(np.cos(x))
    return np.sum(x)


def grown(x: Any, n: int) -> Any:
    states = []
    for k in range(n):
        states.append(np.sin(x) * k)
        x = x * 1.1
    total = x
    for state in states[::-1]:
        total = total * 0.5 + state * state
    return np.sum(total) + np.sum(states[-2] * states[1])


def nested(x: Any, n: int, m: int) -> Any:
    total = x
    for k in range(n):
        for j in range(m):
            total = np.sin(total * x) + j
        total = total * x + k
    return np.sum(total)


def in_steps(x: Any, n: int, step: int) -> Any:
    total = x
    for k in range(n, 0, step):
        total = np.cos(total) * x + k
    for k in range(0, n, 3):
        total = total + k * x
    return np.sum(total)


def three_ways(x: Any, y: Any) -> Any:
    total = np.sum(x)
    if total > 100.0:
        z = x * y
    elif total > 1.0:
        z = np.sin(x) * y
    else:
        z = np.exp(x)
    return np.sum(z * z)


def exchanged(x: Any, n: int) -> Any:
    one, other = [x[0], x[1]], [x[2]]
    for _ in range(n):
        one, other = other + one, one
    total = np.sum(other[0] * x[3])
    for k in range(len(one)):
        total = total + np.sum(one[k]) ** 2 * (k + 1)
    return total


def repeated(x: float, n: int) -> Any:
    many = [x * x, 3.0 * x] * n
    many[1] = many[1] * x
    total = x
    for k in range(len(many)):
        total = total + many[k] ** 2 * k
    return total


def pairs(x: Any, n: int) -> Any:
    both = []
    for k in range(n):
        both.append((x[k] * k, np.sum(x[k])))
    total = np.sum(x)
    for row, weight in both:
        total = total + np.sum(row * weight)
    return total + both[1][1] * np.sum(both[0][0] + both[1][0])


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
    leaves_early: (X, 9),
    returns_early: (X, 9),
    grown: (X, 5),
    nested: (X, 3, 4),
    in_steps: (X, 7, -2),
    three_ways: (X, Y),
    exchanged: (X, 3),
    pairs: (X, 3),
}


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


@pytest.mark.parametrize("n", (2, 4))
def test_a_repeated_list(n: int, c_compiler: Compiler) -> None:
    function = joint_gradient(repeated, (1.3, n), 1)
    assert_agrees(function, (1.3, n))
    value, slope = compiled(function)[0](1.3, n)
    np.testing.assert_allclose(value, repeated(1.3, n), rtol=1e-9)
    np.testing.assert_allclose(slope, by_differences(repeated, 0, (1.3, n)), rtol=1e-6)


def test_a_chain_is_one_loop_without_temporaries(c_compiler: Compiler) -> None:
    text = compiled(joint_gradient(chain, (X, Y), 2))[1]
    body = text[text.index("int32_t chain") :]
    assert body.count("for (") == 4  # partial sums: zero, each step, and their sum
    assert "workspace" not in body and "[24]" not in body


def test_normalised_rows_need_one_row_of_memory(c_compiler: Compiler) -> None:
    text = compiled(joint_gradient(normalised, (X, ROW), 2))[1]
    assert "[6];" in text and "[24]" not in text


def quotient(x: Any, n: int) -> Any:
    return np.sum(x) * (7 // n)


def rest(x: Any, n: int) -> Any:
    return np.sum(x) * (7 % n)


def ratio(x: Any, n: int) -> Any:
    return np.sum(x) * (1 / n)


def inverse_power(x: Any, n: int) -> Any:
    return np.sum(x) * float(n) ** -1.0


def refused(x: Any, n: int) -> Any:
    if n < 1:
        raise ValueError("n is too small")
    return np.sum(x) * n


def of_no_items(x: Any, n: int) -> Any:
    states = []
    for k in range(n):
        states.append(x * k)
    return np.sum(states[0])


@pytest.mark.every_case
@pytest.mark.parametrize(
    "program",
    (quotient, rest, ratio, inverse_power, refused, of_no_items),
    ids=lambda program: program.__name__,
)
def test_errors_are_those_of_python(program: Callable[..., Any], c_compiler: Compiler) -> None:
    call, _ = compiled(joint_gradient(program, (X, 2), 1))
    np.testing.assert_allclose(call(X, 2)[0], program(X, 2), rtol=1e-9)
    with pytest.raises(Exception) as expected:
        program(X, 0)
    with pytest.raises(type(expected.value)) as raised:
        call(X, 0)
    assert str(raised.value) == str(expected.value)


def one_row(x: Any, n: int) -> Any:
    return np.sum(x[n])


def one_column(x: Any, n: int) -> Any:
    return np.sum(x[:, n] ** 2)


def rows_in_turn(x: Any, n: int) -> Any:
    total = x[0]
    for k in range(n):
        total = total * x[k]
    return np.sum(total)


@pytest.mark.every_case
@pytest.mark.parametrize("program", (one_row, one_column, rows_in_turn), ids=lambda p: p.__name__)
def test_positions_are_checked(program: Callable[..., Any], c_compiler: Compiler) -> None:
    call, _ = compiled(joint_gradient(program, (X, 2), 1))
    axis = int(program is one_column)
    size = X.shape[axis]
    for n in (size - 1, 0):
        np.testing.assert_allclose(call(X, n)[0], program(X, n), rtol=1e-9)
    n = size + 1 if program is not rows_in_turn else size
    message = f"^index {n} is out of bounds for axis {axis} with size {size}$"
    with pytest.raises(IndexError, match=message):
        call(X, size + 1)


def some_rows(x: Any, places: Any) -> Any:
    return np.sum(x[places] ** 2)


@pytest.mark.parametrize("bad", (7, -7, -9))
def test_the_first_position_that_is_outside_is_named(bad: int, c_compiler: Compiler) -> None:
    """NumPy names it, too."""
    places = np.array([[0, -1], [2, 1]])
    call, _ = compiled(joint_gradient(some_rows, (ROW, places), 1))
    np.testing.assert_allclose(call(ROW, places)[0], some_rows(ROW, places), rtol=1e-9)
    places = np.array([[0, -1], [bad, 100]])
    with pytest.raises(IndexError) as numpy_error:
        some_rows(ROW, places)
    with pytest.raises(IndexError, match=f"^{re.escape(str(numpy_error.value))}$"):
        call(ROW, places)


def limited(x: Any, n: int) -> Any:
    total = np.sum(x * x)
    for k in range(n):
        if k > 4:
            raise ValueError(f"{n} turns, k = {k} of {n / 4}; {n == 9}")
        total = total + k
    return total


def in_percent(x: Any, n: int) -> Any:
    if n > 3:
        raise RuntimeError("%d is more than 3: %.2f" % (n, n / 3))  # noqa: UP031
    return np.sum(x * x)


@pytest.mark.parametrize("program", (limited, in_percent), ids=lambda p: p.__name__)
def test_a_message_has_the_numbers_of_python(
    program: Callable[..., Any], c_compiler: Compiler
) -> None:
    call, _ = compiled(joint_gradient(program, (X, 2), 1))
    np.testing.assert_allclose(call(X, 2)[0], program(X, 2), rtol=1e-9)
    with pytest.raises((ValueError, RuntimeError)) as python_error:
        program(X, 9)
    with pytest.raises(type(python_error.value), match=f"^{re.escape(str(python_error.value))}$"):
        call(X, 9)


def singular_values(x: Any) -> Any:
    return np.sum(np.linalg.svd(x, compute_uv=False) ** 2)


def test_an_operator_without_loops_is_named() -> None:
    with pytest.raises(NoNativeText, match="singular_values|left_vectors"):
        lower_to_loops(joint_gradient(singular_values, (X,), 1))
