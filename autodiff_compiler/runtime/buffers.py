"""Workspace buffers of compiled functions: kept from call to call, and never in two calls at once.

A call acquires a set of buffers that no other call uses, or a new one. It releases the set when the
forward and the backward function have run. Calls in several threads, or one call inside another,
therefore have sets of their own.

No result lies in a workspace buffer (``ir/verify/memory_safety.py`` proves it). The exception are
donated allocations, which a result lies in: each call makes them. A call that raises does not
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
from autodiff_compiler.interface.compiled import ArrayType

#: The workspaces that have buffers; the clock counts their uses.
WORKSPACES: weakref.WeakSet[Workspace] = weakref.WeakSet()
CLOCK = itertools.count(1)
#: Protects ``WORKSPACES``: one thread may compile while another makes room.
LOCK = threading.Lock()

#: The arrays for the forward function, and those for the backward function.
Buffers = list[list[Any]]


@dataclass(frozen=True)
class _Buffer:
    """An array at the beginning of an allocation."""

    allocation: int
    shape: tuple[int, ...]
    dtype: np.dtype

    def inside(self, memory: np.ndarray) -> np.ndarray:
        array: np.ndarray = np.ndarray(self.shape, self.dtype, memory)
        return array


class Workspace:
    """The buffers of one compiled function.

    allocations  the bytes of each allocation.
    buffers      the buffers for the forward function, and those for the backward function.
    donated      the allocations that go to the caller with a result: the bytes, and for each
                 buffer in it the function, the buffer's number there, and the buffer.
    idle         the sets that no call uses.
    """

    def __init__(
        self,
        allocations: Sequence[int],
        places: Sequence[Sequence[tuple[int, ArrayType]]],
        donated: Set[int] = frozenset(),
    ):
        self.allocations = allocations
        self.buffers = [
            [_buffer(allocation, type_) for allocation, type_ in arrays] for arrays in places
        ]
        self.donated = [
            (size, list(self._buffers_in(allocation)))
            for allocation, size in enumerate(allocations)
            if allocation in donated
        ]
        self.bytes = sum(allocations) - sum(size for size, _ in self.donated)
        self.idle: list[Buffers] = []
        self.used = 0
        if self.bytes:
            with LOCK:
                WORKSPACES.add(self)

    def _buffers_in(self, allocation: int) -> Iterator[tuple[int, int, _Buffer]]:
        for function, buffers in enumerate(self.buffers):
            for key, buffer in enumerate(buffers):
                if buffer.allocation == allocation:
                    yield function, key, buffer

    def acquire(self) -> Buffers:
        """Returns a set of buffers for one call."""
        self.used = next(CLOCK)
        try:
            return self.with_missing_allocated(self.idle.pop())
        except IndexError:
            pass
        if self.bytes > costs().workspace_bytes:
            return self.no_buffers()
        make_room(self.bytes)
        memory = [np.empty(size, np.uint8) for size in self.allocations]
        return [
            [each.inside(memory[each.allocation]) for each in arrays] for arrays in self.buffers
        ]

    def with_missing_allocated(self, buffers: Buffers) -> Buffers:
        """Makes the allocations anew that an earlier call donated."""
        for size, missing in self.donated:
            memory = np.empty(size, np.uint8)
            for function, key, buffer in missing:
                buffers[function][key] = buffer.inside(memory)
        return buffers

    def no_buffers(self) -> Buffers:
        """Returns None in place of each buffer: the generated functions then allocate."""
        return [[None] * len(arrays) for arrays in self.buffers]

    def release(self, buffers: Buffers) -> None:
        """Takes back a set that no function reads or writes any more, without donated
        allocations."""
        if self.bytes * (len(self.idle) + 1) > costs().workspace_bytes:
            return
        for _, missing in self.donated:
            for function, key, _ in missing:
                buffers[function][key] = None
        self.idle.append(buffers)


def make_room(wanted: int) -> None:
    """Frees idle sets, the least recently used first, until ``wanted`` more bytes fit under the
    limit."""
    with LOCK:
        known = [*WORKSPACES]
    idle = sorted((w for w in known if w.idle), key=lambda workspace: workspace.used)
    idle_bytes = sum(len(workspace.idle) * workspace.bytes for workspace in idle)
    for workspace in idle:
        if idle_bytes + wanted <= costs().workspace_bytes:
            return
        idle_bytes -= len(workspace.idle) * workspace.bytes
        workspace.idle.clear()


def _buffer(allocation: int, type_: ArrayType) -> _Buffer:
    return _Buffer(allocation, type_.static_shape, np.dtype(type_.known_dtype))


__all__ = ["Workspace"]
