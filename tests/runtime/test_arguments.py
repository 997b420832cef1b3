"""Signatures separate calls; readers return the arrays; a wrong arity is refused in Python's
words."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
import pytest

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Parameter, Tensor
from autodiff_compiler.errors import CallError
from autodiff_compiler.interface.compiled import Hoisted
from autodiff_compiler.ir.types import array
from autodiff_compiler.runtime.arguments import (
    check_arity,
    compile_reader,
    holds,
    known_by_identity,
    signature,
)


def tensor(shape=(2,), dtype=np.float32):
    return Tensor(np.ones(shape, dtype))


THING = object()


@pytest.mark.parametrize(
    "left, right",
    [
        (tensor(), Tensor(np.zeros(2, np.float32))),
        (tensor(), Parameter(np.zeros(2, np.float32))),
        (3, 4),
        (2.5, -1.0),
        (None, None),
        ((tensor(), 1), (tensor(), 1)),
        ({"a": tensor()}, {"a": tensor()}),
        (THING, THING),
        (np.ones(2), np.zeros(2)),
    ],
)
def test_alike(left, right):
    assert signature(left) == signature(right)
    assert hash(signature(left)) == hash(signature(right))


@pytest.mark.parametrize(
    "left, right",
    [
        (tensor(), tensor((3,))),
        (tensor(), tensor(dtype=np.float64)),
        (tensor(), np.ones(2, np.float32)),
        (np.float32(1), np.ones((), np.float32)),
        (1, 1.0),
        (1, True),
        (True, False),
        ("a", "b"),
        (None, 0),
        ((tensor(), 1), (tensor(), 2)),
        ((1, 2), (1, 3)),
        ((1,), (1.0,)),
        ((0.0,), (-0.0,)),
        ((tensor(),), [tensor()]),
        ({"a": tensor()}, {"b": tensor()}),
        (object, THING),
    ],
)
def test_unlike(left, right):
    assert signature(left) != signature(right)


def test_objects_known_by_identity():
    assert list(known_by_identity((tensor(), 3, [THING, None], {"a": "s"}))) == [THING]


def test_reader():
    x, y, w = tensor((1,)), tensor((2,)), Parameter(np.zeros(3, np.float32))
    plain = np.ones(4)
    slots = (x, "unused", {"a": y, "b": 7}, [y, (x,)], 2.5)
    held, found = SimpleNamespace(array=np.ones(5)), array("float64", 5)
    hoisted = (
        Hoisted("w", w, array("float32", 3)),
        Hoisted("plain", plain, array("float64", 4)),
        Hoisted("array", held.array, found, path="fn.array", read=True),
    )
    read = compile_reader(slots, (0, 2, 3, 4), hoisted)
    got = read(held, slots)
    assert got[0] is x._data
    assert got[1] == {"a": y._data, "b": 7} and got[1]["a"] is y._data
    assert got[2][1][0] is x._data and type(got[2]) is list
    assert got[3] == 2.5
    assert got[4] is w._data and got[5] is plain and got[6] is held.array
    w.set_data(tensor((3,)))
    held.array = np.zeros(5)
    got = read(held, slots)
    assert got[4] is w._data and got[6] is held.array


def test_holds():
    assert holds([{"a": (tensor(),)}], Tensor)
    assert not holds([1, {"a": np.ones(2)}], Tensor)


class Net(Cell):
    def construct(self, x, y, *, scale=1.0):
        return x * y * scale


def plain(x, /, y=2):
    return x * y


def error_of(call):
    with pytest.raises(TypeError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    "args, kwargs",
    [((), {}), ((1,), {}), ((1, 2, 3), {}), ((1, 2), {"z": 1}), ((1, 2), {"x": 1})],
)
def test_arity_in_pythons_words(args, kwargs):
    net = Net()
    expected = error_of(lambda: net.construct(*args, **kwargs))
    with pytest.raises(CallError) as caught:
        check_arity(net, (*args, *kwargs.values()), tuple(kwargs), False)
    assert caught.value.problems[0].cause == expected
    assert caught.value.problems[0].cure == "its arguments are (x, y, scale=1.0)"


def test_arity_of_functions():
    check_arity(plain, (1,), (), False)
    check_arity(plain, (1, 2), ("y",), False)
    check_arity(functools.partial(plain, 1), (2,), ("y",), False)
    check_arity(ops.GradOperation()(plain), (1,), (), False)
    expected = error_of(lambda: plain(x=1))
    with pytest.raises(CallError) as caught:
        check_arity(plain, (1,), ("x",), False)
    assert caught.value.problems[0].cause == expected


def test_arity_with_a_sensitivity():
    with pytest.raises(CallError, match="the last one given was taken as the sensitivity"):
        check_arity(plain, (), (), True)
