"""Attributes of plain objects that a function reads and writes, call after call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import autodiff_compiler as ms


class State:
    """A user-defined object."""

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


def test_a_value_set_from_outside_between_calls_is_read() -> None:
    x = np.array([1.0, 2.0, 3.0])
    vars(STATE).update(vars(State()))
    gradient = ms.grad(sums)
    gradient(x)
    STATE.array = np.array([10.0, 20.0, 30.0])
    np.testing.assert_allclose(gradient(x), [12.0, 24.0, 36.0])


class Pair(NamedTuple):
    """A user-defined named tuple."""

    first: Any
    second: Any


def a_list(x):
    STATE.lazy = [x, x * 2]


def a_tuple(x):
    STATE.lazy = (x, [x])


def nested(x):
    STATE.lazy = {"a": x, "b": [(x, [1, "s", None]), {"c": [x]}]}


def named_tuple(x):
    STATE.lazy = Pair(x, [x * 2])


def empty(x):
    STATE.lazy = []


def in_a_branch(x):
    if x.sum() > 0:
        STATE.lazy = [x, x]
    else:
        STATE.lazy = [x * 2, x]


def in_a_loop(x):
    for turn in range(3):
        STATE.lazy = [x * turn]


def long_list(x):
    rows = []
    for i in range(len(x)):
        rows.append(x[i] * 2)
    STATE.lazy = rows


def of_another(x):
    STATE.lazy = STATE.named
    STATE.items = [*STATE.items, x]


def two_names(x):
    rows = [x, x * 3]
    STATE.lazy = rows
    STATE.items = rows


def laid_open(value: Any) -> Any:
    """Returns the parts of a value, with the kind of each."""
    if isinstance(value, dict):
        return type(value), [(key, laid_open(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [laid_open(item) for item in value]
    return type(value), value.tolist() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("ask", [ms.jit, ms.value_and_grad])
@pytest.mark.parametrize(
    "write",
    [a_list, a_tuple, nested, named_tuple, empty, in_a_branch, in_a_loop, long_list, of_another,
     two_names],
)  # fmt: skip
def test_a_written_value_keeps_its_kind(
    write: Callable[[Any], None], ask: Callable[..., Any]
) -> None:
    def within(x):
        write(x)
        return (x * x).sum()

    x, names = np.array([1.0, 2.0, 3.0]), ("lazy", "items", "named")
    vars(STATE).update(vars(State()))
    for turn in (1, 2):
        within(x * turn)
    want = [laid_open(getattr(STATE, name)) for name in names]
    vars(STATE).update(vars(State()))
    compiled = ask(within)
    for turn in (1, 2):
        compiled(x * turn)
    assert [laid_open(getattr(STATE, name)) for name in names] == want
