"""Values that a choice does not take add nothing to a gradient, even if their slope is infinite.

In a derivative 0 * inf is 0 where a choice made the 0. Each program chooses between a function that
is singular at some of the points and something harmless: the gradient is that of the branch that is
taken, element by element, in either mode and of either order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, gradient_source, nn, ops

F = Callable[[np.ndarray], np.ndarray]
#: Functions that are singular somewhere, with first and second derivative, where they are not, and
#: points at which they are.
SINGULAR: dict[str, tuple[F, F, F, tuple[float, ...]]] = {
    "sqrt": (np.sqrt, lambda x: 0.5 / np.sqrt(x), lambda x: -0.25 * x**-1.5, (0.0, -1.0)),
    "log": (np.log, lambda x: 1 / x, lambda x: -1 / x**2, (0.0,)),
    "log2": (
        np.log2, lambda x: 1 / (x * np.log(2)), lambda x: -1 / (x * x * np.log(2)), (0.0,)
    ),
    "log1p": (np.log1p, lambda x: 1 / (1 + x), lambda x: -1 / (1 + x) ** 2, (-1.0,)),
    "quotient": (lambda x: 1 / x, lambda x: -1 / x**2, lambda x: 2 / x**3, (0.0,)),
    "sine_quotient": (
        lambda x: np.sin(x) / x,
        lambda x: np.cos(x) / x - np.sin(x) / x**2,
        lambda x: -np.sin(x) / x - 2 * np.cos(x) / x**2 + 2 * np.sin(x) / x**3,
        (0.0,),
    ),
    "power": (lambda x: x**0.5, lambda x: 0.5 * x**-0.5, lambda x: -0.25 * x**-1.5, (0.0,)),
    "exp": (np.exp, np.exp, np.exp, (1e3,)),
    "expm1": (np.expm1, np.exp, np.exp, (1e3,)),
    "cosh": (np.cosh, np.sinh, np.cosh, (1e3,)),
    "arcsin": (
        np.arcsin, lambda x: (1 - x * x) ** -0.5, lambda x: x * (1 - x * x) ** -1.5, (1.0, -1.0)
    ),
    "arctanh": (
        np.arctanh, lambda x: 1 / (1 - x * x), lambda x: 2 * x / (1 - x * x) ** 2, (1.0, -1.0)
    ),
    "inner": (
        lambda x: np.sin(np.sqrt(x)),
        lambda x: 0.5 * np.cos(np.sqrt(x)) / np.sqrt(x),
        lambda x: -0.25 * (np.sin(np.sqrt(x)) / x + np.cos(np.sqrt(x)) * x**-1.5),
        (0.0,),
    ),
    "product": (
        lambda x: x * np.log(x), lambda x: np.log(x) + 1, lambda x: 1 / x, (0.0,)
    ),
    "softplus": (
        lambda x: np.log1p(1.5 * np.exp(x)),
        lambda x: 1.5 * np.exp(x) / (1 + 1.5 * np.exp(x)),
        lambda x: 1.5 * np.exp(x) / (1 + 1.5 * np.exp(x)) ** 2,
        (1e3,),
    ),
}  # fmt: skip


def by_where(f: F) -> Callable:
    return lambda x, good: np.where(good, f(x), 2.0 * x)


def by_the_other_side(f: F) -> Callable:
    return lambda x, good: np.where(~good, 2.0 * x, f(x))


def by_items(f: F) -> Callable:
    def items(x: np.ndarray, good: np.ndarray) -> np.ndarray:
        y = f(x)
        y[~good] = 2.0 * x[~good]
        return y

    return items


def in_a_loop(f: F) -> Callable:
    def loop(x: np.ndarray, good: np.ndarray) -> np.ndarray:
        y = 0.0 * x
        for _ in range(3):
            y = y + np.where(good, f(x), 2.0 * x) / 3.0
        return y

    return loop


def chosen_by_the_caller(f: F) -> Callable:
    def callee(x: np.ndarray) -> np.ndarray:
        return f(x)

    return lambda x, good: np.where(good, callee(x) * 1.0, 2.0 * x)


def in_a_branch(f: F) -> Callable:
    def branch(x: np.ndarray, good: np.ndarray) -> np.ndarray:
        y = f(x) if np.sum(good) > 0.5 else f(x) * 1.0
        return np.where(good, y, 2.0 * x)

    return branch


WAYS = (by_where, by_the_other_side, by_items, in_a_loop, chosen_by_the_caller, in_a_branch)


def points(bad: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    x = np.array([0.3, *bad, 0.7])
    return x, np.array([True, *(False for _ in bad), True])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", SINGULAR)
def test_the_side_that_is_not_taken_adds_nothing(name: str, way: Callable) -> None:
    f, slope, second, bad = SINGULAR[name]
    x, good = points(bad)
    program = way(f)
    sure = np.where(good, x, 0.5)
    expected = np.where(good, slope(sure), 2.0)
    np.testing.assert_allclose(ms.grad(program)(x, good), expected, rtol=1e-12)
    along = np.array([1.0, -2.0, 0.5, 3.0][: len(x)])
    _, dot = ms.jvp(lambda x: program(x, good), Tensor(x), Tensor(along))
    np.testing.assert_allclose(dot.asnumpy(), expected * along, rtol=1e-12)

    def twice(x: np.ndarray, good: np.ndarray) -> np.ndarray:
        return (ms.grad(program)(x, good) * along).sum()

    bent = np.where(good, second(sure), 0.0) * along
    np.testing.assert_allclose(ms.grad(twice)(x, good), bent, rtol=1e-11)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "program, x, expected",
    [
        (lambda x: np.maximum(np.sqrt(x * x + 0.0 * x), 1e-3), [0.0, 2.0], [0.0, 1.0]),
        (lambda x: np.maximum(np.sqrt(np.sin(x) + 0.0), 0.1), [0.0], [0.0]),
        (lambda x: np.minimum(1 / x, 5.0), [0.0, 2.0], [0.0, -0.25]),
        (lambda x: np.clip(np.log(x), -3.0, 3.0), [0.0, 2.0], [0.0, 0.5]),
        (lambda x: np.maximum(np.log(x), 0.0), [0.0, 2.0], [0.0, 0.5]),
        (lambda x: (x > 0) * np.sqrt(x), [0.0, 4.0], [0.0, 0.25]),
        (lambda x: np.sqrt(x)[1:], [0.0, 4.0], [0.0, 0.25]),
        (lambda x: np.sqrt(x).max(), [0.0, 4.0], [0.0, 0.25]),
        (lambda x: np.select([x > 0], [np.sqrt(x)], 0.0), [0.0, 4.0], [0.0, 0.25]),
        (lambda x: np.where(x > 0, x**1.5, x), [0.0, 4.0], [1.0, 3.0]),
        (lambda x: np.where(np.isnan(x), 0.0, x * x * x), [np.nan, 2.0], [0.0, 12.0]),
        (lambda x: np.where(x[:, None] > 0, np.log(x)[:, None], 0.0), [0.0, 2.0], [0.0, 0.5]),
        (lambda x: np.where(x > 0, np.reshape(np.log(x), (1, 2)), 0.0), [0.0, 2.0], [0.0, 0.5]),
    ],
)  # fmt: skip
def test_each_choice(program: Callable, x: list[float], expected: list[float], dtype: type) -> None:
    found = ms.grad(lambda x: program(x).sum())(np.array(x, dtype))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: ops.relu(ops.log(x)),
        lambda x: ops.where(x > 0, ops.sqrt(x), 0.0),
        lambda x: ops.select(x > 0, ops.rsqrt(x), ops.zeros_like(x)),
        lambda x: ops.masked_fill(1.0 / x, x <= 0, 0.0),
        lambda x: ops.maximum(ops.log(x), -5.0),
        lambda x: ops.clamp(ops.log(x), -5.0, 5.0),
        lambda x: ops.cast(x > 0, ms.float32) * ops.sqrt(x),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_choices_of_tensors(program: Callable) -> None:
    x = Tensor(np.array([0.0, 4.0], np.float32))
    found, at_four = ms.grad(program)(x).asnumpy(), ms.grad(program)(Tensor([4.0])).asnumpy()
    np.testing.assert_array_equal(found, [0.0, at_four[0]])
    _, dot = ms.jvp(program, x, Tensor(np.ones(2, np.float32)))
    np.testing.assert_array_equal(dot.asnumpy(), found)


class Root(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return ops.sqrt(x) * 2.0


class Chosen(nn.Cell):
    """A Cell that is called under a choice, and without."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Root()

    def construct(self, x: Tensor) -> Tensor:
        return ops.where(x > 0, self.root(x), 0.0) + self.root(x + 1.0)


