"""The arrays that a unit lends to its halves: kept from call to call, and never in two calls.

A call takes a set that nobody uses, or makes one, and gives it back when both halves have run; so
calls in several threads, or one inside another, have sets of their own. What a caller receives is
in none of them (``ir/verify/memory_safety.py`` proves it), but for the blocks that are given: they
are made for each call, and go with a result. A call that raises keeps its set, which then goes.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from autodiff_compiler.cost_model import costs
from autodiff_compiler.interface import ArrayType

#: Every workspace that lends anything, and what tells when it was used last.
ALL: weakref.WeakSet[Workspace] = weakref.WeakSet()
CLOCK = itertools.count(1)
#: Held by who changes or reads ``ALL``: one thread may compile while another makes room.
LOCK = threading.Lock()

#: The arrays of each half.
Lent = list[list[Any]]


class Workspace:
    """``blocks`` are the bytes of each block of one set; ``places`` are the arrays that each half
    is lent: a block and a type for each; ``given`` the blocks that are not kept."""

    def __init__(
        self,
        blocks: Sequence[int],
        places: Sequence[Sequence[tuple[int, ArrayType]]],
        given: Set[int] = frozenset(),
    ):
        self.blocks, self.places = blocks, places
        #: The blocks that are not kept, and of each array there: the half, its number, its type.
        self.given = [
            (size, [(half, key, type_)
                    for half, arrays in enumerate(places)
                    for key, (place, type_) in enumerate(arrays) if place == block])
            for block, size in enumerate(blocks) if block in given
        ]  # fmt: skip
        self.bytes = sum(blocks) - sum(size for size, _ in self.given)
        self.idle: list[Lent] = []
        self.used = 0
        if self.bytes:
            with LOCK:
                ALL.add(self)

    def acquire(self) -> Lent:
        """The arrays of each half, for one call."""
        self.used = next(CLOCK)
        try:
            return self.with_missing_allocated(self.idle.pop())
        except IndexError:
            pass
        if self.bytes > costs().lent_bytes:
            return self.no_buffers()
        make_room(self.bytes)
        made = [np.empty(size, np.uint8) for size in self.blocks]
        return [[_array(made[block], type_) for block, type_ in half] for half in self.places]

    def with_missing_allocated(self, lent: Lent) -> Lent:
        """A set that was kept, with the blocks that are given."""
        for size, arrays in self.given:
            block = np.empty(size, np.uint8)
            for half, key, type_ in arrays:
                lent[half][key] = _array(block, type_)
        return lent

    def no_buffers(self) -> Lent:
        """In the place of the arrays of each half, for a call that lends none."""
        return [[None] * len(places) for places in self.places]

    def release(self, lent: Lent) -> None:
        """Nobody reads or writes ``lent`` any more, but for what is given."""
        if self.bytes * (len(self.idle) + 1) > costs().lent_bytes:
            return
        for _, arrays in self.given:
            for half, key, _ in arrays:
                lent[half][key] = None
        self.idle.append(lent)


def make_room(wanted: int) -> None:
    """Lets sets go that nobody uses, the least lately used first, until ``wanted`` more bytes fit
    under the limit."""
    with LOCK:
        known = [*ALL]
    idle = sorted((w for w in known if w.idle), key=lambda workspace: workspace.used)
    kept = sum(len(workspace.idle) * workspace.bytes for workspace in idle)
    for workspace in idle:
        if kept + wanted <= costs().lent_bytes:
            return
        kept -= len(workspace.idle) * workspace.bytes
        workspace.idle.clear()


def _array(block: np.ndarray, type_: ArrayType) -> np.ndarray:
    """An array at the beginning of a block."""
    return np.ndarray(type_.shape, type_.dtype, block)  # type: ignore[arg-type]


__all__ = ["Workspace"]
