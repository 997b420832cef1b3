"""Python's attribute protocol for user classes: data descriptors, ``__setattr__``,
``__getattribute__`` and ``__getattr__`` are compiled, or refused. Value, gradient and the object's
state after each call are Python's."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn
from autodiff_compiler.errors import CompileError

X = np.array([1.0, 2.0, 3.0])
NAME = "v"


class Property:
    def __init__(self):
        self.held = np.ones(3)

    @property
    def v(self):
        return self.held * 3

    @v.setter
    def v(self, value):
        self.held = value * 2


class Twice:
    """Sets attributes by ``object.__setattr__``."""

    def __init__(self):
        self.v = np.ones(3)

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2)


class TwiceBySuper(Twice):
    """Sets attributes by its base class, which calls ``object.__setattr__``."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value + 1)


class Chosen:
    """Treats one name in a special way."""

    def __init__(self):
        self.v = np.ones(3)
        self.count = 0.0

    def __setattr__(self, name, value):
        if name == "v":
            super().__setattr__("count", 5.0)
            super().__setattr__("v", value * 10)
        else:
            super().__setattr__(name, value)


class Scaled:
    """A data descriptor."""

    def __init__(self, factor):
        self.factor = factor

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, thing, kind=None):
        return getattr(thing, self.name) * 2

    def __set__(self, thing, value):
        setattr(thing, self.name, value * self.factor)


class Described:
    v = Scaled(3.0)

    def __init__(self):
        self.v = np.ones(3)


class DescribedBelow(Described):
    """Inherits its descriptor."""


class Shown:
    """A non-data descriptor: the object's own attribute takes precedence."""

    def __get__(self, thing, kind=None):
        return np.full(3, 7.0)


class WithDefault:
    v = Shown()


class Slotted:
    __slots__ = ("v",)

    def __init__(self):
        self.v = np.ones(3)


class Looked:
    def __init__(self):
        self.v = np.ones(3)

    def __getattribute__(self, name):
        found = object.__getattribute__(self, name)
        return found * 5 if name == "v" else found


class LookedBySuper(Looked):
    def __getattribute__(self, name):
        return super().__getattribute__(name)


class Missing:
    """Finds missing attributes by ``__getattr__``."""

    def __init__(self):
        self.base = np.ones(3)

    def __getattr__(self, name):
        if name == "v":
            return self.base * 4
        raise AttributeError(name)


class OfClass:
    v = np.full(3, 4.0)


@dataclasses.dataclass
class Record:
    v: Any = dataclasses.field(default_factory=lambda: np.ones(3))

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2)


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: Any = dataclasses.field(default_factory=lambda: np.ones(3))
    v: Any = None

    def __post_init__(self):
        object.__setattr__(self, "v", self.w * 3)


class Guarded:
    """Refuses every assignment."""

    def __init__(self):
        object.__setattr__(self, "v", np.ones(3))

    def __setattr__(self, name, value):
        raise AttributeError("it is read-only")


CLASSES = [Property, Twice, TwiceBySuper, Chosen, Described, DescribedBelow, WithDefault, Slotted,
           Looked, LookedBySuper, Missing, OfClass, Record]  # fmt: skip


def reads(thing, x):
    return (thing.v * x).sum()


def sets(thing, x):
    thing.v = x + 1
    return (thing.v * x).sum()


def sets_by_name(thing, x):
    setattr(thing, NAME, x + 1)
    return (getattr(thing, NAME) * x).sum()


def in_a_loop(thing, x):
    for _ in range(3):
        thing.v = thing.v * 0.5 + x
    return (thing.v * x).sum()


def in_a_branch(thing, x):
    if x.sum() > 0:
        thing.v = x * 3
    else:
        thing.v = x
    return (thing.v * x).sum()


def in_a_function(thing, x):
    def change(value):
        thing.v = value * value

    change(x)
    return (thing.v * x).sum()


def reads_before(thing, x):
    before = thing.v
    thing.v = x
    return (before * thing.v).sum()


USES = [reads, sets, sets_by_name, in_a_loop, in_a_branch, in_a_function, reads_before]


def state(thing: Any) -> dict[str, np.ndarray]:
    names = ("v", "held", "_v", "base", "count")
    found = {}
    for name in names:
        try:
            found[name] = np.array(object.__getattribute__(thing, name))
        except AttributeError:
            continue
    return found