def test_cells_under_a_choice() -> None:
    found = ms.grad(Chosen())(Tensor(np.array([0.0, 3.0], np.float32))).asnumpy()
    np.testing.assert_allclose(found, [1.0, 3**-0.5 + 0.5], rtol=1e-6)


def test_a_zero_that_no_choice_made_is_no_exception_where_the_slope_is_finite() -> None:
    """(log x - log 3)² has the cotangent 0 at 3, and the second derivative 2 / 9."""

    def program(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, (np.log(x) - np.log(3.0)) ** 2, 0.0).sum()

    def slope(x: np.ndarray) -> np.ndarray:
        return ms.grad(program)(x).sum()

    np.testing.assert_allclose(ms.grad(slope)(np.array([3.0])), [2 / 9], rtol=1e-12)


def test_there_is_no_warning_where_the_program_gives_none() -> None:
    def program(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, np.sqrt(x), 0.0).sum()

    with np.errstate(all="raise"):
        np.testing.assert_array_equal(ms.grad(program)(np.array([0.0, 4.0])), [0.0, 0.25])


@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.maximum(x * np.sin(x), 0.0),
        lambda x: np.sqrt(x) + np.log(x) / x,
        lambda x: np.sqrt(np.where(x > 0, x, 1.0)),
        lambda x: np.maximum(x / np.sqrt(np.var(x) + 1e-5), 0.0),
        lambda x: np.maximum(np.exp(-x * x), 0.1),
        lambda x: np.maximum(np.exp(x - np.max(x)), 0.1),
        lambda x: np.maximum(x / (1.0 + np.abs(x)), 0.1),
        lambda x: np.where(x > 0, np.log1p(x * x), 0.0),
        lambda x: np.where(x > 0, x**3 / 7.0, 0.0),
        lambda x: np.where(x > 0, np.sqrt(1.0 + x * x), 0.0),
    ],
)
def test_text_without_singular_operators_under_a_choice_is_unchanged(
    program: Callable,
) -> None:
    assert "== 0, 1.0" not in gradient_source(program, np.ones(4))


