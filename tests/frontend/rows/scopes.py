"""Functions, handlers, contexts and classes inside of each other, and what they see."""

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