def slope(function: Callable[[np.ndarray], float]) -> np.ndarray:
    steps = np.eye(3) * 1e-6
    return np.array([(function(X + step) - function(X - step)) / 2e-6 for step in steps])


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", CLASSES)
def test_an_object_from_outside(kind: type, use: Callable[..., Any]) -> None:
    plain, thing = kind(), kind()
    gradient = ms.value_and_grad(lambda x: use(thing, x))
    for factor in (1.0, 2.0, 3.0):
        want = use(plain, X * factor)
        value, found = gradient(X * factor)
        np.testing.assert_allclose(value, want)
        if factor == 1.0:
            slopes = slope(lambda x: use(kind(), x))
            np.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-6)
        kept, wanted = state(thing), state(plain)
        assert kept.keys() == wanted.keys()
        for name, held in wanted.items():
            np.testing.assert_allclose(kept[name], held, err_msg=name)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", [*CLASSES, Frozen])
def test_an_object_that_compiled_code_makes(kind: type, use: Callable[..., Any]) -> None:
    def program(x):
        return use(kind(), x)

    if kind is Frozen and use is not reads:
        with pytest.raises(CompileError, match="read-only"):
            ms.grad(program)(X)
        return
    value, found = ms.value_and_grad(program)(X)
    np.testing.assert_allclose(value, program(X))
    np.testing.assert_allclose(found, slope(program), rtol=1e-6, atol=1e-6)


def test_a_class_that_refuses_assignments_raises_as_in_python() -> None:
    thing = Guarded()
    with pytest.raises(AttributeError, match="read-only"):
        ms.grad(lambda x: sets(thing, x))(X)
    np.testing.assert_array_equal(thing.v, np.ones(3))


class SetOnly:
    """Has a property that cannot be read."""

    def _set(self, value):
        self.held = value

    v = property(None, _set)


def test_a_property_without_a_getter_is_refused() -> None:
    def program(x):
        thing = SetOnly()
        thing.v = x
        return (thing.v * x).sum()

    with pytest.raises(CompileError, match="cannot be read: it has no getter"):
        ms.grad(program)(X)


def test_an_attribute_without_a_slot_is_refused() -> None:
    def program(x):
        thing = Slotted()
        thing.other = x
        return thing.other.sum()

    with pytest.raises(CompileError, match="'other' of a 'Slotted' is read-only"):
        ms.grad(program)(X)


def tenfold(self, name):
    found = object.__getattribute__(self, name)
    return found * 10 if name == "v" else found


def test_a_class_that_gains_a_method_is_compiled_anew() -> None:
    class Plain:
        pass

    thing = Plain()
    gradient = ms.value_and_grad(lambda x: sets(thing, x))
    np.testing.assert_allclose(gradient(X)[0], 20.0)
    Plain.__setattr__ = lambda self, name, value: object.__setattr__(self, name, value * 2)
    np.testing.assert_allclose(gradient(X)[0], 40.0)
    Plain.__getattribute__ = tenfold
    np.testing.assert_allclose(gradient(X)[0], 400.0)
    del Plain.__getattribute__, Plain.__setattr__
    scaled = Scaled(3.0)
    scaled.__set_name__(Plain, "v")
    Plain.v = scaled
    np.testing.assert_allclose(gradient(X)[0], 120.0)


def test_a_descriptor_that_changes_is_compiled_anew() -> None:
    thing = Described()
    gradient = ms.value_and_grad(lambda x: sets(thing, x))
    descriptor = vars(Described)["v"]
    np.testing.assert_allclose(gradient(X)[0], 120.0)
    descriptor.factor = 5.0
    try:
        np.testing.assert_allclose(gradient(X)[0], 200.0)
    finally:
        descriptor.factor = 3.0


def test_an_attribute_of_the_class_is_seen_through_its_objects() -> None:
    class Counter:
        total = np.zeros(3)

    thing = Counter()

    def program(x):
        Counter.total = Counter.total + x
        return (thing.total * x).sum()

    gradient = ms.value_and_grad(program)
    for turn in (1.0, 2.0):
        np.testing.assert_allclose(gradient(X)[0], (turn * X * X).sum())
    np.testing.assert_allclose(Counter.total, 2 * X)


def test_a_cell_with_a_method_of_its_own() -> None:
    class Doubling(nn.Cell):
        def __init__(self):
            super().__init__()
            self.state = ms.Tensor(np.ones(3, np.float32))

        def __setattr__(self, name, value):
            super().__setattr__(name, value * 2 if name == "state" else value)

        def construct(self, x):
            self.state = self.state + x
            return (self.state * x).sum()

    net = Doubling()
    x = ms.Tensor(X.astype(np.float32))
    np.testing.assert_allclose(ms.jit(net)(x).asnumpy(), 2 * ((2 + X) * X).sum())
    np.testing.assert_allclose(net.state.asnumpy(), 2 * (2 + X))
