"""Guards: each test alone, shared paths, and values that are equal in Python but not identical."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from autodiff_compiler.common import Parameter
from autodiff_compiler.interface.compiled import Guard, Hoisted
from autodiff_compiler.ir.types import array
from autodiff_compiler.runtime.guards import compile_guards, first_failed_guard


def holds(test, value, fn, path="fn.x"):
    return compile_guards([Guard(path, test, value)])(fn, ())


def space(**attributes):
    return SimpleNamespace(**attributes)


THING = object()


@pytest.mark.parametrize(
    "test, value, actual, want",
    [
        ("is", THING, THING, True),
        ("is", THING, object(), False),
        ("equal", 3, 3, True),
        ("equal", 3, 4, False),
        ("equal", 1, True, False),
        ("equal", 1, 1.0, False),
        ("equal", True, 1, False),
        ("equal", None, None, True),
        ("equal", None, 0, False),
        ("equal", "a", "a", True),
        ("equal", 0.0, 0.0, True),
        ("equal", 0.0, -0.0, False),
        ("equal", float("nan"), float("nan"), True),
        ("equal", (1, 2), (1, 2), True),
        ("equal", (1, 2), (1.0, 2), False),
        ("equal", (1, 2), [1, 2], False),
        ("equal", {"a": 1}, {"a": 1}, True),
        ("equal", {"a": 1}, {"a": True}, False),
        ("type", int, 3, True),
        ("type", int, True, False),
        ("length", 2, [1, 2], True),
        ("length", 2, [1], False),
        ("length", 2, 5, False),
    ],
)
def test_tests(test, value, actual, want):
    assert holds(test, value, space(x=actual)) is want


def test_absent():
    assert holds("absent", None, space())
    assert not holds("absent", None, space(x=1))
    assert holds("absent", None, {}, "fn['key']")
    assert holds("absent", None, space(), "fn.x.y.z")


def test_a_path_that_cannot_be_evaluated_fails():
    assert not holds("equal", 1, space())
    assert not holds("equal", 1, None, "fn[0]")


def test_an_absent_path_below_a_shared_one():
    guard = compile_guards(
        [
            Guard("fn.a.b", "equal", 1),
            Guard("fn.a.missing", "absent", None),
            Guard("fn.other.c", "absent", None),
            Guard("fn.other", "absent", None),
        ]
    )
    assert guard(space(a=space(b=1)), ())
    assert not guard(space(a=space(b=1, missing=2)), ())
    assert not guard(space(a=space(b=1), other=space()), ())


def test_shared_paths_are_evaluated_once():
    class Counting:
        reads = 0

        @property
        def inner(self):
            Counting.reads += 1
            return space(a=1, b=[2, 3])

    guards = [
        Guard("fn.inner.a", "equal", 1),
        Guard("fn.inner.b[0]", "equal", 2),
        Guard("fn.inner.b[1]", "equal", 3),
        Guard("fn.inner.b", "length", 2),
        Guard("slots[0]", "equal", 7),
    ]
    assert compile_guards(guards)(Counting(), (7,))
    assert Counting.reads == 1
    assert not compile_guards(guards)(Counting(), (8,))


def test_a_container_that_is_changed_in_place():
    items = [1, 2]
    guard = compile_guards([Guard("fn.x", "equal", items)])
    fn = space(x=items)
    assert guard(fn, ())
    items.append(3)
    assert not guard(fn, ())


def test_an_array_that_is_changed_in_place():
    values = np.array([1.0, 2.0])
    guard = compile_guards([Guard("fn.x", "equal", values)])
    assert guard(space(x=values), ())
    values[0] = 5.0
    assert not guard(space(x=values), ())


def test_hoisted_arrays_keep_dtype_and_shape():
    weight = Parameter(np.ones(2, np.float32))
    plain = np.ones(3)
    guard = compile_guards(
        [], [Hoisted("w", weight, array("float32", 2)), Hoisted("c", plain, array("float64", 3))]
    )
    assert guard(None, ())
    weight.set_data(Parameter(np.zeros(2, np.float32)))
    assert guard(None, ())
    weight.set_data(Parameter(np.zeros(3, np.float32)))
    assert not guard(None, ())
    weight._data = np.zeros(2)
    assert not guard(None, ())


def test_first_broken_names_the_culprit():
    good, bad = Guard("fn.a", "equal", 1), Guard("fn.b", "equal", 2)
    assert first_failed_guard([good, bad], space(a=1, b=3), ()) is bad
    assert first_failed_guard([good, bad], space(a=1, b=2), ()) is None


def test_unknown_test():
    with pytest.raises(ValueError, match="'near' is not a test"):
        compile_guards([Guard("fn.x", "near", 1)])
