"""Stabilised formulas: their operators, the same values, and the values at bad points.

Bad points have values and slopes worked out by hand or by the identity that the row stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import (
    Tensor,
    compile_info,
    gradient_source,
    jit,
    ops,
    set_context,
    value_and_grad,
)
from autodiff_compiler.passes.simplify.stabilise import RULES
from tests.operators.test_extremes import weights_of

INF = np.inf
BIG = [-1e4, 0.0, 1e4]

#: A formula, the row that serves it, a bad point, value and slopes there (of the outputs weighted
#: 1, 1.5, 2 …).
FORMULAS: list[tuple[Callable[..., Any], str, list[float], list[float], list[float]]] = [
    (lambda x: ops.log(1 + ops.exp(x)), "softplus(u)", BIG, [0, np.log(2), 1e4], [0, 0.75, 2]),
    (lambda x: ops.log(ops.exp(x) + 1.0), "softplus(u)", BIG, [0, np.log(2), 1e4], [0, 0.75, 2]),
    (lambda x: ops.log1p(ops.exp(x)), "log1p(exp(u))", BIG, [0, np.log(2), 1e4], [0, 0.75, 2]),
    (lambda x: ops.log(ops.exp(x) + ops.exp(2.0 * x)), "logaddexp", [-1e4, 1e4], [-1e4, 2e4],
     [1, 3]),
    (lambda x: ops.log(ops.exp(x).sum()), "logsumexp", [1e4, 1e4, -1e4], [1e4 + np.log(2)],
     [0.5, 0.5, 0]),
    (lambda x: ops.log(ops.exp(3.0 * x)), "log(exp(u))", [-1e4, 1e4], [-3e4, 3e4], [3, 4.5]),
    (lambda x: ops.log(ops.sigmoid(x)), "log(sigmoid(u))", BIG, [-1e4, -np.log(2), 0],
     [1, 0.75, 0]),
    (lambda x: ops.log(1 / (1 + ops.exp(-x))), "log(sigmoid(u))", BIG, [-1e4, -np.log(2), 0],
     [1, 0.75, 0]),
    (lambda x: ops.log(1.0 - ops.sigmoid(x)), "log(1 - sigmoid(u))", BIG, [0, -np.log(2), -1e4],
     [0, -0.75, -2]),
    (lambda x: ops.log(ops.softmax(x)), "as log_softmax(u)", BIG, [-2e4, -1e4, 0], [1, 1.5, -2.5]),
    (lambda x: ops.log(ops.exp(x) / ops.exp(x).sum()), "as log_softmax(u)", BIG, [-2e4, -1e4, 0],
     [1, 1.5, -2.5]),
    (lambda x: ops.log(ops.softmax(x)[0]), "log_softmax(u)[i]", BIG, [-2e4], [1, 0, -1]),
    (lambda x: ops.log(1 + x), "log1p(u)", [1e-20, -1e-20], [1e-20, -1e-20], [1, 1.5]),
    (lambda x: ops.log(1.0 - x), "log1p(-u)", [1e-20, -1e-20], [-1e-20, 1e-20], [-1, -1.5]),
    (lambda x: ops.exp(x) / (1 + ops.exp(x)), "exp(u) / (1 + exp(u))", BIG, [0, 0.5, 1],
     [0, 0.375, 0]),
    (lambda x: 1 / (1 + ops.exp(-x)), "v / (1 + exp(u))", BIG, [0, 0.5, 1], [0, 0.375, 0]),
    (lambda x: x / (1.0 + ops.exp(-x)), "v / (1 + exp(u))", BIG, [0, 0, 1e4], [0, 0.75, 2]),
    (lambda x: ops.reciprocal(1 + ops.exp(x)), "1 / (1 + exp(u))", BIG, [1, 0.5, 0],
     [0, -0.375, 0]),
    (lambda x: (1 + ops.exp(x)) ** -1, "(1 + exp(u)) ** -1", BIG, [1, 0.5, 0], [0, -0.375, 0]),
    (lambda x: ops.exp(x) / ops.exp(x).sum(-1, keepdims=True), "as softmax(u)", BIG, [0, 0, 1],
     [0, 0, 0]),
    (lambda x: (ops.exp(x) - ops.exp(-x)) / (ops.exp(x) + ops.exp(-x)), "tanh(u)", BIG, [-1, 0, 1],
     [0, 1.5, 0]),
    (lambda x: ops.sqrt((x * x).sum()), "norm(u)", [0.0, 0.0], [0], [0, 0]),
    (lambda x: ops.sqrt(ops.sum(ops.square(x), -1)), "norm(u)", [0.0, 0.0], [0], [0, 0]),
    (lambda x: ops.sqrt((x**2).sum()), "norm(u)", [0.0, 0.0], [0], [0, 0]),
    (lambda x: (x * x).sum() ** 0.5, "norm(u)", [0.0, 0.0], [0], [0, 0]),
    (lambda x: ops.sqrt(ops.matmul(x, x)), "norm(u)", [0.0, 0.0], [0], [0, 0]),
    (lambda x: ops.matmul(x, x) ** 0.5, "norm(u)", [0.0, 0.0], [0], [0, 0]),
    (lambda x: ops.sqrt(x[0] * x[0] + x[1] ** 2), "hypot(u, v)", [0.0, -4e-200], [4e-200], [0, -1]),
    (lambda x: (ops.square(x[0]) + x[1] ** 2) ** 0.5, "hypot(u, v)", [-4e-200, 0.0], [4e-200],
     [-1, 0]),
    (lambda x: ops.sqrt(x * x), "abs(u)", [0.0, -2.0], [0, 2], [0, -1.5]),
    (lambda x: ops.sqrt(x.var()), "std(u)", [2.0, 2.0], [0], [0, 0]),
    (lambda x: x - ops.log(ops.exp(x).sum(-1, keepdims=True)), "as log_softmax(u)", BIG,
     [-2e4, -1e4, 0], [1, 1.5, -2.5]),
    (lambda x: ops.exp(x) - 1.0, "expm1(u)", [1e-20, -1e-20], [1e-20, -1e-20], [1, 1.5]),
    (lambda x: 1 - ops.exp(x), "expm1(u)", [1e-20, -1e-20], [-1e-20, 1e-20], [-1, -1.5]),
]  # fmt: skip
MILD = [0.3, 0.7, 0.45]


def asked(function: Callable[..., Any], x: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the compiled value and weighted gradient."""
    tensor, sens = Tensor(np.array(x)), weights_of(function(Tensor(np.array(x))).asnumpy())
    with np.errstate(all="ignore"):
        value, slope = value_and_grad(function, sens_param=True)(tensor, Tensor(sens))
    return value.asnumpy(), slope.asnumpy()


