"""Classes with special methods, for the tests of the data model."""

from __future__ import annotations

import enum
import functools
import math
import operator

import numpy as np

X = np.array([1.0, 2.0, 3.0])
#: Modules that the texts name.
NAMED = (math, operator)


class Full:
    """Has all special methods, each with a factor of its own."""

    __array_ufunc__ = None

    def __init__(self, held=None):
        self.held = np.ones(3) if held is None else held

    def __len__(self):
        return 5

    def __contains__(self, key):
        return key == 2

    def __iter__(self):
        return iter([self.held, self.held * 3])

    def __reversed__(self):
        return iter([self.held * 7])

    def __getitem__(self, key):
        return self.held * (key + 1)

    def __eq__(self, other):
        return True

    def __lt__(self, other):
        return True

    def __gt__(self, other):
        return False

    def __hash__(self):
        return 3

    def __call__(self, x):
        return x * self.held * 2

    def __bool__(self):
        return False

    def __add__(self, other):
        return self.held * 2 + other

    def __radd__(self, other):
        return self.held * 3 + other

    def __sub__(self, other):
        return self.held - other * 2

    def __rsub__(self, other):
        return other * 5 - self.held

    def __mul__(self, other):
        return other * 4

    def __rmul__(self, other):
        return other * 6

    def __matmul__(self, other):
        return other * 8

    def __rmatmul__(self, other):
        return other * 9

    def __truediv__(self, other):
        return other * 11

    def __rtruediv__(self, other):
        return other * 12

    def __pow__(self, other):
        return other * 13

    def __rpow__(self, other):
        return other * 14

    def __floordiv__(self, other):
        return other * 37

    def __mod__(self, other):
        return other * 41

    def __divmod__(self, other):
        return other * 43, other * 47

    def __and__(self, other):
        return other * 53

    def __rand__(self, other):
        return other * 59

    def __neg__(self):
        return self.held * -2

    def __pos__(self):
        return self.held * 17

    def __abs__(self):
        return self.held * 19

    def __invert__(self):
        return self.held * 23

    def __round__(self, digits=None):
        return self.held * 29

    def __index__(self):
        return 1

    def __int__(self):
        return 2

    def __float__(self):
        return 2.5

    def __enter__(self):
        return self.held * 31

    def __exit__(self, *error):
        return False

    def __getattr__(self, name):
        if name == "found":
            return self.held * 67
        raise AttributeError(name)

    def __class_getitem__(cls, key):
        return key * 2

    def __str__(self):
        return "text"


class Changing:
    """Has in-place operators."""

    def __init__(self, held=None):
        self.held = np.ones(3) if held is None else held

    def __iadd__(self, other):
        self.held = self.held + other * 2
        return self

    def __isub__(self, other):
        return other * 3

    def __setitem__(self, key, value):
        self.held = value * (key + 1)

    def __getitem__(self, key):
        return self.held * key

    def __delitem__(self, key):
        self.held = self.held * 5


class Array:
    def __array__(self, dtype=None, copy=None):
        return X


class Universal:
    def __array_ufunc__(self, ufunc, method, *inputs, **settings):
        return 5.0


class Elementwise:
    """Has a method that NumPy calls for each element of an array on its left."""

    def __rmul__(self, other):
        return other * other


class Defaulting(dict):
    def __missing__(self, key):
        return 10.0


class Doubling(dict):
    def __getitem__(self, key):
        return dict.__getitem__(self, key) * 2


class Longer(list):
    def __len__(self):
        return 7


class Going(list):
    def __iter__(self):
        return iter([np.full(3, 9.0)])


class Joining(list):
    def __add__(self, other):
        return np.full(3, 4.0)

    def __contains__(self, item):
        return True

    def __bool__(self):
        return False

    def total(self):
        return self[0] * 2


class Row(tuple):
    def __getitem__(self, key):
        return tuple.__getitem__(self, key) * 3

    def __add__(self, other):
        return 100.0


class Number(float):
    def __mul__(self, other):
        return 100 * other

    def __rmul__(self, other):
        return 200 * other

    def __add__(self, other):
        return other * 7

    def __radd__(self, other):
        return other * 8

    def __neg__(self):
        return 5.0


class Whole(int):
    def __mul__(self, other):
        return 100 * other

    __rmul__ = __mul__

    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class Colour(enum.Enum):
    RED = 2.0
    GREEN = 3.0

    @property
    def twice(self):
        return self.value * 2

    def of(self, x):
        return x * self.value


class Kind(enum.IntEnum):
    FIRST = 1
    SECOND = 2


class Base:
    shared = np.full(3, 2.0)
    number = 3.0

    def __init__(self):
        self.number = 5.0

    @classmethod
    def of_class(cls, x):
        return x * cls.shared

    @staticmethod
    def alone(x):
        return x * 3

    @functools.cached_property
    def cached(self):
        return np.full(3, 4.0) * self.number

    def method(self, x, y=2):
        return x * y * self.number

    part = functools.partialmethod(method, y=7)


class Below(Base):
    shared = np.full(3, 6.0)

    def method(self, x, y=3):
        return super().method(x, y) + x


FULL, CHANGING, ARRAY, UNIVERSAL, ELEMENTWISE = (
    Full(), Changing(), Array(), Universal(), Elementwise(),
)  # fmt: skip
DEFAULTING, DOUBLING = Defaulting(a=np.ones(3)), Doubling(a=np.ones(3))
LONGER, GOING, JOINING = Longer([np.ones(3)]), Going([np.ones(3)]), Joining([np.ones(3)])
ROW, NUMBER, WHOLE = Row([np.ones(3), 2.0]), Number(2.0), Whole(2)
BASE, BELOW = Base(), Below()
PART = functools.partial(lambda a, b, c=1: a * b * c, 2.0, c=3.0)
