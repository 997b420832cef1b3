"""Every function and method of NumPy that is compiled, with what draws a call of it."""

from __future__ import annotations

import zlib

import numpy as np

from tests.numpy_arguments import creation, elementwise, products, reductions, shapes, subscripts
from tests.numpy_arguments.check import Case
from tests.numpy_arguments.draw import Draw
from tests.numpy_arguments.reductions import Make

CALLS: dict[str, Make] = {
    **elementwise.CALLS, **reductions.CALLS, **shapes.CALLS, **products.CALLS,
    **creation.CALLS,
}  # fmt: skip


def indexed(way: str, seed: int, number: int) -> Case:
    """A subscript that is read or written; one in three has sizes that only the run knows."""
    draw = Draw(np.random.default_rng([seed, number, zlib.crc32(way.encode())]))
    text = getattr(subscripts, way)(draw)
    if way == "reading":
        return Case(draw, text, unknown=number % 3 == 2)
    name = text.partition("[")[0]
    return Case(draw, name, unknown=number % 3 == 2, written=text)


def case(name: str, seed: int, number: int) -> Case:
    """The call with this number; one in six has sizes that only the run knows."""
    rng = np.random.default_rng([seed, number, zlib.crc32(name.encode())])
    draw = Draw(rng)
    expression = CALLS[name](draw)
    return Case(draw, expression, unknown=number % 6 == 5)