NUMBERS_IN_THE_TEXT: dict[str, F] = {
    "nan_to_num of a quotient by 0, times 0": lambda x: np.nan_to_num(x / 0.0 * 0),
    "nan_to_num of a quotient by 0": lambda x: np.nan_to_num(x / 0.0),
    "nan_to_num of a product with infinity": lambda x: np.nan_to_num(x * np.inf),
    "nan_to_num of a product with NaN": lambda x: np.nan_to_num(np.sin(x) * np.nan),
    "isnan": lambda x: np.where(np.isnan(x / 0.0 * 0), 1.0, x / 0.0 * 0),
    "isfinite": lambda x: np.where(np.isfinite(x * np.inf), x * np.inf, 2.0),
    "isfinite of a sum": lambda x: np.where(np.isfinite(x + np.inf), (x + np.inf) / 0.0, 2.0),
    "maximum": lambda x: np.maximum(np.minimum((x + 2.0) / 0.0, 2.5), 3.0),
    "a choice of a choice": lambda x: np.maximum(np.where(x > 5, x * np.nan, x), 3.0),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NUMBERS_IN_THE_TEXT)
def test_infinite_numbers_in_the_text_make_no_nan(name: str) -> None:
    """Every element is a constant that was chosen instead."""
    function, x = NUMBERS_IN_THE_TEXT[name], np.array([0.0, 1.0, -1.0, 2.0])
    zeros = [0.0] * 4
    assert ms.grad(lambda x: np.sum(function(x)))(x).tolist() == zeros
    assert np.asarray(ms.jvp(function, (x,), (np.ones(4),))[1]).tolist() == zeros
    twice = ms.grad(lambda x: np.sum(ms.grad(lambda x: np.sum(function(x)))(x)))
    assert twice(x).tolist() == zeros


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_root_of_a_sum_with_one_is_singular() -> None:
    def function(x: np.ndarray) -> np.ndarray:
        return np.maximum(np.sqrt(1.0 + x), 0.5)

    x = np.array([-1.0, 3.0])
    assert ms.grad(lambda x: np.sum(function(x)))(x).tolist() == [0.0, 0.25]
    assert ms.jvp(function, (x,), (np.ones(2),))[1].tolist() == [0.0, 0.25]


