"""Repairs for updates in place that would overwrite a value that is still read.

A conflict names the value that is read after it was overwritten (the victim), the write, and the
reader. There are four repairs, tried in this order:

- The victim is a small part of the array, as a row is: it is copied where it is taken.
- A branch saves the victim for backward: it is copied there, and not in iterations without the
  branch.
- The reader of the victim does not depend on the write, and goes before it.
- The memory entered a loop from outside. There it is still read, belongs to another owner, or is no
  plain array. It is copied once, before the outermost loop that helps.

No repair is a proof: ``update_arrays_in_place`` interprets the repaired function again. A repair
that did not help is not tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from autodiff_compiler.analysis.path_conditions import PathConditions
from autodiff_compiler.analysis.trip_count import surely_reads
from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.aliasing import NONE, AliasSet, alias_sets, destination_of, memory_effect
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.labels import WRITTEN_IN_LOOP, WRITTEN_LATER
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_regions, producers, uses_of
from autodiff_compiler.ir.types import ArrayType, size_of
from autodiff_compiler.ir.verify.conflicts import Conflict
from autodiff_compiler.operators.core.index_patterns import FULL
from autodiff_compiler.operators.core.structure import copy
from autodiff_compiler.operators.destination_ops import copy_if_set
from autodiff_compiler.passes.core.traversal import (
    rewrite_region,
    with_body,
    with_inits,
    with_ops,
)

LOOPS = ("for", "while")


@dataclass
class _Repairs:
    """The repairs of one round.

    copied_parts      the parts that are copied
    copied_yields     the results of branches that are copied in the branch
    copied_inits      the carries that are copied before a loop, by the position of the loop
    moved             results that are computed before a write, with that of the write
    """

    copied_parts: set[Value] = field(default_factory=set)
    copied_yields: set[Value] = field(default_factory=set)
    copied_inits: dict[Value, set[int]] = field(default_factory=dict)
    moved: list[tuple[Value, Value]] = field(default_factory=list)


class ConflictResolver:
    """Repairs one function, round by round."""

    def __init__(self) -> None:
        self.tried: set[Any] = set()

    def resolved(
        self, function: Function, marked: Function, conflicts: Sequence[Conflict]
    ) -> tuple[Function, list[Conflict]]:
        """Returns the repaired function, and the conflicts without a repair.

        ``marked`` is the function with the updates in place that have the conflicts ``conflicts``.
        """
        facts, repairs, unresolved = _Facts(marked), _Repairs(), []
        repaired: set[Op | None] = set()  # the updates of a copy
        for conflict in conflicts:
            if conflict.victim is None and conflict.writer in repaired:
                continue
            if not self.repair(facts, conflict, repairs):
                unresolved.append(conflict)
            elif conflict.victim is None:
                repaired.add(conflict.writer)
        changed = _with_copies(function, repairs, facts)
        if repairs.moved:
            changed = with_body(changed, _with_early_readers(changed.body, repairs.moved, facts))
        return changed, unresolved

    def is_new(self, key: Any) -> bool:
        """True if a repair was not tried before; it is noted as tried."""
        known = key in self.tried
        self.tried.add(key)
        return not known

    def repair(self, facts: _Facts, conflict: Conflict, repairs: _Repairs) -> bool:
        """Notes a repair of ``conflict``, and returns True if there is one."""
        if conflict.writer is None:
            return False
        victim, writer = conflict.victim, conflict.writer
        saves = victim is not None and (
            self.copy_parts(facts, victim, writer, repairs)
            or self.move_reader(facts, conflict.reader, writer, repairs)
        )
        return saves or self.copy_init(facts, conflict.entries, writer.result, repairs)

    def copy_parts(self, facts: _Facts, victim: Value, writer: Op, repairs: _Repairs) -> bool:
        parts, yields = facts.parts(victim, writer)
        for values, noted in ((parts, repairs.copied_parts), (yields, repairs.copied_yields)):
            new = [value for value in values if value in noted or self.is_new(value)]
            noted.update(new)
            if new:
                return True
        return False

    def move_reader(self, facts: _Facts, reader: Op | None, writer: Op, repairs: _Repairs) -> bool:
        if reader is None or not reader.results or not facts.may_move(reader):
            return False
        move = reader.results[0], writer.result
        if not self.is_new(move):
            return False
        repairs.moved.append(move)
        return True

    def copy_init(
        self,
        facts: _Facts,
        entries: Sequence[tuple[Value, Sequence[int]]],
        written: Value,
        repairs: _Repairs,
    ) -> bool:
        """Notes copies before the outermost loop that the memory enters and that may help."""
        for position, numbers in entries:
            loop, copied = facts.loops[position], repairs.copied_inits.get(position, set())
            fit = {n for n in numbers if _may_replace(loop.inits[n], written)} - copied
            # Several arrays reach the writer where carries change places.
            untried = {n for n in fit if self.is_new((position, written, n))}
            if untried:
                repairs.copied_inits.setdefault(position, set()).update(untried)
                return True
            if copied.intersection(numbers):
                return True
        return False


class _Facts:
    """Facts about a function in one round."""

    def __init__(self, function: Function):
        self.function = function
        self.makers = producers(function.body)
        self.loops: dict[Value, Loop] = {}
        #: The operands from which a port of a branch or of a loop takes its value.
        self.sources: dict[Value, tuple[AnyOperand, ...]] = {}
        for op in function.body.walk():
            if op.name == "if":
                yields = zip(*(region.yields for region in op.regions))
                self.sources.update(zip(op.results, yields))
            elif op.name in LOOPS:
                self.enter_loop(Loop(op))
        self.paths, self.effects = PathConditions(function), Effects()
        self.aliases: Mapping[Value, AliasSet] = alias_sets(function.body)
        writes = (op for op in function.body.walk() if _writes(op))
        self.written = {result for op in writes for result in op.results}
        #: The first value of each chain of updates, as far as the chains were followed.
        self.chain_starts: dict[Value, Value] = {}

    def enter_loop(self, loop: Loop) -> None:
        self.loops[loop.position] = loop
        both = list(zip(loop.inits, loop.carry_yields))
        tests = loop.condition.params if loop.condition else ()
        for values in (loop.carry_params, tests, loop.carried):
            self.sources.update(zip(values, both))
        self.sources.update((a, (b,)) for a, b in zip(loop.stacked, loop.stack_yields))

    def parts(self, victim: Value, writer: Op) -> tuple[list[Value], list[Value]]:
        """Returns the small parts of the written array that ``victim`` may be or hold.

        Returns also the results of branches that save one, while the other branch has no value.
        """
        parts: list[Value] = []
        saved: list[Value] = []
        seen, waiting = {victim}, [victim]
        written = self.aliases.get(writer.result, NONE)
        while waiting:
            value = self.chain_start(waiting.pop())
            op = self.makers.get(value)
            further: Sequence[AnyOperand] = self.sources.get(value, ())
            if op is not None and op.name == "if" and any(map(self.is_unset, further)):
                saved += [value] if isinstance(value.type, ArrayType) else []
            if not further and op is not None:
                touches = op.viewed and self.aliases.get(value, NONE) & written
                if touches and is_small(op, writer):
                    parts.append(value)
                    continue
                # A tuple or the result of a call may hold a view.
                further = memory_effect(op).shares
            new = dict.fromkeys(v for v in further if isinstance(v, Value) and v not in seen)
            seen.update(new)
            waiting += new
        return parts, saved

    def chain_start(self, value: Value) -> Value:
        """Returns the first value of the chain of updates of one array that ends in ``value``."""
        chain = []
        while value not in self.chain_starts:
            chain.append(value)
            op = self.makers.get(value)
            if op is None or op.viewed or value in self.sources:
                break
            shares = memory_effect(op).shares
            if len(shares) != 1 or not isinstance(shares[0], Value):
                break
            value = shares[0]
        start = self.chain_starts.get(value, value)
        self.chain_starts.update(dict.fromkeys(chain, start))
        return start

    def is_unset(self, operand: AnyOperand) -> bool:
        """True if ``operand`` stands for a value that its branch does not have."""
        maker = self.makers.get(operand) if isinstance(operand, Value) else None
        return maker is not None and maker.name == "undefined"

    def may_move(self, op: Op) -> bool:
        """True if ``op`` may run earlier."""
        pure = not self.effects.has(op) and "callee" not in op.attrs
        return pure and self.written.isdisjoint(_all_results(op))

    def is_set(self, loop: Loop, number: int) -> bool:
        """True if the initial value of a carry is surely set."""
        init = loop.inits[number]
        is_set = init in self.function.params or not self.paths.may_be_unset(init)
        return is_set or surely_reads(loop, loop.carry_params[number])


def _writes(op: Op) -> bool:
    """True if ``op`` changes an array or a list in place."""
    return destination_of(op) is not None or bool(op.attrs.get("in_place"))


def _may_replace(init: AnyOperand, written: Value) -> bool:
    """True if a copy of ``init`` may replace it as the initial value of a written carry.

    Both have one dtype and rank. Sizes may be known of the one and not of the other.
    """
    have, want = init.type if isinstance(init, Value) else None, written.type
    if not isinstance(have, ArrayType) or not isinstance(want, ArrayType):
        return False
    return have.dtype == want.dtype and have.ndim == want.ndim


def is_small(view: Op, writer: Op) -> bool:
    """True if ``view`` takes a small part of an array as large as the written one.

    If sizes are unknown, any part counts as small.
    """
    part, array = view.result.type, writer.result.type
    if isinstance(part, ArrayType) and part.shape == ():
        return True
    if size_of(part) and size_of(array):
        return costs().copied_part_ratio * size_of(part) <= size_of(array)
    return view.name == "index" and any(item not in (FULL, "...") for item in view.attrs["index"])


def _with_copies(function: Function, repairs: _Repairs, facts: _Facts) -> Function:
    """Returns ``function`` with the copies of parts, of yields and of initial values."""

    def visit(op: Op) -> Sequence[Op]:
        if len(op.results) == 1 and op.result in repairs.copied_parts:
            return list(_copied_part(op))
        if op.name == "if" and not repairs.copied_yields.isdisjoint(op.results):
            return (_with_copied_yields(op, repairs.copied_yields, facts),)
        if op.name in LOOPS and op.regions[-1].params[0] in repairs.copied_inits:
            return _with_copied_inits(op, repairs.copied_inits[op.regions[-1].params[0]], facts)
        return (op,)

    return with_body(function, rewrite_region(function.body, {}, visit))


def _copied_part(view: Op) -> Iterator[Op]:
    builder = Builder()
    with builder, builder.at(view.span, view.role), builder.with_aside(WRITTEN_LATER):
        copy(builder.make(view.opdef, view.operands, view.attrs))
    *before, last = builder.ops
    yield from before
    yield replace(last, results=view.results)


def _with_copied_yields(op: Op, copied: Set[Value], facts: _Facts) -> Op:
    """Returns an ``if`` whose branches yield copies for the results ``copied``."""

    def region(inner: Region) -> Region:
        builder, yields = Builder(), list(inner.yields)
        with builder, builder.at(op.span, op.role), builder.with_aside(WRITTEN_LATER):
            for place, value in enumerate(yields):
                if op.results[place] in copied and not facts.is_unset(value):
                    surely = value in facts.function.params or not facts.paths.may_be_unset(value)
                    yields[place] = (copy if surely else copy_if_set)(value)
        return Region(inner.params, (*inner.ops, *builder.ops), tuple(yields))

    return map_regions(op, region)


def _with_copied_inits(op: Op, numbers: Set[int], facts: _Facts) -> list[Op]:
    builder, loop, inits = Builder(), Loop(op), {}
    with builder, builder.at(op.span, op.role), builder.with_aside(WRITTEN_IN_LOOP):
        for number in sorted(numbers):
            copied = (copy if facts.is_set(loop, number) else copy_if_set)(loop.inits[number])
            copied.name, copied.has_user_name = loop.carry_params[number].name, True
            inits[number] = copied
    return [*builder.ops, with_inits(op, inits)]


def _with_early_readers(
    region: Region, moves: Sequence[tuple[Value, Value]], facts: _Facts
) -> Region:
    """Returns ``region`` with readers before writers that they do not depend on."""

    def inner(region: Region) -> Region:
        return _with_early_readers(region, moves, facts)

    ops = [map_regions(op, inner) for op in region.ops]
    order = _Order(ops)
    for reader, writer in moves:
        late, early = order.places.get(reader), order.places.get(writer)
        if late is not None and early is not None:
            order.move(late, early, facts.may_move)
    return with_ops(region, order.ordered())


class _Order:
    """The order of operations of which some move before others, without a copy for each move.

    places   the place of the operation that computes each value, here or in its regions.
    keys     the sort key of each operation: its place, or that of the write that it goes before.
    """

    def __init__(self, ops: Sequence[Op]):
        self.ops = ops
        self.places = {value: n for n, op in enumerate(ops) for value in _all_results(op)}
        self.keys = {n: (n, True, 0) for n in range(len(ops))}
        self.moves = 0

    def move(self, reader: int, writer: int, may_move: Callable[[Op], bool]) -> None:
        """Moves a reader, with what it depends on, before a write, unless it depends on that."""
        moved: set[int] = set()
        waiting = [reader]
        while waiting:
            place = waiting.pop()
            if place in moved or self.keys[place] < self.keys[writer]:
                continue
            if place == writer or not may_move(self.ops[place]):
                return
            moved.add(place)
            used = (self.places.get(value) for value in uses_of(self.ops[place]))
            waiting += [each for each in used if each is not None]
        for place in sorted(moved, key=self.keys.__getitem__):
            self.moves += 1
            self.keys[place] = writer, False, self.moves

    def ordered(self) -> list[Op]:
        """Returns the operations in the new order."""
        return [self.ops[place] for place in sorted(self.keys, key=self.keys.__getitem__)]


def _all_results(op: Op) -> Iterator[Value]:
    yield from op.results
    for region in op.regions:
        for each in region.walk():
            yield from each.results