@pytest.fixture
def as_it_stands() -> Iterator[None]:
    set_context(stabilise=False)
    yield
    set_context(stabilise=True)


@pytest.mark.parametrize("position", range(len(FORMULAS)))
def test_a_formula_at_its_bad_point(position: int) -> None:
    function, _, point, value, slopes = FORMULAS[position]
    found, slope = asked(function, point)
    np.testing.assert_allclose(np.ravel(found), value, rtol=1e-15, atol=1e-300)
    np.testing.assert_allclose(slope, slopes, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("position", range(len(FORMULAS)))
def test_left_as_it_stands_it_means_the_same_elsewhere(position: int, as_it_stands: None) -> None:
    function, _, point, *exact = FORMULAS[position]
    plain = asked(function, MILD)
    bad = asked(function, point)
    with np.errstate(all="ignore"):  # at the bad point it was indeed needed
        wrong = [~np.isclose(np.ravel(a), b, rtol=1e-9, atol=1e-30) for a, b in zip(bad, exact)]
    assert any(each.any() for each in wrong)
    assert "# stab" not in gradient_source(function, "f64[3]")
    set_context(stabilise=True)
    for a, b in zip(plain, asked(function, MILD)):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("position", range(len(FORMULAS)))
def test_the_line_says_so(position: int) -> None:
    function, name, *_ = FORMULAS[position]
    notes = [line for line in gradient_source(function, "f64[3]").splitlines() if "# stab" in line]
    assert notes and all(name in note for note in notes)
    assert "# stab" not in gradient_source(function, "f64[3]", stabilise=False)


def test_every_row_has_a_formula() -> None:
    untested = [row.name for row in RULES if not any(f[1] in row.name for f in FORMULAS)]
    assert untested == []


#: Formulas that look alike and must stay.
OTHERS: list[Callable[..., Any]] = [
    lambda x: ops.log(2 + ops.exp(x)),
    lambda x: ops.exp(x) / (3 + ops.exp(2.0 * x)) + ops.exp(x) / (2 + ops.exp(x)),
    lambda x: ops.exp(x) / ops.exp(2.0 * x).sum(),
    lambda x: ops.exp(x) / ops.exp(x).sum(0),
    lambda x: ops.sqrt((x * ops.exp(x)).sum()),
    lambda x: ops.sqrt((x * x).sum() + 1e-12),
    lambda x: ops.sqrt(x**3) + ops.log(ops.softmax(x) + 1e-9),
    lambda x: ops.exp(x - x.max()) / ops.exp(x - x.max()).sum(),
    lambda x: (ops.exp(x) - ops.exp(-x)) / (ops.exp(-x) - ops.exp(x)),
    lambda x: ops.log(1 + ops.cast(x, "int32")),
]


@pytest.mark.parametrize("position", range(len(OTHERS)))
def test_near_misses_stay(position: int) -> None:
    assert "# stab" not in gradient_source(OTHERS[position], "f64[2,2]")


def test_a_value_used_elsewhere_stays() -> None:
    def both(x):
        e = ops.exp(x)
        return ops.log(1.0 + e) + e

    value, slope = asked(both, [1.0, -30.0])
    e = np.exp([1.0, -30.0])
    np.testing.assert_allclose(value, np.log1p(e) + e, rtol=1e-15)
    np.testing.assert_allclose(slope, np.array([1, 1.5]) * (e / (1 + e) + e), rtol=1e-15)


def test_inside_loops_branches_calls_and_gradients() -> None:
    def naive(x):
        return ops.log(1 + ops.exp(x))

    def looped(x):
        total = x
        for _ in range(2):
            if total.sum() > 0:
                total = naive(total)
        return total

    value, slope = asked(looped, [800.0])
    assert value == 800.0 and slope == 1.0

    def slope_of(x):
        return ops.grad(naive)(x)

    value, slope = asked(slope_of, [800.0, 0.0])
    assert value.tolist() == [1.0, 0.5] and slope.tolist() == [0.0, 0.375]


def test_plain_numpy_and_no_signature() -> None:
    def plain(x):
        return np.log(1 + np.exp(x))

    assert value_and_grad(plain)(np.array(800.0)) == (800.0, 1.0)
    assert "softplus" in gradient_source(plain, "any[...]")


def test_the_switch_is_part_of_what_is_cached(as_it_stands: None) -> None:
    def naive(x):
        return ops.log(1 + ops.exp(x))

    run, far = jit(naive), Tensor(np.array([800.0]))
    with np.errstate(all="ignore"):
        assert run(far).asnumpy() == INF
    set_context(stabilise=True)
    assert run(far).asnumpy() == 800.0
    sources = [unit.source for unit in compile_info().units if unit.title.startswith("naive")]
    assert len([text for text in sources if "stabilised" in text]) >= 1
