"""Outside objects of user classes. Compiled code reads them again after they change, and operators
call their methods in Python's order."""

from __future__ import annotations

import dataclasses
import functools
import os
import types

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.errors import UnsupportedSyntax
from tests.frontend.numpy_rules.test_names import numeric

X = np.array([0.5, -1.5, 2.0])


class Marked:
    """Compares equal by its mark alone."""

    def __init__(self, mark):
        self.mark = mark

    def __eq__(self, other):
        return self.mark == other.mark

    def __hash__(self):
        return 1

    def __float__(self):
        return float(self.mark)

    def __index__(self):
        return self.mark

    def __abs__(self):
        return self.mark

    def __str__(self):
        return "m" * self.mark

    @functools.cached_property
    def kept(self):
        return 2.0 * self.mark


class Slotted:
    __slots__ = ("__dict__", "mark", "unset")

    def __init__(self, mark):
        self.mark = mark

    def __repr__(self):
        return "s" * self.mark


@functools.total_ordering
class Ordered(Marked):
    def __lt__(self, other):
        return self.mark < other.mark

    __hash__ = Marked.__hash__


@dataclasses.dataclass(order=True)
class Row:
    mark: float
    note: str = dataclasses.field(default="", compare=False)


ONE, TWO = Marked(1), Marked(2)
SLOTTED, LOW, HIGH = Slotted(1), Ordered(1), Ordered(2)
row, middle = Row(1), Row(1.5, "middle")
space, TABLE, SOME = types.SimpleNamespace(mark=1), {"a": 1.0}, {1}

CHANGES = {
    "in": (lambda x: x * (2 if ONE in [TWO] else 3), ONE),
    "key": (lambda x: x * {ONE: 2.0}.get(TWO, 3.0), ONE),
    "index": (lambda x: x * [1.0, 2.0, 5.0][ONE], ONE),
    "range": (lambda x: x * sum(range(ONE)), ONE),
    "float": (lambda x: x * float(ONE), ONE),
    "abs": (lambda x: x * abs(ONE), ONE),
    "str": (lambda x: x * len(f"{ONE}"), ONE),
    "repr, in slots": (lambda x: x * len(repr(SLOTTED)), SLOTTED),
    "a method of the library's": (lambda x: x * (2 if LOW >= HIGH else 3), LOW),
    "max": (lambda x: x * max(row, middle).mark, row),
    "order of dataclasses": (lambda x: x * (2 if row < Row(1.5) else 3), row),
    "a namespace": (lambda x: x * (2 if space == types.SimpleNamespace(mark=2) else 3), space),
}


@pytest.mark.parametrize("way", CHANGES)
def test_a_value_read_by_a_method_is_read_again(way):
    program, thing = CHANGES[way]
    compiled, before = ms.jit(program), thing.mark
    try:
        old = program(1.0)
        assert compiled(Tensor(np.float64(1.0))).item() == old
        thing.mark = 2
        assert program(1.0) != old
        assert compiled(Tensor(np.float64(1.0))).item() == program(1.0)
    finally:
        thing.mark = before


@pytest.mark.parametrize(
    "program, change, undo",
    [
        (lambda x: x * (TABLE | {"b": 2})["a"], lambda: TABLE.update(a=5.0), TABLE.clear),
        (lambda x: x * len(SOME | {7}), lambda: SOME.add(3), SOME.clear),
    ],
)  # fmt: skip
def test_a_container_beside_a_sign_is_read_again(program, change, undo):
    compiled = ms.jit(program)
    compiled(Tensor(np.float64(1.0)))
    change()
    assert compiled(Tensor(np.float64(1.0))).item() == program(1.0)
    undo()


def test_a_property_that_python_keeps_is_not_computed_again():
    thing = Marked(1)
    compiled = ms.jit(lambda x: x * thing.kept)
    assert compiled(Tensor(np.float64(1.0))).item() == 2.0
    assert thing.kept == 2.0  # from here on Python knows it
    thing.mark = 5
    assert compiled(Tensor(np.float64(1.0))).item() == 2.0


def test_answers_of_the_system_are_no_constants():
    with pytest.raises(UnsupportedSyntax, match="'getenv' would run only once"):
        ms.jit(lambda x: x * len(os.getenv("HOME", "")))(Tensor(X))


class Sum:
    """Adds objects of its own class, and leaves others to the other side."""

    def __init__(self, held):
        self.held = held

    def __add__(self, other):
        if not isinstance(other, Sum):
            return NotImplemented
        return Sum(self.held + other.held)

    def __lt__(self, other):
        return NotImplemented

    def __gt__(self, other):
        return other * 3 < 2.0


class Right:
    def __init__(self, held):
        self.held = held

    def __radd__(self, other):
        return Sum(self.held * other.held)


class Below(Sum):
    def __radd__(self, other):
        return Sum(10 * other.held)


OUTSIDE = Below(4.0)


def left_to_the_right(x):
    return ((Sum(x) + Right(x)).held * x).sum()


def a_subclass_comes_first(x):
    return ((Sum(x) + Below(x)).held * x).sum() + (Sum(x) + OUTSIDE).held.sum()


def reflected_order(x):
    half = 0.5
    return (x * x).sum() * (2 if half < Sum(1.0) else 3) * (5 if OUTSIDE > 3 else 7)


def equal_rows(x):
    found = row == Row(1, "a note is not compared")
    return (x * x).sum() * (2 if found else 3) * (5 if Row(1) <= Row(0) else 7)


@pytest.mark.parametrize(
    "program", [left_to_the_right, a_subclass_comes_first, reflected_order, equal_rows]
)
def test_methods_are_asked_in_the_order_of_python(program):
    value, gradient = ms.value_and_grad(program)(X.copy())
    np.testing.assert_allclose(value, program(X.copy()), rtol=1e-12)
    np.testing.assert_allclose(gradient, numeric(program, X), rtol=1e-6, atol=1e-7)
