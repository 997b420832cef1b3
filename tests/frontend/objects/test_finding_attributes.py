"""User classes that look up attributes in other objects. Value, gradient and the objects' state
after each call are Python's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError
from tests.frontend.objects.test_attribute_protocol import Looked

X = np.array([1.0, 2.0, 3.0])


def sets(thing, x):
    thing.v = x + 1
    return (thing.v * x).sum()


class Holder:
    """Holds the given attributes."""

    def __init__(self, **held):
        self.__dict__.update(held)


class Proxy:
    """Looks up missing attributes in another object."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)


def by_default(proxy, x):
    return getattr(proxy, "bias", 1.0) * (proxy.w * x).sum()


def by_asking(proxy, x):
    return (3.0 if hasattr(proxy, "bias") else 2.0) * (proxy.w * x).sum()


@pytest.mark.parametrize("asks", [by_default, by_asking])
def test_a_proxy_of_an_object_that_is_not_written_is_called_while_compiling(asks: Any) -> None:
    inner, state = Holder(w=np.full(3, 2.0)), Holder(n=0)
    proxy = Proxy(inner)

    def program(x):
        state.n = state.n + 1
        return asks(proxy, x) * state.n

    gradient = ms.value_and_grad(program)
    for turn in (1, 2, 3):
        inner.__dict__.update({"bias": 5.0} if turn == 3 else {})
        value, found = gradient(X)
        factor = turn * asks(proxy, X) / X.sum()
        np.testing.assert_allclose(value, factor * X.sum())
        np.testing.assert_allclose(found, np.full(3, factor))
    assert state.n == 3


def test_a_proxy_that_begins_to_reach_a_written_object_is_recompiled() -> None:
    state = Holder(n=X)
    proxy = Proxy(Holder(n=np.ones(3)))

    def program(x):
        state.n = state.n * 2
        return (proxy.n * x).sum()

    gradient = ms.value_and_grad(program)
    np.testing.assert_allclose(gradient(X)[0], 6.0)
    proxy.inner = state
    np.testing.assert_allclose(gradient(X)[0], (4 * X * X).sum())


TOLD = Holder(v=np.ones(3))


class ByGlobal:
    """Looks up attributes in a global variable."""

    def __getattr__(self, name):
        return found_in_told(name)


def found_in_told(name):
    return getattr(TOLD, name) * 3


def test_an_object_that_a_method_reaches_through_functions_counts_as_written() -> None:
    thing = ByGlobal()
    TOLD.v = np.ones(3)

    def program(x):
        TOLD.v = TOLD.v + x
        return (thing.v * x).sum()

    gradient = ms.value_and_grad(program)
    for turn in (1, 2):
        np.testing.assert_allclose(gradient(X)[0], ((1 + turn * X) * 3 * X).sum())


def test_object_s_own_reading_goes_below_the_class_s() -> None:
    thing = Looked()

    def program(x):
        return (object.__getattribute__(thing, "v") * x).sum() + thing.v.sum()

    np.testing.assert_allclose(ms.value_and_grad(program)(X)[0], program(X))


class Raising:
    """Raises an exception of its own for missing attributes."""

    def __init__(self, kind):
        self.__dict__["kind"] = kind

    def __getattr__(self, name):
        raise self.kind(name)


@pytest.mark.parametrize("kind", [AttributeError, KeyError, ValueError, RuntimeError])
def test_a_new_attribute_where_looking_for_it_raises(kind: type[Exception]) -> None:
    thing, plain = Raising(kind), Raising(kind)
    gradient = ms.value_and_grad(lambda x: sets(thing, x))
    for factor in (1.0, 2.0):
        np.testing.assert_allclose(gradient(X * factor)[0], sets(plain, X * factor))
        np.testing.assert_array_equal(thing.v, plain.v)
    if kind is not AttributeError:
        with pytest.raises(CompileError, match=f"raises {kind.__name__}: '?other") as told:
            ms.grad(lambda x: (thing.other * x).sum())(X)
        assert told.value.problems[0].span.file == __file__


class Found:
    """Finds one name always, and another one where its own numbers are large."""

    def __init__(self):
        self.v = np.ones(3)

    def __getattr__(self, name):
        if name == "twice" or (name == "large" and self.v.sum() > 7):
            return self.v * 2
        raise AttributeError(name)


ASKING = [
    lambda o: getattr(o, "twice", 3.0), lambda o: getattr(o, "large", 3.0),
    lambda o: getattr(o, "none", 3.0), lambda o: 2.0 if hasattr(o, "twice") else 3.0,
    lambda o: 2.0 if hasattr(o, "large") else 3.0, lambda o: 2.0 if hasattr(o, "none") else 3.0,
    lambda o: 2.0 if getattr(o, "none", None) is None else 3.0,
]  # fmt: skip


@pytest.mark.parametrize("factor", [1.0, 2.0])
@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("ask", ASKING)
def test_what_a_compiled_getattr_finds_is_asked(ask: Any, made: bool, factor: float) -> None:
    thing = Found()

    def program(x):
        found = Found() if made else thing
        found.v = x * 1
        return (found.v * ask(found) * x).sum()

    x = X * factor
    value, found = ms.value_and_grad(program)(x)
    np.testing.assert_allclose(value, program(x))
    steps = np.eye(3) * 1e-6
    slope = [(program(x + step) - program(x - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(found, slope, rtol=1e-6, atol=1e-6)
