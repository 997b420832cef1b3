"""Large arrays in memory that is there already: dead ones written over, and arrays that are lent.

New memory costs more than arithmetic: the machine hands it out page by page, each one cleared. So
a large result goes into an operand that nothing reads any more (``np.exp(u, out=u)``), else into
the memory of any array that is dead, else into one of the work arrays that a caller may lend
(``work``, which is None for each where nobody lends any). What a caller receives is in no memory
that is lent again: a result that ends up in a block takes it along. Residuals live until backward
has run; it works where those were that it reads no more. A loop over tiles puts what it makes where
it takes tiles for the last time. The law is ``ir/verify/memory_safety.py``'s.

This is the last pass: nothing is differentiated after it. It looks at results of known size, from
``large_bytes`` on, and from ``medium_bytes`` where an operand has a variable of its own: those are
kept as long as a text runs. What an iteration or a branch hands on is left in memory of its own.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[99999]) -> (f32[99999]) {
...   %u: f32[99999] = sin %x
...   %v: f32[99999] = exp %u
...   %y: f32[99999] = mul %v, %u
...   return %y
... }
... ''')
>>> print(print_function(assign_buffers(before).function), end='')
func @f(%x: f32[99999], %work: (f32[99999], f32[99999])) -> (f32[99999]) {
  %buffer: f32[99999] = lent %work {block=0, key=0}
  %buffer.1: f32[99999] = lent %work {block=1, given=True, key=1}
  %u: f32[99999] = into %x, %buffer {text='np.sin({0}, out={1})'}
  %v: f32[99999] = into %u, %buffer.1 {text='np.exp({0}, out={1})'}
  %y: f32[99999] = into %v, %u, %v {text='np.multiply({0}, {1}, out={2})'}
  return %y
}
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.aliasing import alias_sets
from autodiff_compiler.ir.nodes import Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_regions, uses_of
from autodiff_compiler.ir.types import NONE, TupleType, Type, size_of
from autodiff_compiler.ir.verify.conflicts import Placement
from autodiff_compiler.ir.verify.memory_safety import residual_placements, row_types
from autodiff_compiler.operators.destination_ops import into, lent
from autodiff_compiler.passes.core.traversal import with_body
from autodiff_compiler.passes.destinations.operation_calls import (
    DestinationCall,
    allocate_text,
    destination_calls,
    fill_in_place,
    without_order,
)
from autodiff_compiler.passes.memory.buffer_pool import BufferPool
from autodiff_compiler.passes.schedule.decompose import BEGUN
from autodiff_compiler.passes.schedule.tile_elementwise import arrays_taken
from autodiff_compiler.span import NOWHERE

#: What an array says of its block if a result takes that along.
ONCE = {True: {"given": True}}


@dataclass(frozen=True)
class BufferPlan:
    """``work`` are the arrays to lend, each with the block of memory that it begins; ``blocks`` the
    bytes of all blocks so far; ``given`` the blocks that results take along; ``kept`` says in which
    blocks the residuals lie."""

    function: Function
    work: tuple[tuple[int, Type], ...] = ()
    blocks: tuple[int, ...] = ()
    given: frozenset[int] = frozenset()
    kept: tuple[Placement, ...] = ()


def assign_buffers(
    function: Function, lends: bool = True, forward: BufferPlan | None = None
) -> BufferPlan:
    """``function`` with large results in memory that is there; a called one is lent nothing, a
    backward half the blocks of its ``forward``."""
    body, before = function.body, forward or BufferPlan(function)
    least = min(costs().large_bytes, costs().medium_bytes)
    if not any(size_of(value.type) >= least for op in body.walk() for value in op.results):
        return BufferPlan(function, blocks=before.blocks)
    held = {block: Value(NONE, "kept") for place in before.kept for block in place.blocks}
    lying = {
        op.result: frozenset(held[block] for block in before.kept[op.attrs["key"]].blocks)
        for op in body.ops if held and op.name == "item" and op.operands[0] is body.params[0]
    }  # fmt: skip
    lying = {value: lies for value, lies in lying.items() if lies}
    memory = BufferPool(alias_sets(body, lying), row_types(function, before.kept), lends)
    memory.begin(before.blocks, held)
    kept = [function.residuals] if lends and isinstance(function.residuals, Value) else []
    plan = _BufferAssigner(memory, body, kept, gives=lends and function.residuals is None)
    for cell in held.values():
        if cell not in plan.escaping:
            plan.ends_at(plan.last.get(cell, -1), cell)
    body = plan.rewritten()
    work = tuple((block, type_) for block, type_ in memory.buffers)
    if body is function.body:
        return BufferPlan(function, blocks=before.blocks)
    if work:
        given = Value(TupleType(tuple(type_ for _, type_ in work)), "work")
        opened = [
            Op(lent, (given,), {"key": key, "block": block, **ONCE.get(block in memory.given, {})},
               (value,), NOWHERE, "primal")
            for key, ((block, _), value) in enumerate(memory.buffers.items())
        ]  # fmt: skip
        body = Region((*body.params, given), (*opened, *body.ops), body.yields)
    function = with_body(function, body)
    found = residual_placements(function) if kept else ()
    return BufferPlan(function, work, tuple(memory.blocks), frozenset(memory.given), found)


class _BufferAssigner:
    """Goes through a region, knowing at each place what is dead. What it yields is not, but for
    ``residuals``, which may lie in lent memory; where the plan ``gives``, a block goes with it."""

    def __init__(
        self,
        memory: BufferPool,
        region: Region,
        residuals: Sequence[Value] = (),
        gives: bool = False,
    ):
        self.memory, self.region, self.gives = memory, region, gives
        self.made = {value: op for op in region.ops for value in op.results}
        self.reads: Counter[Value] = Counter()
        self.last: dict[Value, int] = {}
        for place, op in enumerate(region.ops):
            inner = [v for region in op.regions for each in region.walk() for v in uses_of(each)]
            read = [*uses_of(op), *inner]
            self.reads.update(read)
            self.note(read, place)
        self.note(residuals, len(region.ops))
        #: What was made here and put in memory, by where it is read last.
        self.ends: list[tuple[int, int, Value]] = []
        self.count = itertools.count()
        #: What was put into memory that was there, and operations that have a line for that.
        self.written: set[Value] = set()
        self.settled: set[Op] = set()
        self.reached = 0
        #: Cells whose memory a loop fills anew: no second array goes there.
        self.taken: set[Value] = set()
        #: Cells that outlive the region in somebody's hands.
        self.escaping: set[Value] = set()
        #: Cells that backward reads: in a block that is lent it may work there after.
        self.kept = {cell for value in residuals for cell in memory.cells(value)}
        for value in region.yields:
            if value not in residuals:
                self.escaping |= memory.cells(value)

    def note(self, values: Sequence[Value], place: int) -> None:
        for value in values:
            for cell in self.memory.cells(value):
                self.last[cell] = place

    def rewritten(self) -> Region:
        """The region with writes to memory; the same object where there are none."""
        ops: list[Op] = []
        for place, op in enumerate(self.region.ops):
            self.release(place)
            ops += self.visit(place, map_regions(op, self.inside))
        self.release(len(self.region.ops))
        if all(a is b for a, b in zip(ops, self.region.ops)):
            return self.region
        return Region(self.region.params, tuple(ops), self.region.yields)

    def ends_at(self, place: int, cell: Value) -> None:
        """Notes that ``cell`` is read at ``place`` for the last time."""
        heapq.heappush(self.ends, (place, next(self.count), cell))

    def release(self, place: int) -> None:
        """Frees the lent arrays of what was made here and is not read from ``place`` on."""
        while self.ends and self.ends[0][0] < place:
            _, _, cell = heapq.heappop(self.ends)
            if cell in self.memory.slots:
                self.memory.release(cell)

    def inside(self, region: Region) -> Region:
        """A region within, whose values are seen in it alone."""
        holders, taken = dict(self.memory.holders), set(self.memory.slots)
        found = _BufferAssigner(self.memory, region).rewritten()
        for cell in set(self.memory.slots) - taken:
            self.memory.release(cell)
        self.memory.holders = holders
        return found

    def visit(self, place: int, op: Op) -> Sequence[Op]:
        """What stands for ``op``."""
        if op.opdef is into and self.memory.cells(op.operands[-1]) & self.memory.unordered:
            return (replace(op, attrs={"text": without_order(op.attrs["text"])}),)
        pieces, lends = _pieces(op), self.memory.lends
        escapes = not pieces or op.result in self.escaping
        large = bool(pieces) and size_of(op.result.type) >= costs().large_bytes
        lends = lends and large
        gives = lends and escapes and self.gives
        if not pieces or len(pieces) > 1 and not gives and (escapes or not lends):
            return (op,)
        targets: list[Value] = []
        made: list[Op] = []
        for number, piece in enumerate(pieces):
            later = {v for after in pieces[number + 1 :] for v in after.arguments}
            user = None if large else op
            out = escapes and piece.result is op.result
            target = self.in_place(piece, place, later, out, user)
            if op.name == "empty":
                target = self.in_tiles(op.result, place, out)
            if target is None and gives and out:
                target = self.memory.give(piece.result, or_new=len(pieces) > 1)
            elif target is None and lends and not out:
                target = self.memory.take(piece.result)
            if target is None:
                return (op,)
            if piece.result is not op.result:
                self.last[piece.result] = place  # a temporary
            self.ends_at(self.last.get(piece.result, place), piece.result)
            if op.name in BEGUN and target not in self.memory.buffers.values():
                pieces = [replace(piece, text="{0}")]  # memory that is surely there
                self.memory.unordered |= self.memory.cells(op.result)
            elif piece.needs_memory and target in self.memory.buffers.values():
                made.append(self.made_sure(op, target))
                target = made[-1].result
            targets.append(target)
            self.written.add(piece.result)
        # Before a statement that writes, whatever waited for its user has become one.
        self.settled.update(self.region.ops[self.reached : place])
        self.reached = place
        if op.name == "full":
            return fill_in_place(op, pieces[0].text, targets[0])
        return made + [
            replace(op, opdef=into, operands=(*piece.arguments, target), attrs={"text": piece.text},
                    results=(piece.result,))
            for piece, target in zip(pieces, targets)
        ]  # fmt: skip

    def made_sure(self, op: Op, buffer: Value) -> Op:
        """The array of a block for the result of ``op``, or a new one where none is lent."""
        attrs = {"text": allocate_text(buffer.type)}
        return replace(op, opdef=into, operands=(buffer,), attrs=attrs,
                       results=(Value(buffer.type, "memory"),))  # fmt: skip

    def has_line(self, operand: Value, user: Op) -> bool:
        """Whether ``operand`` has a line of its own, and is not written inside ``user``."""
        maker = self.made.get(operand)
        if (
            maker is None
            or operand.has_user_name
            or self.reads[operand] > 1
            or operand in self.written
        ):
            return True
        apart = (maker.span.file, maker.span.line) != (user.span.file, user.span.line)
        return apart or maker in self.settled

    def in_tiles(self, made: Value, place: int, escapes: bool) -> Value | None:
        """Memory for what a loop fills: of an array of which it takes the same tiles, and nobody
        anything later."""
        after = enumerate(self.region.ops[place + 1 :], place + 1)
        found = next(((at, op) for at, op in after if made in op.operands), None)
        if found is None or found[1].name != "for" or escapes and not self.gives:
            return None
        at, loop = found[0], Loop(found[1])
        taken = arrays_taken(loop, loop.inits.index(made), self.memory.lies)
        for array in taken:
            (cell, *others) = self.memory.cells(array)
            rows = self.memory.rows
            fits = rows.get(array) == made.type and not others
            fits = fits and all(rows.get(each) == made.type for each in taken
                                if cell in self.memory.cells(each))  # fmt: skip
            fits = fits and cell not in self.taken
            # What was made around this region is read again: the region may be a loop's.
            fits = fits and (cell in self.made or self.is_kept(array, made.type))
            if not fits or self.last.get(cell) != at or cell in self.escaping:
                continue
            if cell not in self.memory.slots:
                target = array if cell is array and cell in self.made else None
            elif escapes:
                target = self.memory.give(made, cell)
            else:
                target = self.memory.put(made, self.memory.slots.pop(cell))
            if target is not None:
                self.taken.add(cell)
                return target
        return None

    def is_kept(self, array: Value, rows: Type) -> bool:
        """Whether ``array`` is a residual that lies in the rows of such an array: nothing may be
        written over it by name, but into its block, where there is one; in the outermost region,
        which runs once."""
        maker = self.made.get(array)
        is_item = maker is not None and maker.name == "item"
        return self.gives and is_item and self.memory.rows.get(array) == rows

    def in_place(
        self, piece: DestinationCall, place: int, later: set[Any], escapes: bool, user: Op | None
    ) -> Value | None:
        """An argument that may be written over; its memory is the result's from now on. For a
        ``user`` it must have a line of its own."""
        for argument in piece.arguments if piece.in_place else ():
            if not isinstance(argument, Value) or argument.type != piece.result.type:
                continue
            # The very array that an operation made: a view may be stretched, and read-only.
            (cell, *others) = self.memory.cells(argument) or (argument,)
            owned = self.memory.rows.get(argument) == argument.type and not others
            owned = owned and cell in self.made and cell not in self.escaping
            dead = self.last.get(cell, place) <= place and not any(
                cell == v or cell in self.memory.cells(v) for v in later
            )
            temporary = argument not in self.memory.lies and argument not in later
            is_lent = cell in self.memory.slots
            kept = is_lent and dead and not others and cell not in self.escaping
            kept = kept and self.is_kept(argument, argument.type)
            if not (owned and dead or temporary or kept):
                continue
            if user is not None and not self.has_line(argument, user):
                continue
            if user is None and self.memory.lends and not is_lent and piece.result in self.kept:
                continue
            if is_lent and escapes:
                target = self.memory.give(piece.result, cell) if self.gives else None
                if target is not None:
                    return target
                continue
            if kept:
                return self.memory.put(piece.result, self.memory.slots.pop(cell))
            self.memory.hand_on(cell, piece.result)
            return argument
        return None


def _pieces(op: Op) -> list[DestinationCall]:
    """The calls that ``op`` is made of, if its result is large and each can be told where to put
    what it makes."""
    begun = op.name in BEGUN and type(op.attrs.get("value", 0)) in (int, float)
    if begun and not op.operands and size_of(op.result.type) >= costs().large_bytes:
        return [DestinationCall(allocate_text(op.result.type), (), op.result, False)]
    if op.regions or len(op.results) != 1 or op.opdef in (into, lent):
        return []
    if op.opdef.kind in ("control", "container"):
        return []
    if size_of(op.result.type) < min(costs().large_bytes, costs().medium_bytes) or op.opdef.views:
        return []
    if any(getattr(type_, "dtype", None) == "bfloat16" for type_ in (*op.types, op.result.type)):
        return []  # computed with in float32, and rounded: more than NumPy's own call
    return destination_calls(op)
