"""Attributes of plain objects that a function reads and writes, call after call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms


class State:
    """An object of the user's."""

    def __init__(self) -> None:
        self.array = np.zeros(3)
        self.number = np.float64(0.5)
        self.items: list[Any] = []
        self.named: dict[str, Any] = {"n": 0}
        self.lazy: Any = None


STATE = State()


def sums(x):
    STATE.array = STATE.array + x
    return np.sum(STATE.array * x)


def before(x):
    held = STATE.array
    STATE.array = x * 1.0
    return np.sum(held * x)


def number(x):
    STATE.number = STATE.number + x[0]
    return STATE.number * np.sum(x)


def items(x):
    STATE.items = [*STATE.items, x * 2]
    return np.sum(sum(STATE.items) * x)


def named(x):
    STATE.named = {**STATE.named, "n": STATE.named["n"] + 1}
    return np.sum(x) * STATE.named["n"]


def lazy(x):
    if STATE.lazy is None:
        STATE.lazy = x * 2
        return np.sum(x)
    return np.sum(STATE.lazy * x)


@pytest.mark.parametrize("program", [sums, before, number, items, named, lazy])
def test_every_call_reads_what_the_call_before_wrote(program: Callable[..., Any]) -> None:
    x = np.array([1.0, 2.0, 3.0])
    vars(STATE).update(vars(State()))
    plain = [program(x * k) for k in (1, 2, 3)]
    kinds = {name: type(held) for name, held in vars(STATE).items()}
    vars(STATE).update(vars(State()))
    compiled = ms.jit(program)
    np.testing.assert_allclose([compiled(x * k) for k in (1, 2, 3)], plain)
    written = {name: type(held) for name, held in vars(STATE).items()}
    assert written["array"] is kinds["array"] is np.ndarray


def test_what_is_set_from_outside_between_calls_is_read() -> None:
    x = np.array([1.0, 2.0, 3.0])
    vars(STATE).update(vars(State()))
    gradient = ms.grad(sums)
    gradient(x)
    STATE.array = np.array([10.0, 20.0, 30.0])
    np.testing.assert_allclose(gradient(x), [12.0, 24.0, 36.0])
