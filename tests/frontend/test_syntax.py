"""Python as people write it: compiled and eager values agree, and gradients agree with
differences."""

from __future__ import annotations

import functools
import math
import re
from collections import namedtuple

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.errors import UnsupportedSyntax
from autodiff_compiler.testing import check_grads

Pair = namedtuple("Pair", "left right")
FACTOR = 3.0
CONSTANT = Tensor([2.0, 3.0], ms.float32)
NUMBERS = [1.0, 2.5]


def comprehensions(x):
    rows = [x * i for i in range(4) if i != 2]
    named = {key: row * 2.0 for key, row in zip("abc", rows)}
    pairs = [a * b for a in rows for b in (x, 2.0)]
    return sum(v * v for v in named.values()) + pairs[3] * len({i for i in (1, 2, 2)})


def mapped(x):
    doubled = map(lambda v: v * 2, [x, x * x])
    return sum(doubled) + sum(filter(lambda n: n > 1, [1, 2, 3]))


def partials(x):
    by = functools.partial(lambda a, b, c=1.0: a * b + c, x)
    return by(2.0) + by(x, c=3.0)


def named_tuples(x):
    pair = Pair(x, right=x * 2)
    return pair.left * pair.right + pair[0]


def deleted(x):
    y, z = x * 2, [x, x * 3]
    w = y * z[1]
    del y, z[0]
    return w * z[0]


def imported(x):
    import math as m
    from math import sqrt

    return x * m.pi * sqrt(4.0)


def walrus(x):
    if (total := x.sum()) > 0:
        return x * total
    return x


def containers(x):
    items, more = [x, x], {"a": x}
    items[1] = x * 3
    items.extend([x])
    items.insert(0, x * 2)
    items.pop()
    items.reverse()
    more["b"] = items[0] * items[-1]
    (a, b), *rest = (x, x * 2), x, x * 3
    return more["b"] + more.get("c", x) + a * b * rest[1]


def two_names_of_one_list(x):
    items = [x]
    other = items
    other.append(x * x)
    items += [x * 2]
    return other[0] + other[1] * other[2] + len(items)


def strings_and_numbers(x):
    word = "{}-{}".format(3, "a") + f"{len(NUMBERS)}" + "ab".upper()
    return x * len(word) * math.sqrt(4.0) * (7 // 2) * max(1, 2) * ord("a") * divmod(7, 3)[0]


def recursion(x, n=3):
    if n == 0:
        return x
    return recursion(x * x, n - 1) * 0.5


def grown(x):
    y = x
    while y.shape[0] < 5:
        y = ops.concat((y, x))
    return y.sum() * x


def globals_and_closures(x):
    scale = 2.0

    def inner(v, *rest, **named):
        return v * scale + rest[0] + named["z"]

    return inner(x, FACTOR, z=x * CONSTANT) + NUMBERS[1]


def looked_for(x):
    first = [1]
    lists, numbers, left = [first, [2], [1]], [1, 2, 1.0, 3], iter([x, x * x])
    lists.remove([2])
    counts = lists.count([1]) + 10 * numbers.index(1, 1) + 100 * lists.index([1], 1)
    grown = []
    grown.extend(left)
    return next(left, x * 7) * grown[1] * counts


class Sum:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Sum(self.value + other.value)


class Product(Sum):
    def __imul__(self, other):
        self.value = self.value * other.value
        return self


def changed_in_place(x):
    inner = [x]
    outer, held = [inner], {"inner": inner}
    outer[0] += [x * x]
    held["inner"] += (x * 3.0,)
    one, other = Sum(x), Product(x)
    before, same = one, other
    one += Sum(x * x)
    other *= Sum(x)
    return inner[1] * inner[2] + before.value * same.value + one.value * other.value


def none_on_the_left(x):
    found = None
    for row in x:
        if row > 1.5:
            found = row
    return x if None is found else x * found


ALL = [
    comprehensions, mapped, partials, named_tuples, deleted, imported, walrus, containers,
    two_names_of_one_list, strings_and_numbers, recursion, grown, globals_and_closures,
    looked_for, changed_in_place, none_on_the_left,
]  # fmt: skip


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_value_and_gradient(function):
    x = Tensor([1.0, 2.0], ms.float32)
    np.testing.assert_allclose(ms.jit(function)(x).asnumpy(), function(x).asnumpy(), rtol=1e-6)
    check_grads(function, [x], order=2)


def kept_by_a_recursion(x):
    seen = {"sum": x * 0}

    def go(v):
        if v.sum() < 1.0:
            return v
        seen["sum"] = seen["sum"] + v
        return go(v * 0.5) + v

    return go(x) * seen["sum"]


def test_a_recursion_that_writes_around_itself_is_refused():
    with pytest.raises(UnsupportedSyntax, match="changes something outside"):
        ms.grad(kept_by_a_recursion)(Tensor([1.0, 2.0], ms.float32))


@pytest.mark.parametrize("place", [-4, 3])
def test_a_missing_item_cannot_be_deleted(place):
    def deleted(x, steps, place):
        items = []
        for step in range(steps):
            items.append(x * step)
        del items[place]
        return sum(items)

    x = Tensor([1.0, 2.0], ms.float32)
    np.testing.assert_array_equal(ms.jit(deleted)(x, 3, -2).asnumpy(), [2.0, 4.0])
    with pytest.raises(IndexError, match="list assignment index out of range"):
        ms.jit(deleted)(x, 3, place)


def as_array(x):
    return x * Tensor(x.asnumpy())


def as_item(x):
    return x * x[1].item() * float(x[0])


@pytest.mark.parametrize("function, expected", [(as_array, [1.0, 2.0]), (as_item, [2.0, 2.0])])
def test_no_gradient_goes_through_conversions_to_python_and_numpy(function, expected):
    x = Tensor([1.0, 2.0], ms.float32)
    np.testing.assert_allclose(ms.jit(function)(x).asnumpy(), function(x).asnumpy())
    np.testing.assert_allclose(ms.grad(function)(x).asnumpy(), expected)


def of_trips(trips):
    def rolled(x):
        y, seen = x, []
        for i in range(trips):
            if y.sum() > 2.0:
                y = y * 0.5
            else:
                y = ops.sin(y) * x + 0.25 * i / trips
            seen.append(y)
        while y.sum() > 1.0:
            y = y * 0.75
        return y * seen[-1]

    return rolled


@pytest.mark.parametrize("arrays", [False, True])
def test_source_does_not_grow_with_trip_counts(arrays):
    in_arrays = {"tape_row_bytes": 1, "large_bytes": 1}  # in the place of lists
    texts = []
    for count in (10, 10_000):
        with changed_costs(**in_arrays if arrays else {}):
            source = ms.gradient_source(of_trips(count), ms.Tensor([0.5, 0.25]))
        assert f"range({count})" in source
        texts.append(re.sub(" +#", " #", re.sub(rf"\b{count}\b", "TRIPS", source)))
    assert texts[0] == texts[1]
