"""Ways by which a text reaches an outside thing."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

HELD: Any = None
READ: Any = None


class Holder:
    """Holds a thing as an attribute, and reads it by a method."""

    def __init__(self, held: Any, read: Any):
        self.held, self.read = held, read

    def total(self, x: Any) -> Any:
        return np.sum(self.read(self.held) * x * x)

    @property
    def shown(self) -> Any:
        return self.held


def by_argument(held: Any, read: Any) -> tuple[Any, tuple]:
    def total(x: Any, h: Any) -> Any:
        return np.sum(read(h) * x * x)

    return total, (held,)


def by_argument_in_a_tuple(held: Any, read: Any) -> tuple[Any, tuple]:
    def total(x: Any, h: Any) -> Any:
        return np.sum(read(h[1]) * x * x)

    return total, (("a", held),)


def by_argument_in_a_dict(held: Any, read: Any) -> tuple[Any, tuple]:
    def total(x: Any, h: Any) -> Any:
        return np.sum(read(h["held"]) * x * x)

    return total, ({"held": held},)


def by_global(held: Any, read: Any) -> tuple[Any, tuple]:
    global HELD, READ
    HELD, READ = held, read

    def total(x: Any) -> Any:
        return np.sum(READ(HELD) * x * x)

    return total, ()


def by_closure(held: Any, read: Any) -> tuple[Any, tuple]:
    def total(x: Any) -> Any:
        return np.sum(read(held) * x * x)

    return total, ()


def by_default(held: Any, read: Any) -> tuple[Any, tuple]:
    def total(x: Any, h: Any = held) -> Any:
        return np.sum(read(h) * x * x)

    return total, ()


def by_keyword_default(held: Any, read: Any) -> tuple[Any, tuple]:
    def total(x: Any, *, h: Any = held) -> Any:
        return np.sum(read(h) * x * x)

    return total, ()


def by_self(held: Any, read: Any) -> tuple[Any, tuple]:
    return Holder(held, read).total, ()


def by_class(held: Any, read: Any) -> tuple[Any, tuple]:
    class Above:
        inner = {"held": held}

    def total(x: Any) -> Any:
        return np.sum(read(Above.inner["held"]) * x * x)

    return total, ()


def by_property(held: Any, read: Any) -> tuple[Any, tuple]:
    holder = Holder(held, read)

    def total(x: Any) -> Any:
        return np.sum(read(holder.shown) * x * x)

    return total, ()


def by_partial(held: Any, read: Any) -> tuple[Any, tuple]:
    def total(h: Any, x: Any) -> Any:
        return np.sum(read(h) * x * x)

    return functools.partial(total, held), ()


def by_list(held: Any, read: Any) -> tuple[Any, tuple]:
    row = [1.0, held]

    def total(x: Any) -> Any:
        return np.sum(read(row[-1]) * x * x)

    return total, ()


def by_inner_call(held: Any, read: Any) -> tuple[Any, tuple]:
    def inner(h: Any, x: Any) -> Any:
        return read(h) * x

    def total(x: Any, h: Any) -> Any:
        return np.sum(inner(h, x) * x)

    return total, (held,)


def by_argument_in_a_loop(held: Any, read: Any) -> tuple[Any, tuple]:
    def total(x: Any, h: Any) -> Any:
        out = 0.0
        for i in range(len(x)):
            if x[i] > 0.5:
                out = out + np.sum(read(h) * x) * x[i]
        return out

    return total, (held,)


WAYS = {
    way.__name__: way
    for way in (
        by_argument, by_argument_in_a_tuple, by_argument_in_a_dict, by_global, by_closure,
        by_default, by_keyword_default, by_self, by_class, by_property, by_partial, by_list,
        by_inner_call, by_argument_in_a_loop,
    )
}  # fmt: skip
