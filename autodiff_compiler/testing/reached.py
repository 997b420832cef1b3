"""The Cells that a function may call, whose state a run may change."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.ops.transforms.transformed import Transformed


def reached(fn: Any, seen: set[int] | None = None) -> Iterator[Cell]:
    """Yields the Cells that ``fn`` is, is bound to, transforms, or names in its closure and
    globals.

    >>> from autodiff_compiler.nn import Dense
    >>> layer = Dense(2, 3)
    >>> [cell is layer for cell in reached(lambda x: layer(x) + layer(x))]
    [True]
    """
    seen = set() if seen is None else seen
    if id(fn) in seen:
        return
    seen.add(id(fn))
    named: list[Any] = []
    if isinstance(fn, Cell):
        yield fn
    elif isinstance(fn, Transformed):
        named = [fn.fn]
    elif isinstance(fn, functools.partial):
        named = [fn.func, *fn.args, *fn.keywords.values()]
    elif isinstance(fn, types.MethodType):
        named = [fn.__self__, fn.__func__]
    elif isinstance(fn, types.FunctionType):
        for cell in fn.__closure__ or ():
            try:
                named.append(cell.cell_contents)
            except ValueError:
                continue  # not set yet
        named += [fn.__globals__[name] for name in fn.__code__.co_names if name in fn.__globals__]
    for thing in named:
        yield from reached(thing, seen)
