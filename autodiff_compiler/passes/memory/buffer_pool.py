"""The pool of buffers: blocks of memory that a caller lends, with best fit and donation.

A block has a size in bytes. Arrays with disjoint lifetimes share a block, also arrays of different
types, and begin where it begins. A block that holds a result is *donated* with it: each call
allocates it anew, and no later array goes there. ``assign_buffers`` decides what goes where.

Locations are abstract memory locations: a value stands for the memory that it brought into being
(``ir/aliasing.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autodiff_compiler.ir.aliasing import AliasSet
from autodiff_compiler.ir.nodes import AnyOperand, Value
from autodiff_compiler.ir.types import Type, size_of


class BufferPool:
    """The buffers at one point of a function, and the locations that lie in them."""

    def __init__(self, aliases: Mapping[Value, AliasSet], rows: Mapping[Value, Type], lends: bool):
        self.aliases, self.rows, self.lends = aliases, rows, lends
        #: The buffers by the block that they begin and by their type; and the bytes of each block.
        self.buffers: dict[tuple[int, Type], Value] = {}
        self.blocks: list[int] = []
        self.free: list[int] = []
        #: The blocks that are donated to results.
        self.donated: set[int] = set()
        #: The block of each location, and the value of each type that was put there last.
        self.slots: dict[Value, int] = {}
        self.holders: dict[tuple[int, Type], Value] = {}
        #: Locations that a loop fills in the memory of an array, whose layout may be any.
        self.unordered: set[Value] = set()

    def begin(self, blocks: Sequence[int], held: Mapping[int, Value]) -> None:
        """Starts with these blocks; ``held`` are the locations that occupy some of them."""
        self.blocks = list(blocks)
        self.slots = {location: block for block, location in held.items()}
        self.free = [block for block in range(len(blocks)) if block not in held]

    def locations(self, value: AnyOperand) -> AliasSet:
        return self.aliases.get(value, frozenset()) if isinstance(value, Value) else frozenset()

    def release(self, location: Value) -> None:
        self.free.append(self.slots.pop(location))

    def take(self, result: Value) -> Value:
        """Returns a buffer for ``result``, in a free block or in a new one."""
        return self.put(result, best_fit(self.blocks, self.free, size_of(result.type)))

    def put(self, result: Value, block: int) -> Value:
        """Puts ``result`` into a block, and returns the array to write it to."""
        place = block, result.type
        buffer = self.buffers.setdefault(place, Value(result.type, "buffer"))
        target = self.holders.get(place, buffer)
        self.slots[result], self.holders[place] = block, result
        return target

    def donate(
        self, result: Value, location: Value | None = None, or_new: bool = False
    ) -> Value | None:
        """Returns the array of a block that is donated with ``result`` and has exactly its size.

        It is the block of ``location`` if there is one. Otherwise it is the largest free block that
        can grow to the size, or a new one.
        """
        size = size_of(result.type)
        found = self.free if location is None else [self.slots[location]]
        fit = [block for block in found if self.blocks[block] <= size]
        if fit:
            block = max(fit, key=self.blocks.__getitem__)
            if location is None:
                self.free.remove(block)
            else:
                del self.slots[location]
        elif or_new:
            block = best_fit(self.blocks, [], size)
        else:
            return None
        self.blocks[block] = size
        self.donated.add(block)
        target = self.put(result, block)
        del self.slots[result]
        return target

    def transfer(self, argument: Value, result: Value) -> None:
        """Moves the block of ``argument`` to ``result``, which overwrites it."""
        block = self.slots.pop(argument, None)
        if block is not None:
            self.slots[result], self.holders[block, result.type] = block, result


def best_fit(blocks: list[int], free: list[int], size: int) -> int:
    """Returns the free block that fits ``size`` bytes best, which is free no more.

    That is the smallest block that is large enough, or else the largest one, which grows, or else a
    new one.

    >>> blocks, free = [100, 50, 80], [0, 1, 2]
    >>> [best_fit(blocks, free, 60) for _ in range(4)], blocks
    ([2, 0, 1, 3], [100, 60, 80, 60])
    """
    if not free:
        blocks.append(size)
        return len(blocks) - 1
    found = min(free, key=lambda block: (blocks[block] < size, abs(blocks[block] - size)))
    free.remove(found)
    blocks[found] = max(blocks[found], size)
    return found
