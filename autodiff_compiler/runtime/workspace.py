"""The arrays that a unit lends to its halves: kept from call to call, and never in two calls.

A call takes a set that nobody uses, or makes one, and gives it back when both halves have run; so
calls in several threads, or one inside another, have sets of their own. What a caller receives is
in none of them (``ir/memory.py`` proves it). A call that raises keeps its set, which then goes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_compiler.plan import ArrayType

#: A unit keeps no more than this many bytes, and lends none where one set takes more.
MOST = 2**30

Lent = tuple[tuple[Any, ...], ...]


class Workspace:
    """``arrays`` are the types of one set; ``places`` tells which of them each half is lent."""

    def __init__(self, arrays: Sequence[ArrayType], places: Sequence[tuple[int, ...]]):
        self.arrays, self.places = arrays, places
        self.bytes = sum(_bytes(type_) for type_ in arrays)
        self.idle: list[Lent] = []

    def borrow(self) -> Lent:
        """The arrays of each half, for one call."""
        try:
            return self.idle.pop()
        except IndexError:
            pass
        if self.bytes > MOST:
            return self.nothing()
        made = [np.empty(type_.shape, type_.dtype) for type_ in self.arrays]  # type: ignore
        return tuple(tuple(made[place] for place in places) for places in self.places)

    def nothing(self) -> Lent:
        """In the place of the arrays of each half, for a call that lends none."""
        return tuple((None,) * len(places) for places in self.places)

    def give_back(self, lent: Lent) -> None:
        """Nobody reads or writes ``lent`` any more."""
        if self.bytes * (len(self.idle) + 1) <= MOST:
            self.idle.append(lent)


def _bytes(type_: ArrayType) -> int:
    return math.prod(type_.shape or ()) * np.dtype(type_.dtype).itemsize  # type: ignore[arg-type]


__all__ = ["Workspace"]