def relu_of(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0.0)


def written_over(x: np.ndarray) -> np.ndarray:
    y = x * 1.0
    y[x <= 0] = 0.0
    return y


#: What is 0, as a constant, where x is at most 0, and x elsewhere.
LEVEL: dict[str, F] = {
    "maximum": relu_of,
    "where": lambda x: np.where(x > 0, x, 0.0),
    "a mask": lambda x: (x > 0) * x,
    "clip": lambda x: np.clip(x, 0.0, 1e3),
    "written over": written_over,
    "padded": lambda x: np.concatenate([np.zeros(2), x[2:]]),
    "in a function": lambda x: relu_of(relu_of(x)),
    "in items": lambda x: np.stack([np.where(x[k] > 0, x[k], 0.0) for k in range(4)]),
}
#: Functions with an infinite slope at 0, and their slopes.
STEEP: dict[str, tuple[F, F]] = {
    "sqrt": (np.sqrt, lambda x: 0.5 / np.sqrt(x)),
    "power": (lambda x: x**0.3, lambda x: 0.3 * x**-0.7),
    "log": (np.log, lambda x: 1 / x),
    "quotient": (lambda x: 1 / x, lambda x: -1 / x**2),
    "arccosh": (lambda x: np.arccosh(1.0 + x), lambda x: 1 / np.sqrt(x * (x + 2))),
    "scaled": (lambda x: 3.0 * np.sqrt(2.0 * x), lambda x: 3.0 / np.sqrt(2.0 * x)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("level", LEVEL)
@pytest.mark.parametrize("steep", STEEP)
def test_a_singular_function_of_a_locally_constant_operand(level: str, steep: str) -> None:
    """Both modes have the slope 0 where the operand is a constant, though that of the function is
    infinite there; at the edge itself ``maximum`` and ``clip`` have theirs."""
    inner, (outer, slope) = LEVEL[level], STEEP[steep]
    x = np.array([-1.0, -2.0, 0.25, 2.0])
    right = [0.0, 0.0, *slope(x[2:])]
    np.testing.assert_allclose(ms.grad(lambda x: np.sum(outer(inner(x))))(x), right, rtol=1e-13)
    along = ms.jvp(lambda x: outer(inner(x)), (x,), (np.ones(4),))[1]
    np.testing.assert_allclose(along, right, rtol=1e-13)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_root_of_a_relu() -> None:
    x = Tensor(np.array([-1.0, 0.0, 4.0]))
    assert ms.grad(lambda x: ops.sqrt(ops.relu(x)))(x).asnumpy().tolist() == [0.0, 0.0, 0.25]
    dot = ms.jvp(lambda x: ops.sqrt(ops.relu(x)), (x,), (Tensor(np.ones(3)),))[1]
    assert dot.asnumpy().tolist() == [0.0, 0.0, 0.25]
