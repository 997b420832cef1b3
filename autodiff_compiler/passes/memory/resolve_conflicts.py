"""What hinders a write in place, mended where that costs less than a copy of the whole array.

The proof of writes names the value that is read after it was overwritten (the victim), the write,
and who reads it. There are four ways out, in this order:

- The victim is a small part of the array, as a row is: it is copied where it is taken. So what a
  write spoils is saved item by item.
- A branch keeps the victim for backward: it is copied there, and not in turns without the branch.
- What reads the victim does not wait for the write, and goes before it.
- The memory came into a loop from outside, where it is still read, or is not the function's own, or
  is no plain array: it is copied once, before the outermost loop that helps.

None of that is a proof: the program is run again with the change made. What was tried once and did
not help is not tried again.
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
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_regions, producers, uses_of
from autodiff_compiler.ir.types import ArrayType, size_of
from autodiff_compiler.ir.verify.conflicts import Conflict
from autodiff_compiler.operators.core.index_patterns import FULL
from autodiff_compiler.operators.core.structure import copy
from autodiff_compiler.operators.destination_ops import copy_if_set
from autodiff_compiler.passes.core.traversal import rewrite_region, with_body

LOOPS = ("for", "while")


@dataclass
class _Changes:
    """What is done in one round: the parts that are copied, the results of branches that are, the
    carries that are copied before a loop, and the results that are computed before a write."""

    copied: set[Value] = field(default_factory=set)
    kept: set[Value] = field(default_factory=set)
    entered: dict[Value, set[int]] = field(default_factory=dict)
    moved: list[tuple[Value, Value]] = field(default_factory=list)


class ConflictResolver:
    """Mends one function, round by round."""

    def __init__(self) -> None:
        self.tried: set[Any] = set()

    def mended(
        self, function: Function, marked: Function, against: Sequence[Conflict]
    ) -> tuple[Function, list[Conflict]]:
        """``function`` changed as is thought to help, and the conflicts that nothing helps.
        ``marked`` is the same with the writes in place that these are about."""
        facts, changes, left = _Facts(marked), _Changes(), []
        owned: set[Op | None] = set()  # what writes to a copy from now on
        for conflict in against:
            if conflict.victim is None and conflict.writer in owned:
                continue
            if not self.helps(facts, conflict, changes):
                left.append(conflict)
            elif conflict.victim is None:
                owned.add(conflict.writer)
        mended = _with_copies(function, changes, facts)
        if changes.moved:
            body = _brought_forward(mended.body, changes.moved, facts)
            mended = with_body(mended, body)
        return mended, left

    def is_new(self, key: Any) -> bool:
        """Whether this was not tried yet; now it is."""
        known = key in self.tried
        self.tried.add(key)
        return not known

    def helps(self, facts: _Facts, conflict: Conflict, changes: _Changes) -> bool:
        """Notes what may help against ``conflict``, if anything does."""
        writer, victim, reader = conflict.writer, conflict.victim, conflict.reader
        if writer is None:
            return False
        if victim is not None:
            parts, kept = facts.parts(victim, writer)
            for found, noted in ((parts, changes.copied), (kept, changes.kept)):
                new = [value for value in found if value in noted or self.is_new(value)]
                noted.update(new)
                if new:
                    return True
            moves = reader is not None and reader.results and facts.may_move(reader)
            if moves and self.is_new((reader.results[0], writer.result)):  # type: ignore[union-attr]
                changes.moved.append((reader.results[0], writer.result))  # type: ignore[union-attr]
                return True
        for position, numbers in conflict.entries:
            loop = facts.loops[position]
            fit = {n for n in numbers if _is_such(loop.inits[n], writer.result)}
            fit -= changes.entered.get(position, set())
            # Arrays that change places come to the writer in turn.
            untried = {n for n in fit if self.is_new((position, writer.result, n))}
            if untried:
                changes.entered.setdefault(position, set()).update(untried)
                return True
            if changes.entered.get(position, set()).intersection(numbers):
                return True
        return False


class _Facts:
    """What is asked of a function in one round."""

    def __init__(self, function: Function):
        self.function = function
        self.makers = producers(function.body)
        self.loops: dict[Value, Loop] = {}
        #: Where what a branch or a loop hands on comes from.
        self.sources: dict[Value, tuple[AnyOperand, ...]] = {}
        for op in function.body.walk():
            if op.name == "if":
                yields = zip(*(region.yields for region in op.regions))
                self.sources.update(zip(op.results, yields))
            elif op.name in LOOPS:
                self.enter(Loop(op))
        self.ways, self.effects = PathConditions(function), Effects()
        self.lies: Mapping[Value, AliasSet] = alias_sets(function.body)
        writes = (op for op in function.body.walk() if destination_of(op) is not None)
        self.written = {result for op in writes for result in op.results}

    def enter(self, loop: Loop) -> None:
        self.loops[loop.position] = loop
        both = list(zip(loop.inits, loop.carry_yields))
        tests = loop.condition.params if loop.condition else ()
        for values in (loop.carry_params, tests, loop.carried):
            self.sources.update(zip(values, both))
        self.sources.update((a, (b,)) for a, b in zip(loop.stacked, loop.stack_yields))

    def parts(self, victim: Value, writer: Op) -> tuple[list[Value], list[Value]]:
        """The small parts of what ``writer`` changes that ``victim`` may be, or hold; and what one
        branch of an ``if`` keeps of that, while the other has nothing."""
        found: list[Value] = []
        kept: list[Value] = []
        seen, left = {victim}, [victim]
        spoilt = self.lies.get(writer.result, NONE)
        while left:
            value = left.pop()
            op = self.makers.get(value)
            further: Sequence[AnyOperand] = self.sources.get(value, ())
            if op is not None and op.name == "if" and any(map(self.is_nothing, further)):
                kept += [value] if isinstance(value.type, ArrayType) else []
            if not further and op is not None:
                touches = op.viewed and self.lies.get(value, NONE) & spoilt
                if touches and is_small(op, writer):
                    found.append(value)
                    continue
                further = memory_effect(
                    op
                ).shares  # a tuple or the result of a call may hold a view
            for each in further:
                if isinstance(each, Value) and each not in seen:
                    seen.add(each)
                    left.append(each)
        return found, kept

    def is_nothing(self, operand: AnyOperand) -> bool:
        """Whether ``operand`` is what a branch yields that has no such value."""
        maker = self.makers.get(operand) if isinstance(operand, Value) else None
        return maker is not None and maker.name == "undefined"

    def may_move(self, op: Op) -> bool:
        """Whether ``op`` may run earlier."""
        quiet = not self.effects.has(op) and "callee" not in op.attrs
        return quiet and self.written.isdisjoint(_made_in(op))

    def is_set(self, loop: Loop, number: int) -> bool:
        """Whether what a loop begins to carry is surely set."""
        init = loop.inits[number]
        is_set = init in self.function.params or not self.ways.may_be_unset(init)
        return is_set or surely_reads(loop, loop.carry_params[number])


def _is_such(init: AnyOperand, written: Value) -> bool:
    """Return True if a copy of ``init`` may replace it as the initial value of a written carry:
    both have one dtype and rank. Sizes may be known of the one and not of the other."""
    have, want = init.type if isinstance(init, Value) else None, written.type
    if not isinstance(have, ArrayType) or not isinstance(want, ArrayType):
        return False
    return have.dtype == want.dtype and have.ndim == want.ndim


def is_small(view: Op, writer: Op) -> bool:
    """Whether ``view`` takes a small part of an array as large as that which is written to; where
    sizes are not known, any part."""
    part, whole = view.result.type, writer.result.type
    if isinstance(part, ArrayType) and part.shape == ():
        return True
    if size_of(part) and size_of(whole):
        return costs().copied_part_ratio * size_of(part) <= size_of(whole)
    return view.name == "index" and any(item not in (FULL, "...") for item in view.attrs["index"])


def _with_copies(function: Function, changes: _Changes, facts: _Facts) -> Function:
    """``function`` with parts copied where they are taken, and carries before their loops."""

    def visit(op: Op) -> Sequence[Op]:
        if len(op.results) == 1 and op.result in changes.copied:
            return list(_copied(op))
        if op.name == "if" and not changes.kept.isdisjoint(op.results):
            return (_kept(op, changes.kept, facts),)
        if op.name in LOOPS and op.regions[-1].params[0] in changes.entered:
            return _entered(op, changes.entered[op.regions[-1].params[0]], facts)
        return (op,)

    return with_body(function, rewrite_region(function.body, {}, visit))


def _copied(view: Op) -> Iterator[Op]:
    builder = Builder()
    with builder, builder.at(view.span, view.role):
        copy(builder.make(view.opdef, view.operands, view.attrs))
    *before, last = builder.ops
    yield from before
    yield replace(last, results=view.results)


def _kept(op: Op, kept: Set[Value], facts: _Facts) -> Op:
    """An ``if`` of which what is ``kept`` is a copy that the branch makes."""

    def region(inner: Region) -> Region:
        builder, yields = Builder(), list(inner.yields)
        with builder, builder.at(op.span, op.role):
            for place, value in enumerate(yields):
                if op.results[place] in kept and not facts.is_nothing(value):
                    surely = value in facts.function.params or not facts.ways.may_be_unset(value)
                    own = copy if surely else copy_if_set
                    yields[place] = own(value)
        return Region(inner.params, (*inner.ops, *builder.ops), tuple(yields))

    return map_regions(op, region)


def _entered(op: Op, numbers: Set[int], facts: _Facts) -> list[Op]:
    builder, loop, operands = Builder(), Loop(op), list(op.operands)
    first = len(operands) - len(loop.reads) - len(loop.inits)
    with builder, builder.at(op.span, op.role):
        for number in sorted(numbers):
            own = copy if facts.is_set(loop, number) else copy_if_set
            copied = own(operands[first + number])
            copied.name, copied.has_user_name = loop.carry_params[number].name, True
            operands[first + number] = copied
    return [*builder.ops, replace(op, operands=tuple(operands))]


def _brought_forward(region: Region, moves: Sequence[tuple[Value, Value]], facts: _Facts) -> Region:
    """``region`` with readers before writers, where they do not wait for these."""

    def inner(region: Region) -> Region:
        return _brought_forward(region, moves, facts)

    ops = [map_regions(op, inner) for op in region.ops]
    for reader, writer in moves:
        places = {result: place for place, op in enumerate(ops) for result in _made_in(op)}
        late, early = places.get(reader), places.get(writer)
        if late is None or early is None or late <= early:
            continue
        wanted = _needed(ops[early : late + 1], facts.may_move)
        if wanted:
            rest = [op for op in ops[early : late + 1] if op not in wanted]
            ops[early : late + 1] = [*wanted, *rest]
    same = len(ops) == len(region.ops) and all(a is b for a, b in zip(ops, region.ops))
    return region if same else Region(region.params, tuple(ops), region.yields)


def _made_in(op: Op) -> Iterator[Value]:
    yield from op.results
    for region in op.regions:
        for each in region.walk():
            yield from each.results


def _needed(ops: Sequence[Op], may_move: Callable[[Op], bool]) -> list[Op]:
    """The last of ``ops`` after those that it needs, but for the first; none if it needs that, or
    one that may not move."""
    wanted: list[Op] = []
    read: set[Value] = set()
    for op in reversed(ops):
        if op is ops[-1] or not read.isdisjoint(op.results):
            if op is ops[0] or not may_move(op):
                return []
            wanted.append(op)
            read.update(uses_of(op))
    return wanted[::-1]
