"""What surrounds a text may change too: globals, closures, defaults, methods, configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn
from tests.changes import X, assert_follows, slope


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    ms.compile_info().clear()
    yield
    ms.compile_info().clear()


FACTOR = 2.0


def uses_global(x):
    return x * FACTOR


def test_a_global(monkeypatch: pytest.MonkeyPatch) -> None:
    here = globals()
    monkeypatch.setitem(here, "FACTOR", 2.0)
    assert_follows(
        uses_global, lambda: here.update(FACTOR=6.0), lambda: here.update(FACTOR=2.0),
        np.full(3, 2.0), np.full(3, 6.0),
    )  # fmt: skip


def helper(x):
    return x * 2.0


def other_helper(x):
    return x * x


def uses_helper(x):
    return helper(x)


def test_a_replaced_function(monkeypatch: pytest.MonkeyPatch) -> None:
    here, old = globals(), helper
    monkeypatch.setitem(here, "helper", old)
    assert_follows(
        uses_helper, lambda: here.update(helper=other_helper), lambda: here.update(helper=old),
        np.full(3, 2.0), 2 * X,
    )  # fmt: skip


def test_a_variable_of_the_function_around() -> None:
    factor = 2.0

    def inner(x):
        return x * factor

    def become(value: float) -> Callable[[], None]:
        def change() -> None:
            nonlocal factor
            factor = value

        return change

    assert_follows(inner, become(3.0), become(2.0), np.full(3, 2.0), np.full(3, 3.0))


class UsesSettings(nn.Cell):
    def __init__(self):
        super().__init__()
        self.settings = {"shift": 1.0, "powers": [1, 2]}

    def construct(self, x):
        for power in self.settings["powers"]:
            x = x * power
        return x + self.settings["shift"] * x


def test_a_dict_that_is_written_to() -> None:
    net = UsesSettings()
    assert_follows(
        net, lambda: net.settings.update(shift=4.0), lambda: net.settings.update(shift=1.0),
        np.full(3, 4.0), np.full(3, 10.0),
    )  # fmt: skip


def test_a_list_that_is_written_to() -> None:
    net = UsesSettings()
    powers = net.settings["powers"]
    assert_follows(
        net, lambda: powers.append(5), lambda: powers.pop(), np.full(3, 4.0), np.full(3, 20.0)
    )
    powers[1] = 3
    np.testing.assert_allclose(slope(net, X), np.full(3, 30.0))


def defaulted(x, k=2.0):
    return x * k


def by_keyword(x, *, k=2.0):
    return x * k


def test_a_changed_default(monkeypatch: pytest.MonkeyPatch) -> None:
    np.testing.assert_array_equal(slope(defaulted, X), np.full(3, 2.0))
    monkeypatch.setattr(defaulted, "__defaults__", (5.0,))
    np.testing.assert_array_equal(slope(defaulted, X), np.full(3, 5.0))
    monkeypatch.setitem(by_keyword.__kwdefaults__, "k", 2.0)
    np.testing.assert_array_equal(slope(by_keyword, X), np.full(3, 2.0))
    by_keyword.__kwdefaults__["k"] = 7.0
    np.testing.assert_array_equal(slope(by_keyword, X), np.full(3, 7.0))


class WithMethod(nn.Cell):
    def scaled(self, x):
        return x * 2.0

    def construct(self, x):
        return self.scaled(x)


def test_a_replaced_method(monkeypatch: pytest.MonkeyPatch) -> None:
    net = WithMethod()
    np.testing.assert_array_equal(slope(net, X), np.full(3, 2.0))
    monkeypatch.setattr(WithMethod, "scaled", lambda self, x: x * 5.0)
    np.testing.assert_array_equal(slope(net, X), np.full(3, 5.0))
    monkeypatch.setattr(WithMethod, "construct", lambda self, x: x * 7.0)
    np.testing.assert_array_equal(slope(net, X), np.full(3, 7.0))
