"""Objects of the user's own from outside: what looks like a thing of theirs and is computed."""

from __future__ import annotations

import enum
import functools
from collections import namedtuple

from autodiff_compiler import Parameter, nn
from tests.corpus.cases import case, t


class Scales:
    """Everything that it gives is computed from a Parameter when it is asked for."""

    def __init__(self, weight: Parameter):
        self.weight, self.count = weight, 2

    @property
    def squares(self):
        return self.weight**2

    def __getitem__(self, k):
        return self.weight[k] * 2

    def __len__(self):
        return self.count

    def __bool__(self):
        return self.count > 1

    def __contains__(self, k):
        return k < self.count

    def __iter__(self):
        return iter([self.weight[0], self.weight[1] * 3])

    def __add__(self, other):
        return self.weight * 0.5 + other

    def __call__(self, x):
        return self.weight * x


@case(t(3))
class ComputedByProperties(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(t(3, phase=1.0), name="weight")
        self.scales = Scales(self.weight)

    @property
    def doubled(self):
        return self.weight * self.scales.count

    @property
    def total(self):
        return self.doubled.sum()

    def construct(self, x):
        return x * self.doubled * self.total + self.scales.squares * x


@case(t(3))
class ComputedByMethodsOfPython(ComputedByProperties):
    def construct(self, x):
        scales = self.scales
        y = scales(x) + scales[1] * len(scales)
        for row in scales:
            y = y * row
        return scales + y if scales and 1 in scales else y


class Table:
    def __init__(self, first):
        self.rows, self.written = {0: first}, 0

    def __setitem__(self, key, row):
        self.rows[key] = row
        self.written += 1

    def __getitem__(self, key):
        return self.rows[key]


@case(t(3))
def sets_items_of_an_object(x):
    table = Table(x)
    table[1] = x * x
    table[0] = table[1] * table[0]
    table[0] += x
    return table[0] * table.written + table[1]


class Kind(enum.Enum):
    LOW = (1.0, 2.0)
    HIGH = (3.0, 4.0)

    def __init__(self, scale, shift):
        self.scale, self.shift = scale, shift

    @property
    def both(self):
        return self.scale * self.shift


@case(t(3))
def goes_through_an_enum(x):
    y = x * Kind["LOW"].shift
    for kind in Kind:
        y = y + x * x * kind.both
    return y * Kind((3.0, 4.0)).scale


@case(t(3))
def makes_a_class_of_named_tuples(x):
    Pair = namedtuple("Pair", ["left", "right"], defaults=[3.0])
    pair = Pair(x)
    pair = pair._replace(left=pair.left * x)
    return pair.left * pair.right


@case(t(4))
def a_table_with_pairs_as_keys(x):
    """A loop that fills it is written out: its keys must be known."""
    cost = {(-1, -1): 0.0}
    for i in range(3):
        cost[i, -1] = cost[-1, i] = x[i]
    for i in range(3):
        for j in range(3):
            cost[i, j] = (x[i] - x[j + 1]) ** 2 + cost[i - 1, j - 1] * cost[i, j - 1]
    return cost[2, 2]


@case(t(3))
class RemembersByArguments(nn.Cell):
    """A method behind ``cache`` is compiled: what it gave for another weight is not used."""

    def __init__(self):
        super().__init__()
        self.weight = Parameter(t(3, phase=1.0), name="weight")

    @functools.cache  # noqa: B019
    def squares(self, count):
        return tuple(k * k for k in range(count))

    def construct(self, x):
        return x * self.weight * self.squares(3)[2]


@case(t(2), 5)
@case(t(2), 0)
def powers_by_halving(x, count):
    power = x * 0 + 1
    while count:
        if count & 1:
            power = power * x
        x = x * x
        count >>= 1
    return power + (count << 2) * x
