"""Reachability: every way by which a method finds an object, and objects that it cannot find."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.frontend.core.reachability import reaches


class Box:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


WANTED, GLOBAL_BOX = Box(), Box()


class ReadsAGlobal:
    def __getattr__(self, name: str) -> Any:
        return GLOBAL_BOX


class Base:
    shared = Box()


class Derived(Base):
    pass


class Evaluates:
    def __getattr__(self, name: str) -> Any:
        return eval(name)


def closure() -> Any:
    inside = WANTED
    return lambda: inside


@pytest.mark.parametrize(
    ("thing", "wanted"),
    [
        (Box(a=WANTED), WANTED),
        (Box(a=[{"k": (WANTED,)}]), WANTED),
        (Box(a=Box(b=Box(c=WANTED))), WANTED),
        (Box(call=closure()), WANTED),
        (Box(call=lambda x=WANTED: x), WANTED),
        (Box(a=weakref.ref(WANTED)), WANTED),
        (Box(a=np.array([WANTED], object)), WANTED),
        (ReadsAGlobal(), GLOBAL_BOX),
        (Derived(), Base.shared),
        (Evaluates(), WANTED),  # it can reach everything
    ],
)
def test_what_a_method_can_find(thing: Any, wanted: Any) -> None:
    assert reaches(thing, {id(wanted)})


@pytest.mark.parametrize(
    "thing", [Box(), Box(a=1, b="x", c=[2.0]), Box(a=np.ones(3)), Box(call=len), ReadsAGlobal()]
)
def test_what_it_cannot_find(thing: Any) -> None:
    assert not reaches(thing, {id(WANTED)})


def test_too_many_objects_count_as_everything() -> None:
    many = Box(items=[Box() for _ in range(50)])
    assert not reaches(many, {id(WANTED)})
    with changed_costs(reached_objects=10):
        assert reaches(many, {id(WANTED)})
