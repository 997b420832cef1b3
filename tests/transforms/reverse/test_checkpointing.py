"""Checkpointed loops have the gradients of plain loops, bit for bit, and use less memory."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, checkpointed, ops, pipeline
from autodiff_compiler.transforms.reverse.checkpointing import STRIDE
from tests.interpreter import run

_RNG = np.random.default_rng(3)
X = Tensor(_RNG.normal(size=(1, 3)))
W = Tensor(_RNG.normal(size=(3, 3)) * 0.4)
XS = Tensor(_RNG.normal(size=(7, 1, 3)))
EVERY = ms.GradOperation(get_all=True)


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", True)


def recurrence(x, w, n):
    h = x
    for _ in range(n):
        h = ops.tanh(ops.matmul(h, w))
    return h


def every_four(x, w, n):
    h = x
    for _ in checkpointed(range(n), checkpoint_every=4):
        h = ops.tanh(ops.matmul(h, w))
    return h


def at_most_three(x, w, n):
    h = x
    for _ in checkpointed(range(n), kept_states=3):
        h = ops.tanh(ops.matmul(h, w))
    return h


def at_most_twenty(x, w, n):
    h = x
    for _ in checkpointed(range(n), kept_states=20):
        h = ops.tanh(ops.matmul(h, w))
    return h


def equal(found: tuple, expected: tuple) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


@pytest.mark.parametrize("kept", [every_four, at_most_three])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 8, 23])
def test_gradients_are_those_of_the_plain_loop(kept: Any, n: int) -> None:
    equal(EVERY(kept)(X, W, n), EVERY(recurrence)(X, W, n))


@pytest.mark.parametrize("kept", [every_four, at_most_three])
def test_the_second_derivative(kept: Any) -> None:
    ms.check_grads(kept, [X, W, 6], order=2)


class Counting:
    """NumPy, counting the calls of tanh; and the most states kept at a time."""

    def __init__(self) -> None:
        self.steps, self.most = 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def tanh(self, x: Any) -> Any:
        self.steps += 1
        return np.tanh(x)

    def note(self, kept: list, state: Any) -> None:
        kept.append(state)
        self.most = max(self.most, len(kept))


def counted(fn: Any, n: int) -> tuple[Counting, list[np.ndarray]]:
    """Runs the printed source."""
    text = ms.gradient_source(fn, X, W, "int", get_all=True)
    text = text.replace("import numpy as np\n", "")
    text, found = re.subn(r"\b(kept\w*)\.append\((.*)\)", r"np.note(\1, \2)", text)
    assert found == 2
    counting = Counting()
    scope: dict[str, Any] = {"np": counting}
    exec(text, scope)
    name = fn.__name__
    residuals = scope[f"{name}_forward"](X.asnumpy(), W.asnumpy(), n)
    return counting, scope[f"{name}_backward"](residuals)


def test_ten_thousand_steps_with_twenty_states_and_less_than_four_times_the_steps() -> None:
    counting, found = counted(at_most_twenty, 10_000)
    assert 10 < counting.most <= 20
    assert 30_000 < counting.steps < 40_000
    for one, other in zip(found, EVERY(recurrence)(X, W, 10_000)):
        np.testing.assert_array_equal(one, other.asnumpy())


def test_every_kth_state_costs_less_than_twice_the_steps() -> None:
    counting, _ = counted(every_four, 100)
    assert counting.steps < 200
    assert counting.most <= 100 / 4 + 4


@lru_cache(None)
def fewest(steps: int, states: int) -> int:
    """The fewest steps forward that reverse so many with so many states, by trying everything."""
    if steps <= 1:
        return 0
    if states == 1:
        return steps * (steps - 1) // 2
    return min(k + fewest(steps - k, states - 1) + fewest(k, states) for k in range(1, steps))


def test_the_schedule_takes_the_fewest_steps_there_can_be() -> None:
    @lru_cache(None)
    def taken(steps: int, states: int) -> int:
        if steps <= 1:
            return 0
        (stride,) = run(STRIDE, [steps, states - 1])
        assert 1 <= stride < steps
        if states == 1:
            return stride + taken(steps - 1, 1)
        return stride + taken(steps - stride, states - 1) + taken(stride, states)

    for states in range(1, 6):
        for steps in range(1, 40):
            assert taken(steps, states) == fewest(steps, states)
    assert fewest(35, 3) < 4 * 35 <= 4 * math.comb(7, 3)


def test_ranges_reads_branches_and_several_variables() -> None:
    def body(i, row, h, total, w):
        h = ops.tanh(ops.matmul(h, w) + row)
        total = total + h * i if ops.sum(h) > 0 else total - h
        return h, total

    def plain(x, xs, w):
        h, total = x, x * 0
        for i in range(6, -1, -2):
            h, total = body(i, xs[i], h, total, w)
        for i, row in enumerate(xs):
            h, total = body(i, row, h, total, w)
        return h + total

    def kept(x, xs, w):
        h, total = x, x * 0
        for i in checkpointed(range(6, -1, -2), kept_states=2):
            h, total = body(i, xs[i], h, total, w)
        for i, row in checkpointed(enumerate(xs), checkpoint_every=3):
            h, total = body(i, row, h, total, w)
        return h + total

    equal(EVERY(kept)(X, XS, W), EVERY(plain)(X, XS, W))


@pytest.mark.parametrize("limit", [0.5, 1e9])
def test_a_loop_that_may_end_early(limit: float) -> None:
    def plain(x, w, n, limit):
        h = x
        for _ in range(n):
            h = h * 1.3 + ops.matmul(h, w)
            if ops.sum(h * h) > limit:
                break
        return h

    def kept(x, w, n, limit):
        h = x
        for _ in checkpointed(range(n), kept_states=3):
            h = h * 1.3 + ops.matmul(h, w)
            if ops.sum(h * h) > limit:
                break
        return h

    equal(EVERY(kept)(X, W, 9, limit), EVERY(plain)(X, W, 9, limit))


def test_a_loop_inside_another() -> None:
    def plain(x, w, n):
        h = x
        for _ in range(n):
            for _ in range(n):
                h = ops.sin(ops.matmul(h, w)) + h
        return h

    def kept(x, w, n):
        h = x
        for _ in checkpointed(range(n), checkpoint_every=2):
            for _ in checkpointed(range(n), kept_states=2):
                h = ops.sin(ops.matmul(h, w)) + h
        return h

    equal(EVERY(kept)(X, W, 5), EVERY(plain)(X, W, 5))


def test_a_print_is_done_once(capsys: pytest.CaptureFixture) -> None:
    def kept(x, n):
        h = x
        for i in checkpointed(range(n), kept_states=1):
            print(i)
            h = ops.sin(h)
        return h

    ms.grad(kept)(X, 4)
    assert capsys.readouterr().out == "0\n1\n2\n3\n"


def test_loops_with_effects_cannot_be_checkpointed() -> None:
    def draws(x, n):
        h = x
        for _ in checkpointed(range(n), kept_states=2):
            h = ops.dropout(h, 0.5)
        return h

    def unrolled(x):
        for k in checkpointed((x, x), kept_states=2):
            x = x * k
        return x

    def both(x, n):
        for _ in checkpointed(range(n), kept_states=2, checkpoint_every=3):
            x = x * x
        return x

    with pytest.raises(ms.errors.NoDerivative, match="and this one draws random numbers"):
        ms.grad(draws)(X, 3)
    with pytest.raises(ms.errors.DTypeError, match="cannot be checkpointed"):
        ms.grad(unrolled)(X)
    with pytest.raises(TypeError, match="takes exactly one of checkpoint_every and kept_states"):
        ms.grad(both)(X, 3)
    with pytest.raises(ValueError, match="an int of at least 1, not 0"):
        checkpointed(range(3), kept_states=0)


def test_outside_a_compilation_it_is_the_iterable() -> None:
    np.testing.assert_array_equal(at_most_three(X, W, 5).asnumpy(), recurrence(X, W, 5).asnumpy())
