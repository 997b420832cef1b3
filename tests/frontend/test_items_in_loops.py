"""Array items as Python numbers in loops: in sums, lists and dicts.

Each program is compiled with a rolled loop, since its length is long or known only at run time, and
compared with finite differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import grad, hvp, jvp, value_and_grad


def float_of_an_item(x: np.ndarray) -> float:
    s = 0.0
    for i in range(len(x)):
        s += float(x[i]) ** 2
    return s


def item_of_an_item(x: np.ndarray) -> float:
    s = 0.0
    for i in range(len(x)):
        s += x[i].item() ** 3
    return s


def item_at(x: np.ndarray) -> float:
    s = 0.0
    for i in range(len(x)):
        s += x.item(i) * math.sin(x.item((i,)))
    return s


def begun_with_an_integer(x: np.ndarray) -> float:
    s = 0
    for i in range(len(x)):
        s += float(x[i]) ** 2
    return s


def values(x: np.ndarray) -> float:
    s = 0.0
    for v in x:
        s += float(v) * math.exp(-float(v))
    return s


def numbered(x: np.ndarray) -> float:
    s = 0.0
    for i, v in enumerate(x):
        s += i * float(v) ** 2
    return s


def in_a_list(x: np.ndarray) -> float:
    out = []
    for i in range(len(x)):
        out.append(float(x[i]) ** 2)
    return sum(out)


def in_a_dict(x: np.ndarray) -> float:
    held = {"s": 0.0, "p": 1.0}
    for i in range(len(x)):
        held["s"] += math.sqrt(float(x[i]))
        held["p"] *= float(x[i])
    return held["s"] * held["p"]


def carried_by_two(x: np.ndarray) -> float:
    a, b = 0.0, 1.0
    for i in range(len(x)):
        a, b = b, a + float(x[i]) * b
    return a + b


def multiplied(x: np.ndarray) -> float:
    s = 1.0
    for i in range(len(x)):
        s *= float(x[i])
        s -= math.log(x[i])
    return s


def chosen(x: np.ndarray) -> float:
    s = 0.0
    for i in range(len(x)):
        if float(x[i]) > 1.0:
            s += math.cosh(float(x[i]))
        else:
            s -= float(x[i])
    return s


def counted(x: np.ndarray) -> float:
    s, i = 0.0, 0
    while i < len(x):
        s += float(x[i]) * float(x[i - 1])
        i += 1
    return s


def of_parts(x: np.ndarray) -> float:
    s = 0.0
    for i in range(len(x)):
        s += float(np.sum(x[: i + 1])) * float(x[i])
    return s


def nested(x: np.ndarray) -> float:
    s = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            s += float(x[i]) * float(x[j]) ** 2
    return s


PROGRAMS = (
    float_of_an_item, item_of_an_item, item_at, begun_with_an_integer, values, numbered, in_a_list,
    in_a_dict, carried_by_two, multiplied, chosen, counted, of_parts, nested,
)  # fmt: skip
X = np.array([0.5, 1.5, 0.75, 2.0])


def _slopes(function: Callable[[np.ndarray], Any], step: float = 1e-6) -> np.ndarray:
    ends = [(function(X + step * e), function(X - step * e)) for e in np.eye(len(X))]
    return np.array([(up - down) / (2 * step) for up, down in ends])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_items_keep_their_gradient(program: Callable[[np.ndarray], Any]) -> None:
    value, found = value_and_grad(program)(X)
    assert value == pytest.approx(program(X), rel=1e-14)
    assert isinstance(found, np.ndarray) and found.dtype == np.float64 and found.shape == X.shape
    np.testing.assert_allclose(found, _slopes(program), rtol=1e-7)
    along = jvp(program, (X,), (np.array([1.0, -2.0, 0.5, 3.0]),))[1]
    assert along == pytest.approx(found @ [1.0, -2.0, 0.5, 3.0], rel=1e-12)
    bent = hvp(program, X, np.ones(4))
    gradient = grad(program)
    right = (gradient(X + 1e-6) - gradient(X - 1e-6)) / 2e-6
    np.testing.assert_allclose(bent, right, rtol=1e-6, atol=1e-8)
    single = grad(program)(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, found, rtol=1e-4)


def test_the_gradient_of_an_only_item_has_the_shape_of_its_array() -> None:
    for x in (np.array([[3.0]]), np.array([3.0], np.float32)):
        found = grad(lambda x: x.item() ** 2)(x)
        assert found.shape == x.shape and found.dtype == x.dtype and found.item() == 6.0
