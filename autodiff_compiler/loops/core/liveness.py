"""Liveness: whether a value is read again, so that a write may reuse its memory.

A region that is being lowered has a ``Frame``. A value of this region is dead if no later operation
reads it, and the region does not yield it. A branch runs at most once for each
run of the operation around it: there, values from outside can be dead, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from autodiff_compiler.ir.nodes import AnyOperand, Loop, Op, Region, Value


@dataclass
class Frame:
    """A region that is being lowered.

    is_branch  True if the region is a branch of an ``if``.
    last_use   the place of the last operation that reads a value.
    place      the place of the operation that is being lowered.
    checked    the positions whose range was checked, each with the size of its axis.
    """

    is_branch: bool
    defined: frozenset[Value]
    last_use: dict[Value, int]
    place: int = 0
    checked: set[tuple[AnyOperand, int]] = field(default_factory=set)


def frame_of(region: Region, is_branch: bool = False) -> Frame:
    """Returns the frame of a region before its first operation."""
    last_use: dict[Value, int] = {}
    for place, op in enumerate(region.ops):
        for value in _values(op.operands):
            last_use[value] = place
        for value in uses_in_regions(op):
            last_use[value] = place
    for value in _values(region.yields):
        last_use[value] = len(region.ops)
    defined = {*region.params, *(result for op in region.ops for result in op.results)}
    return Frame(is_branch, frozenset(defined), last_use)


def is_dead(value: Value, frames: Sequence[Frame]) -> bool:
    """True if nothing reads a value after the operation that is being lowered."""
    for frame in reversed(frames):
        if frame.last_use.get(value, -1) > frame.place:
            return False
        if value in frame.defined or not frame.is_branch:
            return value in frame.defined
    return False


def tested_values(region: Region) -> set[Value]:
    """Returns the values that ``is_unset`` tests, and the values that these may be.

    The items of lists and tuples are not followed. The result is empty if one of them is tested.
    """
    sources: dict[Value, list[AnyOperand]] = {}
    lost: set[Value] = set()
    wanted: list[AnyOperand] = []
    for op in region.walk():
        if op.name == "is_unset":
            wanted.append(op.operands[0])
        elif op.name == "if":
            for place, result in enumerate(op.results):
                sources[result] = [inner.yields[place] for inner in op.regions]
        elif op.name in ("for", "while"):
            _note_carries(Loop(op), sources)
            lost.update(Loop(op).read_params)
        elif op.name in ("item", "list_item", "call"):
            lost.update(op.results)
    tested: set[Value] = set()
    while wanted:
        value = wanted.pop()
        if isinstance(value, Value) and value not in tested:
            tested.add(value)
            wanted += sources.get(value, ())
    return set() if tested & lost else tested


def _note_carries(loop: Loop, sources: dict[Value, list[AnyOperand]]) -> None:
    """Notes what the carried values of a loop may be."""
    conditions = loop.condition.params if loop.condition is not None else loop.carry_params
    for place, values in enumerate(zip(loop.carry_params, loop.carried, conditions)):
        for value in values:
            sources[value] = [loop.inits[place], loop.carry_yields[place]]


def uses_in_regions(op: Op) -> Iterator[Value]:
    """Yields the values that the regions of an operation read."""
    for region in op.regions:
        for inner in region.walk():
            yield from _values(inner.operands)
            for nested in inner.regions:
                yield from _values(nested.yields)
        yield from _values(region.yields)


def _values(operands: Sequence[AnyOperand]) -> Iterator[Value]:
    return (operand for operand in operands if isinstance(operand, Value))
