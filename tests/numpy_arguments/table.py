"""Every function and method of NumPy that is compiled, with what draws a call of it."""

from __future__ import annotations

import zlib

import numpy as np

from tests.numpy_arguments import elementwise, products, reductions, shapes
from tests.numpy_arguments.check import Case
from tests.numpy_arguments.draw import Draw
from tests.numpy_arguments.reductions import Make

CALLS: dict[str, Make] = {
    **elementwise.CALLS, **reductions.CALLS, **shapes.CALLS, **products.CALLS,
}  # fmt: skip


def case(name: str, seed: int, number: int) -> Case:
    """The call with this number; one in six has sizes that only the run knows."""
    rng = np.random.default_rng([seed, number, zlib.crc32(name.encode())])
    draw = Draw(rng)
    expression = CALLS[name](draw)
    return Case(draw, expression, unknown=number % 6 == 5)
