"""The memory that may be written to: blocks that a caller lends, and what lies in each of them.

Blocks are bytes. Arrays of different lives and types share one, and begin where it begins. A block
in which a result ends up goes with it: it is *given*, made anew for each call, and nothing else is
put there later. ``assign_buffers`` decides what goes where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autodiff_compiler.ir.aliasing import AliasSet
from autodiff_compiler.ir.nodes import AnyOperand, Value
from autodiff_compiler.ir.types import Type, size_of


class BufferPool:
    """What is known of memory wherever control is: the lent arrays, and what is in them."""

    def __init__(self, lies: Mapping[Value, AliasSet], rows: Mapping[Value, Type], lends: bool):
        self.lies, self.rows, self.lends = lies, rows, lends
        #: The lent arrays, by the block that they begin and their type; and the blocks' bytes.
        self.buffers: dict[tuple[int, Type], Value] = {}
        self.blocks: list[int] = []
        self.free: list[int] = []
        #: The blocks that results take with them.
        self.given: set[int] = set()
        #: The block that a cell is in, and the value of each type that was put there last.
        self.slots: dict[Value, int] = {}
        self.holders: dict[tuple[int, Type], Value] = {}
        #: Cells of arrays that a loop fills where another one lies, whatever its order may be.
        self.unordered: set[Value] = set()

    def begin(self, blocks: Sequence[int], held: Mapping[int, Value]) -> None:
        """There are these blocks, and what is ``held`` in some."""
        self.blocks, self.slots = list(blocks), {cell: block for block, cell in held.items()}
        self.free = [block for block in range(len(blocks)) if block not in held]

    def cells(self, value: AnyOperand) -> AliasSet:
        return self.lies.get(value, frozenset()) if isinstance(value, Value) else frozenset()

    def release(self, cell: Value) -> None:
        self.free.append(self.slots.pop(cell))

    def take(self, result: Value) -> Value:
        """A lent array for ``result``, in a block that is free or in one more."""
        return self.put(result, best_fit(self.blocks, self.free, size_of(result.type)))

    def put(self, result: Value, block: int) -> Value:
        """The array of a block that ``result`` goes into."""
        place = block, result.type
        buffer = self.buffers.setdefault(place, Value(result.type, "buffer"))
        target = self.holders.get(place, buffer)
        self.slots[result], self.holders[place] = block, result
        return target

    def give(self, result: Value, cell: Value | None = None, or_new: bool = False) -> Value | None:
        """The array of a block of just the size of ``result``, which takes it along: that in which
        ``cell`` is, or the largest that is free and may grow to that size, or one more."""
        size = size_of(result.type)
        found = self.free if cell is None else [self.slots[cell]]
        fit = [block for block in found if self.blocks[block] <= size]
        if fit:
            block = max(fit, key=self.blocks.__getitem__)
            if cell is None:
                self.free.remove(block)
            else:
                del self.slots[cell]
        elif or_new:
            block = best_fit(self.blocks, [], size)
        else:
            return None
        self.blocks[block] = size
        self.given.add(block)
        target = self.put(result, block)
        del self.slots[result]
        return target

    def hand_on(self, argument: Value, result: Value) -> None:
        """``result`` is where ``argument`` was."""
        block = self.slots.pop(argument, None)
        if block is not None:
            self.slots[result], self.holders[block, result.type] = block, result


def best_fit(blocks: list[int], free: list[int], size: int) -> int:
    """The free block that suits ``size`` bytes: the smallest that is large enough, else the largest
    one, which grows, else one more.

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
