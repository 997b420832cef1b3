"""The pool of buffers: allocations of a workspace, with best fit and donation.

An allocation has a size in bytes. Arrays with disjoint lifetimes share an allocation, also arrays
of different types, and begin where it begins. An allocation that holds a result is *donated* with
it: each call allocates it anew, and no later array goes there. ``assign_buffers`` decides what goes
where.

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

    def __init__(
        self, aliases: Mapping[Value, AliasSet], rows: Mapping[Value, Type], uses_workspace: bool
    ):
        self.aliases, self.rows, self.uses_workspace = aliases, rows, uses_workspace
        #: The buffers by the allocation that they begin and by their type; and the bytes of each
        #: allocation.
        self.buffers: dict[tuple[int, Type], Value] = {}
        self.allocations: list[int] = []
        self.free: list[int] = []
        #: The allocations that are donated to results.
        self.donated: set[int] = set()
        #: The allocation of each location, and the value of each type that was put there last.
        self.slots: dict[Value, int] = {}
        self.holders: dict[tuple[int, Type], Value] = {}
        #: Locations that a loop fills in the memory of an array, whose layout may be any.
        self.unordered: set[Value] = set()

    def begin(self, allocations: Sequence[int], occupants: Mapping[int, Value]) -> None:
        """Starts with these allocations; ``occupants`` are the locations that occupy some of
        them."""
        self.allocations = list(allocations)
        self.slots = {location: allocation for allocation, location in occupants.items()}
        self.free = [
            allocation for allocation in range(len(allocations)) if allocation not in occupants
        ]

    def locations(self, value: AnyOperand) -> AliasSet:
        return self.aliases.get(value, frozenset()) if isinstance(value, Value) else frozenset()

    def release(self, location: Value) -> None:
        self.free.append(self.slots.pop(location))

    def take(self, result: Value) -> Value:
        """Returns a buffer for ``result``, in a free allocation or in a new one."""
        return self.put(result, best_fit(self.allocations, self.free, size_of(result.type)))

    def put(self, result: Value, allocation: int) -> Value:
        """Puts ``result`` into an allocation, and returns the array to write it to."""
        place = allocation, result.type
        buffer = self.buffers.setdefault(place, Value(result.type, "buffer"))
        target = self.holders.get(place, buffer)
        self.slots[result], self.holders[place] = allocation, result
        return target

    def donate(
        self, result: Value, location: Value | None = None, or_new: bool = False
    ) -> Value | None:
        """Returns the array of an allocation that is donated with ``result`` and has exactly its
        size.

        It is the allocation of ``location`` if there is one. Otherwise it is the largest free
        allocation that can grow to the size, or a new one.
        """
        size = size_of(result.type)
        choices = self.free if location is None else [self.slots[location]]
        fit = [allocation for allocation in choices if self.allocations[allocation] <= size]
        if fit:
            allocation = max(fit, key=self.allocations.__getitem__)
            if location is None:
                self.free.remove(allocation)
            else:
                del self.slots[location]
        elif or_new:
            allocation = best_fit(self.allocations, [], size)
        else:
            return None
        self.allocations[allocation] = size
        self.donated.add(allocation)
        target = self.put(result, allocation)
        del self.slots[result]
        return target

    def transfer(self, argument: Value, result: Value) -> None:
        """Moves the allocation of ``argument`` to ``result``, which overwrites it."""
        allocation = self.slots.pop(argument, None)
        if allocation is not None:
            self.slots[result], self.holders[allocation, result.type] = allocation, result


def best_fit(allocations: list[int], free: list[int], size: int) -> int:
    """Returns the free allocation that fits ``size`` bytes best, which is free no more.

    This is the smallest allocation that is large enough. If there is none, the largest one grows,
    or a new one is made.

    >>> allocations, free = [100, 50, 80], [0, 1, 2]
    >>> [best_fit(allocations, free, 60) for _ in range(4)], allocations
    ([2, 0, 1, 3], [100, 60, 80, 60])
    """
    if not free:
        allocations.append(size)
        return len(allocations) - 1
    best = min(free, key=lambda each: (allocations[each] < size, abs(allocations[each] - size)))
    free.remove(best)
    allocations[best] = max(allocations[best], size)
    return best
