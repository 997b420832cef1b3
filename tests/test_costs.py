"""A gradient costs a constant multiple of its function, in loops that write items too.

Elements that are touched are counted, at two sizes: both halves, of the first and second order, and
forward mode. What takes time linear in the size must do so in its derivatives.
"""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from tests.counting import counted_calls, touched_by_function, touched_by_text
from tests.written_loops import WRITTEN

SIZES = (128, 256)
#: By how much what is linear may grow from one size to the other.
LINEAR = 1.2 * SIZES[1] / SIZES[0]
TYPES = {"x": "f64[n]", "m": "f64[n,4]", "idx": "i64[n]", "idx2": "i64[n,2]"}

written = pytest.mark.parametrize("name", WRITTEN)


def arguments(name: str, n: int) -> list[np.ndarray]:
    random, found = np.random.default_rng(n), []
    code = WRITTEN[name].__code__
    for param in code.co_varnames[: code.co_argcount]:
        if param.startswith("idx"):
            shape = (n, 2) if param == "idx2" else (n,)
            found.append(random.integers(0, n, shape))
        else:
            found.append(random.uniform(-1, 1, (n, 4) if param == "m" else n))
    return found


def types(name: str) -> list[str]:
    code = WRITTEN[name].__code__
    return [TYPES[param] for param in code.co_varnames[: code.co_argcount]]


def assert_linear(small: list[int], large: list[int]) -> None:
    assert len(small) == len(large) and any(small)
    assert all(b <= LINEAR * a for a, b in zip(small, large)), (small, large)


@written
def test_the_functions_themselves_are_linear(name: str) -> None:
    small, large = (touched_by_function(WRITTEN[name], arguments(name, n)) for n in SIZES)
    assert large <= LINEAR * small


@written
@pytest.mark.parametrize("order", [1, 2])
def test_gradients_for_sizes_that_only_a_run_knows(name: str, order: int) -> None:
    fn = WRITTEN[name] if order == 1 else ms.grad(WRITTEN[name])
    source = ms.gradient_source(fn, *types(name))
    assert_linear(*(touched_by_text(source, arguments(name, n)) for n in SIZES))


@written
def test_tangents(name: str) -> None:
    source = ms.gradient_source(WRITTEN[name], *types(name), mode="forward")
    assert_linear(*(touched_by_text(source, [*(a := arguments(name, n)), a[0]]) for n in SIZES))


@written
def test_gradients_for_known_sizes(name: str) -> None:
    found = []
    for n in SIZES:
        with counted_calls() as touched:
            ms.value_and_grad(WRITTEN[name])(*arguments(name, n))
        found.append(touched)
    assert_linear(*found)


@written
def test_gradients_are_right(name: str) -> None:
    """Against central differences along a direction."""
    fn, (x, *more) = WRITTEN[name], arguments(name, 8)
    along, step = np.random.default_rng(3).normal(size=x.shape), 1e-6
    _, gradient = ms.value_and_grad(fn)(x, *more)
    ends = [fn(x + sign * step * along, *more) for sign in (1, -1)]
    expected = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(np.sum(np.asarray(gradient) * along), expected, rtol=2e-6, atol=1e-7)
