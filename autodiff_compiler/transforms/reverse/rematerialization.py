"""Rematerialisation: the backward region computes values again that forward would have to save.

Free operations are repeated at its beginning: constants, and views of a saved array. A cheap
operation on large saved values is repeated just before its first reader. This is faster than to
read its result from memory, and in between its memory is free. It stays a *primal* operation, which
no pass rounds differently: a mask ``x == maximum`` must be true where forward found the maximum.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Container, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.nodes import AnyOperand, Op, Region, Value
from autodiff_compiler.ir.rewrite import (
    clone_ops,
    free_values,
    map_regions,
    producers_among,
    substitute,
    uses_of,
)
from autodiff_compiler.ir.types import INT, ArrayType, is_floating, size_of
from autodiff_compiler.operators.core.structure import reshape

Operands = AbstractSet[AnyOperand]
#: Operators that take no longer than to read and write memory.
CHEAP = ("add", "sub", "mul", "div", "neg", "pow")


def defined(params: Sequence[Value], ops: Sequence[Op]) -> list[Value]:
    """Lists parameters and results in order of definition."""
    return [*params, *(result for op in ops for result in op.results)]


def without_effects(region: Region) -> Region:
    """Drops the operations that only print or assert, which forward has run already."""
    ops = [map_regions(op, without_effects) for op in region.ops if _has_result(op)]
    return Region(region.params, tuple(ops), region.yields)


def _has_result(op: Op) -> bool:
    return bool(op.results) or not op.opdef.effect


def free_row_reads(
    params: Sequence[Value],
    forward: Sequence[Op],
    counters: Container[AnyOperand],
    trip_count: int | None,
    changing: Operands,
) -> frozenset[Op]:
    """Finds the operations of a loop's body that read a row of an array around the loop.

    The row's place depends on ``counters`` alone, so backward can read it again, unless the array
    is ``changing``. The integer operations that compute such places are included. An array that is
    much larger than all rows that are read does not count: saving it would take more memory.
    """
    inside, places, row_reads = set(defined(params, forward)), set[AnyOperand](), set[Op]()
    elsewhere = inside | changing

    def is_place(operand: AnyOperand) -> bool:
        return operand not in inside or operand in counters or operand in places

    for op in forward:
        reads_row = op.name == "index" and op.operands[0] not in elsewhere
        if reads_row and trip_count is not None:
            rows = trip_count * size_of(op.result.type)
            reads_row = size_of(op.types[0]) <= costs().saved_for_rows_ratio * rows
        counts = op.name in ("add", "sub", "mul") and op.result.type == INT
        if (reads_row or counts) and all(map(is_place, op.operands[reads_row:])):
            row_reads.add(op)
            places.update(op.results if counts else ())
    return frozenset(row_reads)


def rematerialize_free(
    forward: Sequence[Op], backward: Region, every: bool, free: Container[Op], changing: Operands
) -> Region:
    """Repeats free operations at the beginning of ``backward``, and saves their operands.

    Those are constants, views of one value, and the operations ``free``. A transpose of a transpose
    so meets the first one. With ``every`` all operations without an effect are repeated; a random
    number is drawn only once.
    """
    needed, effects = free_values(backward), Effects()
    again = []
    for op in reversed(forward):
        if not any(result in needed for result in op.results):
            continue
        if op in free or _is_free(op) and not _reads_unsaved_item(op, changing, needed):
            again.append(replace(op, role="adjoint"))
            needed |= uses_of(op)
        elif every and not effects.has(quiet := map_regions(op, without_effects)):
            again.append(quiet)
            needed |= uses_of(quiet)
    if not again:
        return backward
    mapping: dict = {}
    copies = clone_ops(again[::-1], mapping)
    body = substitute(backward, mapping)
    return Region(body.params, (*copies, *body.ops), body.yields)


def _reads_unsaved_item(op: Op, changing: Operands, needed: Container[AnyOperand]) -> bool:
    """True if the operation reads an item of a changing array that is not saved as a whole."""
    return op.name == "index" and op.operands[0] in changing and op.operands[0] not in needed


def _is_free(op: Op) -> bool:
    """True if the operation makes a constant, or a view of its only operand."""
    if op.regions or op.opdef.effect or "callee" in op.attrs:
        return False
    read = [operand for operand in op.operands if isinstance(operand, Value)]
    # A reshape copies if its operand is not contiguous.
    is_view = bool(op.opdef.views) and op.opdef is not reshape
    return not read or len(read) == 1 == len(op.operands) and is_view


def _is_cheap(op: Op) -> bool:
    """True if the operation is one arithmetic sign between arrays of floats, or a square."""
    if op.name not in CHEAP or op.name == "pow" and op.operands[1] != 2:
        return False
    type_ = op.result.type
    return isinstance(type_, ArrayType) and type_.dtype is not None and is_floating(type_)


def rematerialize_late(
    params: Sequence[Value],
    forward: Sequence[Op],
    backward: Region,
    taped: Container[AnyOperand] | None,
) -> Region:
    """Repeats cheap operations on large values just before ``backward`` reads their results.

    Their operands are saved anyway, or are views of what is. In a loop (``taped``) every saved
    value counts as large. Arguments exist without being saved: if several large values wait for
    backward, a few steps away from an argument are worth the memory. A single one costs no memory,
    because results of backward reuse its buffer.
    """
    late = _LateRematerialization(params, forward, backward, taped)
    for op in reversed(forward):
        if _is_cheap(op) and late.is_saved_result(op):
            late.visit(op)
    return late.rewritten()


class _LateRematerialization:
    """The state of ``rematerialize_late``.

    saved       the values that backward reads of forward, as far as it is rewritten.
    copies      the rematerialised value of each value that is no longer saved.
    before      the operations to insert before each operation of backward, by position.
    first_read  the position at which each value is read first.
    sizes       the bytes of the saved results, in order.
    """

    def __init__(
        self,
        params: Sequence[Value],
        forward: Sequence[Op],
        backward: Region,
        taped: Container[AnyOperand] | None,
    ):
        self.params, self.backward, self.taped = params, backward, taped
        self.makers = producers_among(forward)
        self.saved = set(free_values(backward))
        self.copies: dict[Value, AnyOperand] = {}
        self.before: defaultdict[int, list[Op]] = defaultdict(list)
        self.first_read: dict[Value, int] = {}
        for place, op in enumerate(backward.ops):
            for value in uses_of(op):
                self.first_read.setdefault(value, place)
        self.sizes = sorted(size_of(value.type) for value in self.saved if value in self.makers)

    def is_saved_result(self, op: Op) -> bool:
        return op.result in self.saved and op.result not in self.backward.yields

    def visit(self, op: Op) -> None:
        """Rematerialises the result of ``op`` if it is large and its operands are available."""
        size = size_of(op.result.type)
        as_large = bisect_left(self.sizes, size)
        if self.taped is None:
            large = size >= costs().rematerialised_bytes
            several = len(self.sizes) - as_large > 1
        else:
            large, several = op.result not in self.taped, False
        steps = costs().rematerialised_steps if several else 0
        chain = self.steps_to(op, steps) if large else None
        if chain:
            self.insert(op.result, chain)
            del self.sizes[as_large]

    def steps_to(self, op: Op, left: int) -> list[Op] | None:
        """Lists the operations that compute ``op`` from available values, ``op`` last.

        None if that takes more than ``left`` cheap operations before it, or a costly one.
        """
        chain = [op]
        for value in uses_of(op):
            if value in self.saved or value not in self.makers and value not in self.params:
                continue
            maker = self.makers.get(value)
            is_free = maker is not None and _is_free(maker)
            if not is_free and (left <= 0 or maker is not None and not _is_cheap(maker)):
                return None
            earlier = [] if maker is None else self.steps_to(maker, left - _is_cheap(maker))
            if earlier is None:
                return None
            left -= sum(map(_is_cheap, earlier))
            chain = [*earlier, *chain]
        return chain

    def insert(self, result: Value, ops: Sequence[Op]) -> None:
        """Inserts copies of ``ops`` before the first operation that reads ``result``."""
        copied = clone_ops(ops, {})
        self.copies[result] = copied[-1].result
        place = self.first_read[result]
        here = self.before[place]
        readers = (k for k, reader in enumerate(here) if result in uses_of(reader))
        at = next(readers, len(here))
        here[at:at] = copied
        for value in (value for op in copied for value in uses_of(op)):
            self.first_read[value] = min(place, self.first_read.get(value, place))
        read = (value for op in ops for value in uses_of(op))
        self.saved.update(value for value in read if value not in self.makers)
        self.saved.discard(result)

    def rewritten(self) -> Region:
        if not self.copies:
            return self.backward
        region = self.backward
        ops = [each for k, op in enumerate(region.ops) for each in (*self.before[k], op)]
        return substitute(Region(region.params, tuple(ops), region.yields), self.copies)


__all__ = [
    "defined",
    "free_row_reads",
    "rematerialize_free",
    "rematerialize_late",
    "without_effects",
]
