"""Functions, handlers, contexts and classes inside of each other, and what they see."""

import functools

from autodiff_compiler import ops
from tests.frontend.rows.rows import of, row


@row("bare return")
def bare_return(x):
    def f(parts):
        if x[0] > 0:
            parts.append(x * 2)
            return
        parts.append(x)

    parts = []
    f(parts)
    return parts[0] * x


@row("else raises")
@row("else raises", of(-1.5, 2.5))
def else_raises(x):
    try:
        if x[0] > 0:
            y = x * 2
        else:
            raise ValueError("low")
        z = y * x
    except ValueError:
        z = x * 3
    return z


@row("long slice", of(0.6, 2.5))
def long_slice(x):
    found = []
    k = 0
    while k < 6 * x[0]:
        found.append(x * k)
        k += 1
    part = found[1 : k - 1]
    return sum(part) * len(part)


@row("def in finally")
def def_in_finally(x):
    y = x
    try:
        y = y * 2
        if x[0] < 0:
            raise ValueError("a")
    finally:

        def g(v):
            return v * 3

        y = g(y)
    return y * x


class Ctx:
    def __enter__(self):
        return 2.0

    def __exit__(self, *e):
        return False


@row("def in with")
def def_in_with(x):
    with Ctx() as k:

        def g(v):
            return v * k

        y = g(x)
    return y * x


class _:
    def __init__(self, w):
        self.__w = w

    def get(self):
        return self.__w


@row("underscore class")
def underscore_class(x):
    return _(x).get() * x


@row("private")
def private(x):
    return Priv(x).get() * x


class Priv:
    def __init__(self, w):
        self.__w = w

    def get(self):
        return self.__w


@row("match no rest")
def match_no_rest(x):
    match {"a": x}:
        case {"b": y}:
            return y
        case {"a": y}:
            return y * x


@row("either called")
def either_called(x):
    f = ops.sin if x[0] > 0 else ops.cos
    g = f if x[1] > 0 else (lambda v: v * 2)
    return g(x)


@row("a known exception raised again")
def raised_again(x):
    try:
        try:
            raise ValueError("a")
        except ValueError:
            raise
    except ValueError:
        y = x * 3
    return y * x


@row("an assert that is known to fail")
def assert_known(x):
    parts = [x]
    try:
        assert len(parts) > 3, "few"
    except AssertionError:
        parts.append(x * 2)
    return parts[-1] * x


def checked(v):
    assert v.sum() > -100
    return v * v


@row("an assert that another handler leaves alone")
def assert_below(x):
    try:
        y = checked(x)
    except ValueError:
        y = x
    return y


@row("decorated inside")
def decorated_inside(x):
    def twice(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return function(*args, **kwargs) * 2

        return inner

    @twice
    def scaled(v, k=1.0):
        return v * k

    return scaled(x, k=3.0) * scaled(x)


@row("texts of nested containers")
def texts_of_containers(x):
    held = {"a": [1, (2, 3)], "b": {"c": 1}}
    return x * len(f"{held}") * len("%s" % (held,)) * len("{}".format(held["a"])) * x


@row("a list on one way, read on the same")
@row("a list on one way, read on the same", of(-1.5, 2.5))
def list_on_one_way(x):
    y = x
    if x[0] > 0:
        parts = [x, x * 2]
    if x[0] > 0:
        y = parts[0] * parts[1]
    return y


@row("a number that must be known", of(1.5, 2.5), 2)
def number_to_be_known(x, n):
    return x * ops.ones((n,)).sum() * x


@row("too few and too many to unpack")
def unpacked_wrongly(x):
    y = x
    try:
        a, b = [x]
    except ValueError:
        y = y * x
    try:
        a, b = [x, x, x]
    except ValueError:
        y = y * 3
    return y
