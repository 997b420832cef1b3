"""The arrays that a unit lends to its halves: kept from call to call, and never in two calls.

A call takes a set that nobody uses, or makes one, and gives it back when both halves have run; so
calls in several threads, or one inside another, have sets of their own. What a caller receives is
in none of them (``ir/memory.py`` proves it). A call that raises keeps its set, which then goes.
"""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_compiler.plan import ArrayType

#: All units together keep no more than this many bytes; where one set takes more, none is lent.
MOST = 2**30

#: Every workspace that lends anything, and what tells when it was used last.
ALL: weakref.WeakSet[Workspace] = weakref.WeakSet()
CLOCK = itertools.count(1)

Lent = tuple[tuple[Any, ...], ...]


class Workspace:
    """``blocks`` are the bytes of each block of one set; ``places`` are the arrays that each half
    is lent: a block and a type for each."""

    def __init__(self, blocks: Sequence[int], places: Sequence[Sequence[tuple[int, ArrayType]]]):
        self.blocks, self.places = blocks, places
        self.bytes = sum(blocks)
        self.idle: list[Lent] = []
        self.used = 0
        if self.bytes:
            ALL.add(self)

    def borrow(self) -> Lent:
        """The arrays of each half, for one call."""
        self.used = next(CLOCK)
        try:
            return self.idle.pop()
        except IndexError:
            pass
        if self.bytes > MOST:
            return self.nothing()
        make_room(self.bytes)
        made = [np.empty(size, np.uint8) for size in self.blocks]
        return tuple(
            tuple(_array(made[block], type_) for block, type_ in half) for half in self.places
        )

    def nothing(self) -> Lent:
        """In the place of the arrays of each half, for a call that lends none."""
        return tuple((None,) * len(places) for places in self.places)

    def give_back(self, lent: Lent) -> None:
        """Nobody reads or writes ``lent`` any more."""
        if self.bytes * (len(self.idle) + 1) <= MOST:
            self.idle.append(lent)


def make_room(wanted: int) -> None:
    """Lets sets go that nobody uses, the least lately used first, until ``wanted`` more bytes fit
    under the limit."""
    idle = sorted((w for w in [*ALL] if w.idle), key=lambda workspace: workspace.used)
    kept = sum(len(workspace.idle) * workspace.bytes for workspace in idle)
    for workspace in idle:
        if kept + wanted <= MOST:
            return
        kept -= len(workspace.idle) * workspace.bytes
        workspace.idle.clear()


def _array(block: np.ndarray, type_: ArrayType) -> np.ndarray:
    """An array at the beginning of a block."""
    dtype = np.dtype(type_.dtype)
    size = math.prod(type_.shape or ()) * dtype.itemsize  # type: ignore[arg-type]
    return block[:size].view(dtype).reshape(type_.shape)  # type: ignore[arg-type]


__all__ = ["Workspace"]
