"""What a thing is, whether it is another or in another, and which of two comes first."""

import functools
import operator
import types

from autodiff_compiler import Tensor
from tests.frontend.rows.rows import of, row


@row("sum of bools is a number")
def sum_of_bools(x):
    return x * sum([x > 0, x > 1]) * sum([True]) * sum([bool(x[0] > 0), True, False])


@row("sum of bools of a growing list", of(1.7, 2.5))
def sum_of_many_bools(x):
    found = []
    k = 0
    while k * x[0] < 9:
        found.append(x * k > 2)
        k += 1
    return x * sum(found)


@row("isinstance of functions and methods")
def kinds_of_functions(x):
    def double(v):
        return v * 2

    half = functools.partial(operator.mul, 0.5)
    parts = []
    y = double(x) if isinstance(double, types.FunctionType) else x
    y = half(y * y) if isinstance(half, functools.partial) and callable(half) else y
    y = y * x if type(lambda: 0) is types.FunctionType else y
    y = y * 3 if isinstance(parts.append, types.BuiltinMethodType) else y
    return y * y if isinstance(x.sum, types.MethodType) else y


@row("isinstance of ranges and pairs")
def kinds_of_iterables(x):
    n = int(x[1])
    y = x * x if isinstance(range(n), range) and not isinstance(range(n), list) else x
    y = y * x if isinstance(enumerate([1, 2]), enumerate) else y
    return y * 3 if isinstance(zip([1], [2]), zip) and not isinstance(zip(), tuple) else y


@row("isinstance with a union")
def kinds_in_unions(x):
    y = x * x if isinstance(3, int | str) and isinstance(x, int | Tensor) else x
    y = y * x if isinstance("a", ((float, str), bool)) else y
    return y * 3 if isinstance({1}, (set, frozenset)) and not isinstance({1}, list) else y


@row("a number that is known in a run is True")
@row("a number that is known in a run is True", of(-1.5, -2.5))
def is_true(x):
    positive = bool(x.sum() > 0)
    y = x * x if positive is True else x
    y = y * 3 if positive is not False else y * x
    return y * x if positive is bool(x[0] > 0) else y


@row("in a tensor, pairs and a dict of values")
def membership(x):
    y = x * x if 9.0 not in x and 2 in Tensor([1, 2]) else x
    y = y * x if (1, 5.0) in enumerate([2.0, 5.0]) else y
    y = y * 3 if "a" in {"a": x} and x[0] not in [x[1], 3.0] else y
    return y * 2 if 4 in map(lambda v: v * v, (1, 2)) else y


class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def __contains__(self, x):
        return self.low < x < self.high

    def __neg__(self):
        return Interval(-self.high, -self.low)

    def __invert__(self):
        return self.high


@row("in and signs of an object")
@row("in and signs of an object", of(-1.5, 2.5))
def signs_of_an_object(x):
    inside = Interval(x[0] - 1, x.sum())
    y = x * x if x[0] in inside else x * 3
    y = y * 5 if x[1] not in inside else y
    return y * (-inside).low + ~inside


@row("~ of whole numbers", gradient=lambda x: 0 * x - 3 * -6 * 2)
def inverted(x):
    n = int(x[1])
    return x * ~n * ~5 * operator.invert(-3) * -operator.neg(True)


@row("lists and tuples in order")
@row("lists and tuples in order", of(2.5, 1.5))
def ordered(x):
    y = x * x if [1, 2] < [1, 3] and (2, "a") >= (2,) and not [1] > [1, 2] else x
    y = y * x if [x.sum(), x[0]] < [x.sum(), x[1]] else y * 3
    return y * 2 if (x[0], 1) <= (x[1], 0) else y * x


@row("dict() of lists, int() with a base")
def made_of_lists(x):
    table = dict([["a", x], ["b", x * x]])
    table = dict(table, c=x)
    pairs = dict(zip("de", (2.0, 3.0)))
    return table["a"] * table["b"] * table["c"] * pairs["e"] * int("11", 2)
