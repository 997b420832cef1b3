"""Workspace buffers of compiled functions: kept from call to call, and never in two calls at once.

A call acquires a set of buffers that no other call uses, or a new one. It releases the set when the
forward and the backward function have run. Calls in several threads, or one call inside another,
therefore have sets of their own.

No result lies in a workspace buffer (``ir/verify/memory_safety.py`` proves it). The exception are
blocks that are given away with a result: each call allocates them. A call that raises does not
release its set, which is then freed.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_compiler.cost_model import costs
from autodiff_compiler.interface import ArrayType

#: The workspaces that have buffers; the clock counts their uses.
WORKSPACES: weakref.WeakSet[Workspace] = weakref.WeakSet()
CLOCK = itertools.count(1)
#: Protects ``WORKSPACES``: one thread may compile while another makes room.
LOCK = threading.Lock()

#: The arrays for the forward function, and those for the backward function.
Buffers = list[list[Any]]


@dataclass(frozen=True)
class _Buffer:
    """An array at the beginning of a block."""

    block: int
    shape: tuple[int, ...]
    dtype: np.dtype

    def inside(self, memory: np.ndarray) -> np.ndarray:
        array: np.ndarray = np.ndarray(self.shape, self.dtype, memory)
        return array


class Workspace:
    """The buffers of one compiled function.

    blocks   the bytes of each block.
    buffers  the buffers for the forward function, and those for the backward function.
    given    the blocks that are given away with a result: the bytes, and for each buffer in the
             block the function, the buffer's number there, and the buffer.
    idle     the sets that no call uses.
    """

    def __init__(
        self,
        blocks: Sequence[int],
        places: Sequence[Sequence[tuple[int, ArrayType]]],
        given: Set[int] = frozenset(),
    ):
        self.blocks = blocks
        self.buffers = [[_buffer(block, type_) for block, type_ in half] for half in places]
        self.given = [
            (size, list(self._buffers_in(block)))
            for block, size in enumerate(blocks)
            if block in given
        ]
        self.bytes = sum(blocks) - sum(size for size, _ in self.given)
        self.idle: list[Buffers] = []
        self.used = 0
        if self.bytes:
            with LOCK:
                WORKSPACES.add(self)

    def _buffers_in(self, block: int) -> Iterator[tuple[int, int, _Buffer]]:
        for half, buffers in enumerate(self.buffers):
            for key, buffer in enumerate(buffers):
                if buffer.block == block:
                    yield half, key, buffer

    def acquire(self) -> Buffers:
        """Returns a set of buffers for one call."""
        self.used = next(CLOCK)
        try:
            return self.with_missing_allocated(self.idle.pop())
        except IndexError:
            pass
        if self.bytes > costs().lent_bytes:
            return self.no_buffers()
        make_room(self.bytes)
        memory = [np.empty(size, np.uint8) for size in self.blocks]
        return [[each.inside(memory[each.block]) for each in half] for half in self.buffers]

    def with_missing_allocated(self, buffers: Buffers) -> Buffers:
        """Allocates the blocks that an earlier call gave away."""
        for size, missing in self.given:
            memory = np.empty(size, np.uint8)
            for half, key, buffer in missing:
                buffers[half][key] = buffer.inside(memory)
        return buffers

    def no_buffers(self) -> Buffers:
        """Returns None in place of each buffer: the generated functions then allocate."""
        return [[None] * len(half) for half in self.buffers]

    def release(self, buffers: Buffers) -> None:
        """Takes back a set that no function reads or writes any more, without the blocks that were
        given away."""
        if self.bytes * (len(self.idle) + 1) > costs().lent_bytes:
            return
        for _, given in self.given:
            for half, key, _ in given:
                buffers[half][key] = None
        self.idle.append(buffers)


def make_room(wanted: int) -> None:
    """Frees idle sets, the least recently used first, until ``wanted`` more bytes fit under the
    limit."""
    with LOCK:
        known = [*WORKSPACES]
    idle = sorted((w for w in known if w.idle), key=lambda workspace: workspace.used)
    idle_bytes = sum(len(workspace.idle) * workspace.bytes for workspace in idle)
    for workspace in idle:
        if idle_bytes + wanted <= costs().lent_bytes:
            return
        idle_bytes -= len(workspace.idle) * workspace.bytes
        workspace.idle.clear()


def _buffer(block: int, type_: ArrayType) -> _Buffer:
    return _Buffer(block, type_.static_shape, np.dtype(type_.known_dtype))


__all__ = ["Workspace"]
