"""The proof that nobody minds what is written over.

It walks the program as it runs, and no value is read after the memory it may lie in was given to
another result. It does not ask how the writes were chosen. Forward and backward work in the same
lent blocks: ``residual_placements`` tells in which of them each residual lies, and backward is held
to that. An array that is written tile by tile spoils one of its size tile by tile, or row by row,
so that a loop may read there what it has not yet come to. So do lanes of such an array
(``disjoint_slices.py``).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

from autodiff_compiler.ir.aliasing import destination_of, is_row, memory_effect, updates_in_place
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.types import ArrayType, Type
from autodiff_compiler.ir.verify.conflicts import (
    Conflict,
    Placement,
    common_rows,
    entries_of,
    in_step,
)
from autodiff_compiler.ir.verify.disjoint_slices import AxisSlice, DisjointSlices

#: What one iteration spoils the next may read, or the one after; and where arrays change places,
#: it takes as many more until each has been in every place that it comes to.
ITERATIONS = 3
NONE: frozenset[int] = frozenset()
#: Views that are not stretched where their array is not.
SECTIONS = (
    "index", "part", "filled", "flip", "transpose", "swap_last_axes", "reshape", "expand_dims",
    "squeeze",
)  # fmt: skip


def check_memory_safety(
    function: Function, refuse: Callable[[str], None], kept: Sequence[Placement] = ()
) -> None:
    """Says why to ``refuse`` where a write into memory finds it not owned, still read, or returned
    to a user. ``kept`` are the places of what the residuals of a backward half hold."""
    if any(destination_of(op) is not None for op in function.body.walk()):
        _MemoryInterpreter(function, lambda conflict: refuse(conflict.why), kept).check()


def conflicts(function: Function) -> list[Conflict]:
    """All that hinders the writes of ``function``, found in one run: a write into what is not its
    own is taken for one into a copy, and so are two writes that one value is kept from."""
    found: dict[Conflict, None] = {}
    _MemoryInterpreter(function, lambda conflict: found.setdefault(conflict)).check()
    return list(found)


#: What ``row_types`` says of functions that were found sound.
_ROWS: WeakKeyDictionary[Function, Mapping[Value, Type]] = WeakKeyDictionary()


def is_memory_safe(function: Function, whole: Iterable[Value] = ()) -> bool:
    """Whether nothing is read in ``function`` after it was overwritten, and all of ``whole`` are
    arrays as an operation made them, and no views."""
    against: list[Conflict] = []
    found = _MemoryInterpreter(function, against.append)
    found.check()
    if against:
        return False
    _ROWS[function] = found.rows
    return all(found.rows.get(value) == value.type for value in whole)


def residual_placements(forward: Function) -> tuple[Placement, ...]:
    """Where in lent memory each residual of a forward half lies."""
    packed = [op for op in forward.body.ops if forward.residuals in op.results]
    if not packed or packed[0].name != "make_tuple":
        return ()
    found = _MemoryInterpreter(forward)
    found.check()
    return tuple(found.place(operand) for operand in packed[0].operands)


def row_types(function: Function, kept: Sequence[Placement] = ()) -> Mapping[Value, Type]:
    """For what is an array as an operation made it its type; for a lane of such an array the type
    of that, in whose row k lies row k of the lane. Other views have none."""
    if not kept and function in _ROWS:
        return _ROWS[function]
    found = _MemoryInterpreter(function, kept=kept)
    found.check()
    return found.rows


def _tolerate(_: Conflict) -> None:
    """Refuses nothing."""


class _MemoryInterpreter:
    """Runs a function with pieces of memory for values: every loop for a few iterations, both
    branches of an ``if``. ``where`` are the pieces that a value may lie in now, ``stale`` the
    values that lie where another result was put since."""

    def __init__(
        self,
        function: Function,
        refuse: Callable[[Conflict], None] = _tolerate,
        kept: Sequence[Placement] = (),
    ):
        self.function, self.refuse, self.kept = function, refuse, kept
        #: The operation that runs, and the loops around it with the pieces that they began with.
        self.now: Op | None = None
        self.around: tuple[tuple[Loop, tuple[frozenset[int], ...]], ...] = ()
        #: What overwrote each value first, in which pieces, and the loops around that.
        self.spoilt: dict[Value, tuple[Op, frozenset[int], tuple]] = {}
        self.pieces, self.lanes = itertools.count(), DisjointSlices()
        self.where: dict[Value, frozenset[int]] = {}
        #: The values that ever lay in each piece, and are not stale: who to ask when it is written
        #: to. Those that went are ``retired``, in order: a chain of writes asks each value once.
        self.tenants: defaultdict[int, set[Value]] = defaultdict(set)
        self.retired, self.stale = list[tuple[int, Value]](), set[Value]()
        #: Sections of arrays that are no views, or of such sections.
        self.sections: set[Value] = set()
        #: What ``row_types`` tells: a view, which has none, may be stretched, and read-only.
        self.rows: dict[Value, Type] = {}
        #: The piece of each block that is lent: arrays of one block are in one another's way.
        self.lent: dict[int, frozenset[int]] = {}
        self.blocks: defaultdict[int, set[int]] = defaultdict(set)  # by piece
        #: The pieces of blocks that are lent once, and may be returned.
        self.given: frozenset[int] = frozenset()
        #: And the piece that what forward kept there lies in: spoilt by a write to the block.
        self.held: dict[int, frozenset[int]] = {}
        #: How far a loop goes at a time, by its index and position; of a tile (or a row) the start
        #: and the array; where an array is overwritten tile by tile, at which start; and if its
        #: tile there is already.
        self.steps: dict[Value, int] = {}
        self.tile_of: dict[Value, tuple[Value, Value]] = {}
        self.partly: dict[Value, Value] = {}
        self.spent: set[Value] = set()

    def check(self) -> None:
        body = self.function.body
        for param in body.params:
            self.define(param, self.new())
        self.foreign = self.all(body.params)
        if self.kept:
            for block in NONE.union(*(place.blocks for place in self.kept)):
                self.lend(block, self.new())
                self.held[block] = self.new()
            self.lies_too(body.params[0], NONE.union(*self.held.values()))
        self.region(body)
        lent = NONE.union(*self.lent.values()) - self.given
        for value in body.yields:
            if value is not self.function.residuals and self.all([value]) & lent:
                self.refuse(Conflict(f"{value} is returned in memory that is only lent"))

    def place(self, residual: AnyOperand) -> Placement:
        blocks = frozenset(self.blocks_of(self.all([residual])))
        return Placement(blocks, self.shared_rows([residual]))

    def lend(self, block: int, pieces: frozenset[int]) -> None:
        """``block`` is in these pieces, and in those that it was in."""
        self.lent[block] = pieces
        for piece in pieces:
            self.blocks[piece].add(block)

    def blocks_of(self, pieces: Iterable[int]) -> set[int]:
        return set().union(*(self.blocks[piece] for piece in pieces if piece in self.blocks))

    def new(self) -> frozenset[int]:
        return frozenset([next(self.pieces)])

    def all(self, operands: Iterable[AnyOperand]) -> frozenset[int]:
        found = [self.where[operand] for operand in operands if isinstance(operand, Value)]
        return found[0] if len(found) == 1 else NONE.union(*found)

    def lies_too(self, value: Value, pieces: frozenset[int]) -> None:
        self.where[value] |= pieces
        for piece in pieces:
            self.tenants[piece].add(value)

    def define(self, value: Value, pieces: frozenset[int], rows: Type | None = None) -> None:
        self.where[value] = pieces
        for piece in pieces:
            self.tenants[piece].add(value)
        self.stale.discard(value)
        self.partly.pop(value, None)
        self.spoilt.pop(value, None)
        self.tile_of.pop(value, None)
        self.spent.discard(value)
        self.lanes.forget(value)
        self.rows.pop(value, None)
        self.sections.discard(value)
        if rows is not None:
            self.rows[value] = rows

    def lies_apart(self, value: AnyOperand) -> bool:
        """Whether no two elements of an array are surely in one place: a view may be stretched."""
        return value in self.rows or value in self.sections

    def shared_rows(self, operands: Iterable[AnyOperand]) -> Type | None:
        """The rows of all ``operands``, if they are the same."""
        first, *others = map(self.rows.get, operands)  # type: ignore[arg-type]
        return first if all(rows == first for rows in others) else None

    def region(self, region: Region) -> None:
        for op in region.ops:
            self.now = op
            if op.name == "if":
                self.read(op.operands)
                self.branches(op)
            elif op.regions:
                self.read(op.operands)
                self.loop(Loop(op))
            else:
                self.plain(op)
        self.now = None
        self.read(region.yields)

    def plain(self, op: Op) -> None:
        step = memory_effect(op)
        target, start = step.target, step.start
        # No two iterations take the same rows.
        if isinstance(start, Value) and step.rows > self.steps.get(start, 0):
            start = None
        if isinstance(start, Value) and isinstance(op.operands[0], Value):
            self.read_tile(op.operands[0], start)
        else:
            self.read(step.reads)
        pieces = self.all(step.shares)
        if op.name == "filled" and not self.all(op.operands[:1]) <= pieces:
            why = f"{op.operands[0]} does not lie in {op.operands[1]}, which it is to fill"
            self.refuse(Conflict(why))
        if target is not None and step.writes and not self.write(op, target):
            return self.define(op.result, self.new(), op.result.type)
        rows: Type | None = None
        if target is not None or op.name == "filled":
            rows = self.shared_rows([op.operands[-1] if target is None else target])
        if op.name == "item" and self.kept and op.operands[0] is self.function.params[0]:
            place = self.kept[op.attrs["key"]]
            held = (self.held[block] for block in place.blocks)
            return self.define(op.result, self.foreign.union(*held), place.rows)
        for result in op.results:
            if step.owns and not pieces and "callee" not in op.attrs:
                rows = result.type
            elif op.name == "reshape" and self.shared_rows(step.shares) == op.types[0]:
                rows = result.type  # all of the array, in its order
            self.define(result, pieces | self.new() if step.owns else pieces, rows)
        if op.name in SECTIONS and op.viewed and self.lies_apart(op.viewed[0]):
            self.sections.update(op.results)
        if op.name == "lane":
            self.lane(op)
        elif op.name == "lent":
            pieces = self.lent.get(op.attrs["block"], self.where[op.result])
            self.lend(op.attrs["block"], pieces)
            self.define(op.result, pieces, op.result.type)
            self.given |= pieces if op.attrs.get("given") else NONE
        elif isinstance(start, Value):
            self.tile_of[op.result] = start, op.operands[0]  # type: ignore[assignment]
        elif op.viewed and op.viewed[0] in self.tile_of:
            self.tile_of[op.result] = self.tile_of[op.viewed[0]]

    def lane(self, op: Op) -> None:
        """What lies in the memory of the array lies in the lane as well, from now on."""
        array, own = op.operands[0], self.new()
        assert isinstance(array, Value)
        divided, lies = self.lanes.take(array, self.where[array], AxisSlice(**op.attrs), *own)
        gone = {value for piece, value in self.retired if piece in divided}
        for value in gone.union(*(self.tenants[piece] for piece in divided)):
            if self.where[value] & divided:
                self.lies_too(value, own)

        def more(pieces: frozenset[int]) -> frozenset[int]:
            return pieces | own if pieces & divided else pieces

        for block, lent in list(self.lent.items()):
            self.lend(block, more(lent))
        self.held = {block: more(pieces) for block, pieces in self.held.items()}
        self.foreign, self.given = more(self.foreign), more(self.given)
        self.define(op.result, lies, self.rows.get(array))

    def branches(self, op: Op) -> None:
        """One of them runs, after which what any of them spoils is spoilt, and what they spoil in
        different steps altogether."""
        before = self.stale, self.partly, self.spent
        stale, partly, spent = set(self.stale), dict(self.partly), set(self.spent)
        for inner in op.regions:
            self.stale, self.partly, self.spent = set(before[0]), dict(before[1]), set(before[2])
            known = len(self.retired)
            self.region(inner)
            while len(self.retired) > known:  # on the other way they are not stale
                piece, value = self.retired.pop()
                self.tenants[piece].add(value)
            stale |= self.stale
            stale.update(v for v, at in self.partly.items() if partly.setdefault(v, at) is not at)
            spent |= self.spent
        self.stale, self.partly, self.spent = stale, partly, spent
        for result, *yields in zip(op.results, *(inner.yields for inner in op.regions)):
            self.define(result, self.all(yields), self.shared_rows(yields))

    def loop(self, loop: Loop) -> None:
        now = [self.all([init]) for init in loop.inits]
        ever = list(now)
        rows = [self.shared_rows([init]) for init in loop.inits]
        for stacked in loop.stacked:
            self.define(stacked, frozenset())
        done, moved, around = 0, set[int](), self.around
        self.around = (*around, (loop, tuple(now)))
        while done < ITERATIONS + len(moved):
            done += 1
            for region in loop.op.regions:
                params = loop.carry_params if region is loop.body else region.params
                for param, pieces, of in zip(params, now, rows):
                    self.define(param, pieces, of)
                if region is loop.body:
                    self.enter(loop)
                self.region(region)
            before, now = now, [self.all([value]) for value in loop.carry_yields]
            for place, pieces in enumerate(now):
                if any(pieces & old for at, old in enumerate(before) if at != place):
                    moved.add(place)
            ever = [a | b for a, b in zip(ever, now)]
            after = [self.shared_rows([value]) for value in loop.carry_yields]
            rows = list(map(common_rows, rows, after, loop.carry_params))
            for stacked, item in zip(loop.stacked, loop.stack_yields):
                self.lies_too(stacked, self.all([item]))
        self.around = around
        for result, pieces, of in zip(loop.carried, ever, rows):
            self.define(result, pieces, of)
        self.define(loop.count, frozenset())
        counts = loop.position, loop.index
        self.stale.update(value for value, at in self.partly.items() if at in counts)

    def enter(self, loop: Loop) -> None:
        leads = loop.body.params[: 1 + loop.is_for]
        for lead in leads:
            self.define(lead, NONE)
        self.steps[loop.position] = 1
        if loop.index is not None:
            self.steps[loop.index] = loop.stride
        counts = loop.position, loop.index
        self.spent = {value for value in self.spent if self.partly[value] not in counts}
        for param, source in zip(loop.read_params, loop.reads):
            if isinstance(source, Value) and isinstance(source.type, ArrayType):
                self.read_tile(source, loop.position)
                self.define(param, self.all([source]))
                self.tile_of[param] = loop.position, source
                if self.lies_apart(source):
                    self.sections.add(param)
            else:
                self.read([source])
                self.define(param, self.all([source]))

    def read(self, operands: Iterable[AnyOperand]) -> None:
        for operand in operands:
            if isinstance(operand, Value) and (operand in self.stale or operand in self.partly):
                self.misread(operand, f"{operand} is read after it was overwritten")

    def read_tile(self, array: Value, start: Value) -> None:
        late = self.partly.get(array, start) is not start
        if late or array in self.stale or array in self.spent:
            self.misread(array, f"a tile of {array} is read after it was overwritten")

    def misread(self, victim: Value, why: str) -> None:
        """Refuses that ``victim`` is read, and takes it for saved where that is written to."""
        known = self.spoilt.get(victim)
        if known is None:
            return self.refuse(Conflict(why, None, victim, self.now))
        writer, pieces, around = known
        self.refuse(Conflict(why, writer, victim, self.now, entries_of(around, pieces)))
        if self.now is not None and destination_of(self.now) is victim:
            self.stale, self.spent = self.stale - {victim}, self.spent - {victim}
            self.lies_too(victim, self.where[victim])
            self.partly.pop(victim, None)
            self.spoilt.pop(victim, None)

    def write(self, op: Op, target: Value) -> bool:
        """Spoils what lies where ``op`` writes; False where it may not write there."""
        pieces = self.where[target]
        why = ""
        if pieces & self.foreign:
            why = f"{op.result} is written over {target}, which is the caller's"
        elif target not in self.rows and (updates_in_place(op) or target not in self.sections):
            why = f"{target}, which is written to, may be a view"
        elif target.type != op.result.type:
            why = f"{op.result} does not fit over {target}"
        if why:
            self.refuse(Conflict(why, op, entries=entries_of(self.around, pieces)))
            return False
        tile = (op.operands[-1], target) if is_row(op) else self.tile_of.get(target)
        start, array = tile if tile and self.steps.get(tile[0]) else (None, target)  # type: ignore[arg-type]
        pieces = pieces.union(*(self.held.get(block, NONE) for block in self.blocks_of(pieces)))
        rows = self.shared_rows([array])
        met: set[Value] = set().union(*(self.tenants[piece] for piece in pieces))
        for value in met:
            if common := self.where[value] & pieces:
                self.spoilt.setdefault(value, (op, common, self.around))
                # Arrays of one size that begin at one place: their tiles do so, too.
                fits = isinstance(start, Value) and in_step(rows, self.rows.get(value))
                if fits and self.partly.setdefault(value, start) is start:  # type: ignore[arg-type]
                    self.spent.add(value)
                else:
                    self.stale.add(value)
            if value in self.stale or not common:
                for piece in [piece for piece in pieces if value in self.tenants[piece]]:
                    self.tenants[piece].discard(value)
                    self.retired.append((piece, value))
        return True
