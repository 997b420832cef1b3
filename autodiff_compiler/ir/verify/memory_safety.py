"""Proves memory safety: no value is read after its memory was overwritten.

The proof is an abstract interpretation. It runs the function with *locations*, numbers
that stand for memory, in place of values. It does not depend on how the writes were chosen. Forward
and backward functions use the same workspace buffers: ``residual_placements`` lists the buffers
that hold each residual, and the proof of the backward function starts from that. A write tile by
tile, or row by row, overwrites an array of the same size in the same order. A loop may read there
the rows that it has not reached yet. The same holds for slices of such an array
(``disjoint_slices.py``).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

from autodiff_compiler.ir.aliasing import (
    MemoryEffect,
    destination_of,
    is_row,
    memory_effect,
    updates_in_place,
)
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

#: A write of one iteration may affect the next, or the one after that. If carries swap arrays, more
#: iterations are run, until each array has been in every place that it reaches.
ITERATIONS = 3
NONE: frozenset[int] = frozenset()
#: Views without repeated elements, if their array has none.
SECTIONS = (
    "index",
    "tile_view",
    "after_write",
    "flip",
    "transpose",
    "swap_last_axes",
    "reshape",
    "expand_dims",
    "squeeze",
)


def check_memory_safety(
    function: Function, refuse: Callable[[str], None], placements: Sequence[Placement] = ()
) -> None:
    """Calls ``refuse`` with a reason for each unsafe write.

    A write is unsafe if the function does not own the memory, reads it later, or returns it.
    ``placements`` are those of the residuals of a backward function.
    """
    if any(destination_of(op) is not None for op in function.body.walk()):
        _MemoryInterpreter(function, lambda conflict: refuse(conflict.why), placements).check()


def conflicts(function: Function) -> list[Conflict]:
    """Lists all conflicts of the writes of ``function``, found in one run.

    After a conflict the run continues as if the write were to a copy, or the value were saved.
    """
    reported: dict[Conflict, None] = {}
    _MemoryInterpreter(function, lambda conflict: reported.setdefault(conflict)).check()
    return list(reported)


#: The row types of functions that are known to be memory-safe.
_ROWS: WeakKeyDictionary[Function, Mapping[Value, Type]] = WeakKeyDictionary()


def is_memory_safe(function: Function, own_arrays: Iterable[Value] = ()) -> bool:
    """True if no value of ``function`` is read after it was overwritten.

    In addition, all of ``own_arrays`` must be arrays as an operation made them, and no views.
    """
    reported: list[Conflict] = []
    interpreter = _MemoryInterpreter(function, reported.append)
    interpreter.check()
    if reported:
        return False
    _ROWS[function] = interpreter.rows
    return all(interpreter.rows.get(value) == value.type for value in own_arrays)


def residual_placements(forward: Function) -> tuple[Placement, ...]:
    """Lists the workspace buffers that hold each residual of a forward function."""
    packed = [op for op in forward.body.ops if forward.residuals in op.results]
    if not packed or packed[0].name != "make_tuple":
        return ()
    interpreter = _MemoryInterpreter(forward)
    interpreter.check()
    return tuple(interpreter.placement(operand) for operand in packed[0].operands)


def row_types(function: Function, placements: Sequence[Placement] = ()) -> Mapping[Value, Type]:
    """Maps arrays to the type whose rows theirs are.

    An array as an operation made it has its own type. A slice of such an array has the type of
    that array: row k of the slice lies in row k of the array. Other views have none.
    """
    if not placements and function in _ROWS:
        return _ROWS[function]
    interpreter = _MemoryInterpreter(function, placements=placements)
    interpreter.check()
    return interpreter.rows


def _tolerate(_: Conflict) -> None:
    """Refuses nothing."""


#: A loop, and the locations of its carries before the first iteration.
LoopEntry = tuple[Loop, tuple[frozenset[int], ...]]


class _MemoryInterpreter:
    """The abstract interpreter: values are sets of locations.

    Every loop is run for a few iterations, and of an ``if`` both branches are run.

    locations_of        the locations that a value may lie in now.
    occupants           the values that ever lay in a location and are not overwritten.
    overwritten         the values whose memory holds another result now.
    retired             the values removed from ``occupants``, in order, each with its location. A
                        chain of writes visits each value once.
    first_overwrite     of an overwritten value: the first write, its locations and its loops.
    sections            sections of arrays that are no views, or of such sections.
    rows                what ``row_types`` returns. A view without an entry may have repeated
                        elements, and may be read-only.
    strides             how far the index or position of a loop moves in an iteration.
    tile_of             of a tile (or a row) its start, and its array.
    partly_overwritten  the arrays that are overwritten tile by tile, with the start of the tile.
    consumed_tiles      those of them whose tile of this iteration is overwritten.

    allocation_locations  the locations of each allocation of the workspace: arrays in one
                          allocation overlap.
    allocations           the allocations of each location.
    returnable            the locations of donated allocations, which may be returned.
    residual_locations    by allocation, the location of the residuals in it: a write to the
                          allocation overwrites them.
    caller_locations      the locations of the caller's memory.
    """

    def __init__(
        self,
        function: Function,
        refuse: Callable[[Conflict], None] = _tolerate,
        placements: Sequence[Placement] = (),
    ):
        self.function, self.refuse, self.placements = function, refuse, placements
        #: The operation that runs, and the loops around it.
        self.op: Op | None = None
        self.loops: tuple[LoopEntry, ...] = ()
        self.numbers, self.slices = itertools.count(), DisjointSlices()
        self.locations_of: dict[Value, frozenset[int]] = {}
        self.occupants: defaultdict[int, set[Value]] = defaultdict(set)
        self.overwritten: set[Value] = set()
        self.retired: list[tuple[int, Value]] = []
        self.first_overwrite: dict[Value, tuple[Op, frozenset[int], tuple[LoopEntry, ...]]] = {}
        self.sections: set[AnyOperand] = set()
        self.rows: dict[Value, Type] = {}
        self.strides: dict[Value, int] = {}
        self.tile_of: dict[AnyOperand, tuple[Value, Value]] = {}
        self.partly_overwritten: dict[Value, Value] = {}
        self.consumed_tiles: set[Value] = set()
        self.allocation_locations: dict[int, frozenset[int]] = {}
        self.allocations: defaultdict[int, set[int]] = defaultdict(set)
        self.returnable: frozenset[int] = frozenset()
        self.residual_locations: dict[int, frozenset[int]] = {}

    def check(self) -> None:
        """Runs the function, and refuses each conflict."""
        body = self.function.body
        for param in body.params:
            self.define(param, self.new())
        self.caller_locations = self.all(body.params)
        if self.placements:
            for allocation in NONE.union(*(each.allocations for each in self.placements)):
                self.place(allocation, self.new())
                self.residual_locations[allocation] = self.new()
            self.lies_also_in(body.params[0], NONE.union(*self.residual_locations.values()))
        self.region(body)
        workspace = NONE.union(*self.allocation_locations.values()) - self.returnable
        for value in body.yields:
            if value is not self.function.residuals and self.all([value]) & workspace:
                self.refuse(Conflict(f"{value} is returned in memory of the workspace"))

    # ---- locations

    def placement(self, residual: AnyOperand) -> Placement:
        allocations = frozenset(self.allocations_of(self.all([residual])))
        return Placement(allocations, self.shared_rows([residual]))

    def place(self, allocation: int, locations: frozenset[int]) -> None:
        """Puts ``allocation`` in these locations, and in those that it was in."""
        self.allocation_locations[allocation] = locations
        for location in locations:
            self.allocations[location].add(allocation)

    def allocations_of(self, locations: Iterable[int]) -> set[int]:
        return set().union(
            *(self.allocations[location] for location in locations if location in self.allocations)
        )

    def new(self) -> frozenset[int]:
        return frozenset([next(self.numbers)])

    def all(self, operands: Iterable[AnyOperand]) -> frozenset[int]:
        sets = [self.locations_of[operand] for operand in operands if isinstance(operand, Value)]
        return sets[0] if len(sets) == 1 else NONE.union(*sets)

    def lies_also_in(self, value: Value, locations: frozenset[int]) -> None:
        self.locations_of[value] |= locations
        for location in locations:
            self.occupants[location].add(value)

    def define(self, value: Value, locations: frozenset[int], rows: Type | None = None) -> None:
        self.locations_of[value] = locations
        for location in locations:
            self.occupants[location].add(value)
        self.overwritten.discard(value)
        self.partly_overwritten.pop(value, None)
        self.first_overwrite.pop(value, None)
        self.tile_of.pop(value, None)
        self.consumed_tiles.discard(value)
        self.slices.forget(value)
        self.rows.pop(value, None)
        self.sections.discard(value)
        if rows is not None:
            self.rows[value] = rows

    def has_distinct_elements(self, value: AnyOperand) -> bool:
        """True if surely no two elements of an array share memory, as in a broadcast view."""
        return value in self.rows or value in self.sections

    def shared_rows(self, operands: Iterable[AnyOperand]) -> Type | None:
        """Returns the row type of all ``operands``, if they have the same."""
        types = [self.rows.get(o) if isinstance(o, Value) else None for o in operands]
        return types[0] if all(rows == types[0] for rows in types) else None

    # ---- operations

    def region(self, region: Region) -> None:
        for op in region.ops:
            self.op = op
            if op.name == "if":
                self.read(op.operands)
                self.branches(op)
            elif op.regions:
                self.read(op.operands)
                self.loop(Loop(op))
            else:
                self.plain(op)
        self.op = None
        self.read(region.yields)

    def plain(self, op: Op) -> None:
        effect = memory_effect(op)
        start = self.tile_start(effect)
        if start is not None and isinstance(op.operands[0], Value):
            self.read_tile(op.operands[0], start)
        else:
            self.read(effect.reads)
        if op.name == "after_write" and not self.all(op.operands[:1]) <= self.all(effect.shares):
            why = f"{op.operands[0]} does not lie in {op.operands[1]}, which it is to fill"
            self.refuse(Conflict(why))
        target = effect.target
        if target is not None and effect.writes and not self.write(op, target):
            self.define(op.result, self.new(), op.result.type)
        elif op.name == "item" and self.placements and op.operands[0] is self.function.params[0]:
            self.define_residual(op)
        else:
            self.define_results(op, effect)
            self.define_tile(op, start)

    def tile_start(self, effect: MemoryEffect) -> Value | None:
        """Returns the start of the tile that an operation reads.

        None if two iterations may read the same rows.
        """
        start = effect.start
        if isinstance(start, Value) and effect.rows <= self.strides.get(start, 0):
            return start
        return None

    def define_residual(self, op: Op) -> None:
        """Defines a residual, an item of the first parameter of a backward function."""
        placement = self.placements[op.attrs["key"]]
        locations = (self.residual_locations[allocation] for allocation in placement.allocations)
        self.define(op.result, self.caller_locations.union(*locations), placement.rows)

    def define_results(self, op: Op, effect: MemoryEffect) -> None:
        target, locations = effect.target, self.all(effect.shares)
        rows: Type | None = None
        if target is not None or op.name == "after_write":
            rows = self.shared_rows([op.operands[-1] if target is None else target])
        for result in op.results:
            if effect.owns and not locations and "callee" not in op.attrs:
                rows = result.type
            elif op.name == "reshape" and self.shared_rows(effect.shares) == op.types[0]:
                rows = result.type  # all of the array, in its order
            self.define(result, locations | self.new() if effect.owns else locations, rows)
        if op.name in SECTIONS and op.viewed and self.has_distinct_elements(op.viewed[0]):
            self.sections.update(op.results)

    def define_tile(self, op: Op, start: Value | None) -> None:
        """Notes that the result is a slice, a workspace buffer, or a tile."""
        if op.name == "slice_view":
            self.slice(op)
        elif op.name == "work_buffer":
            self.define_buffer(op)
        elif start is not None:
            self.tile_of[op.result] = start, op.value_operand(0)
        elif op.viewed and op.viewed[0] in self.tile_of:
            self.tile_of[op.result] = self.tile_of[op.viewed[0]]

    def define_buffer(self, op: Op) -> None:
        """Defines an array at the beginning of an allocation."""
        allocation = op.attrs["allocation"]
        locations = self.allocation_locations.get(allocation, self.locations_of[op.result])
        self.place(allocation, locations)
        self.define(op.result, locations, op.result.type)
        if op.attrs.get("donated"):
            self.returnable |= locations

    def slice(self, op: Op) -> None:
        """Gives a slice a location of its own, and adds it to all that lies in the array's
        memory."""
        array, new = op.value_operand(0), self.new()
        slice_ = AxisSlice(**op.attrs)
        divided, locations = self.slices.take(array, self.locations_of[array], slice_, *new)
        retired = {value for location, value in self.retired if location in divided}
        for value in retired.union(*(self.occupants[location] for location in divided)):
            if self.locations_of[value] & divided:
                self.lies_also_in(value, new)

        def with_new(others: frozenset[int]) -> frozenset[int]:
            return others | new if others & divided else others

        for allocation, before in list(self.allocation_locations.items()):
            self.place(allocation, with_new(before))
        residuals = self.residual_locations.items()
        self.residual_locations = {allocation: with_new(before) for allocation, before in residuals}
        self.caller_locations = with_new(self.caller_locations)
        self.returnable = with_new(self.returnable)
        self.define(op.result, locations, self.rows.get(array))

    # ---- control flow

    def branches(self, op: Op) -> None:
        """Runs both branches from one state, and joins their states.

        A value is overwritten after the ``if`` if one branch overwrites it. It also is if the
        branches overwrite different tiles.
        """
        before = set(self.overwritten), dict(self.partly_overwritten), set(self.consumed_tiles)
        overwritten, partly, consumed = set(before[0]), dict(before[1]), set(before[2])
        for inner in op.regions:
            self.overwritten = set(before[0])
            self.partly_overwritten = dict(before[1])
            self.consumed_tiles = set(before[2])
            known = len(self.retired)
            self.region(inner)
            while len(self.retired) > known:  # they are not overwritten on the other path
                location, value = self.retired.pop()
                self.occupants[location].add(value)
            overwritten |= self.overwritten
            for value, start in self.partly_overwritten.items():
                if partly.setdefault(value, start) is not start:
                    overwritten.add(value)
            consumed |= self.consumed_tiles
        self.overwritten, self.partly_overwritten = overwritten, partly
        self.consumed_tiles = consumed
        for result, *yields in zip(op.results, *(inner.yields for inner in op.regions)):
            self.define(result, self.all(yields), self.shared_rows(yields))

    def loop(self, loop: Loop) -> None:
        now = [self.all([init]) for init in loop.inits]
        ever = list(now)
        rows = [self.shared_rows([init]) for init in loop.inits]
        for stacked in loop.stacked:
            self.define(stacked, frozenset())
        done, moved, outer = 0, set[int](), self.loops
        self.loops = (*outer, (loop, tuple(now)))
        while done < ITERATIONS + len(moved):
            done += 1
            self.iteration(loop, now, rows)
            before, now = now, [self.all([value]) for value in loop.carry_yields]
            for place, locations in enumerate(now):
                if any(locations & old for at, old in enumerate(before) if at != place):
                    moved.add(place)
            ever = [a | b for a, b in zip(ever, now)]
            after = [self.shared_rows([value]) for value in loop.carry_yields]
            rows = list(map(common_rows, rows, after, loop.carry_params))
            for stacked, item in zip(loop.stacked, loop.stack_yields):
                self.lies_also_in(stacked, self.all([item]))
        for result, locations, of in zip(loop.carried, ever, rows):
            self.define(result, locations, of)
        if loop.condition is not None:  # the last test runs after the last iteration
            self.define_carries(loop.condition.params, now, rows)
            self.region(loop.condition)
        self.loops = outer
        self.define(loop.count, frozenset())
        counters = loop.position, loop.index
        partly = self.partly_overwritten.items()
        self.overwritten.update(value for value, start in partly if start in counters)

    def iteration(
        self, loop: Loop, carries: Sequence[frozenset[int]], rows: Sequence[Type | None]
    ) -> None:
        """Runs an iteration, with these locations and rows of the carries."""
        for region in loop.op.regions:  # what the test overwrites is lost for the body
            params = loop.carry_params if region is loop.body else region.params
            self.define_carries(params, carries, rows)
        for region in loop.op.regions:
            if region is loop.body:
                self.enter(loop)
            self.region(region)

    def define_carries(
        self,
        params: Sequence[Value],
        locations: Sequence[frozenset[int]],
        rows: Sequence[Type | None],
    ) -> None:
        for param, where, of in zip(params, locations, rows):
            self.define(param, where, of)

    def enter(self, loop: Loop) -> None:
        """Defines the counters of a loop, and the items that it reads."""
        leads = loop.body.params[: 1 + loop.is_for]
        for lead in leads:
            self.define(lead, NONE)
        self.strides[loop.position] = 1
        if loop.index is not None:
            self.strides[loop.index] = loop.stride
        counters = loop.position, loop.index
        partly = self.partly_overwritten
        self.consumed_tiles = {v for v in self.consumed_tiles if partly[v] not in counters}
        for param, source in zip(loop.read_params, loop.reads):
            if isinstance(source, Value) and isinstance(source.type, ArrayType):
                self.read_tile(source, loop.position)
                self.define(param, self.all([source]))
                self.tile_of[param] = loop.position, source
                if self.has_distinct_elements(source):
                    self.sections.add(param)
            else:
                self.read([source])
                self.define(param, self.all([source]))

    # ---- reads and writes

    def read(self, operands: Iterable[AnyOperand]) -> None:
        for operand in operands:
            if not isinstance(operand, Value):
                continue
            if operand in self.overwritten or operand in self.partly_overwritten:
                self.misread(operand, f"{operand} is read after it was overwritten")

    def read_tile(self, array: Value, start: Value) -> None:
        other_tile = self.partly_overwritten.get(array, start) is not start
        if other_tile or array in self.overwritten or array in self.consumed_tiles:
            self.misread(array, f"a tile of {array} is read after it was overwritten")

    def misread(self, victim: Value, why: str) -> None:
        """Refuses that ``victim`` is read.

        If the reader writes to it, the run goes on as if the victim had not been overwritten.
        """
        known = self.first_overwrite.get(victim)
        if known is None:
            return self.refuse(Conflict(why, None, victim, self.op))
        writer, locations, loops = known
        self.refuse(Conflict(why, writer, victim, self.op, entries_of(loops, locations)))
        if self.op is not None and destination_of(self.op) is victim:
            self.overwritten = self.overwritten - {victim}
            self.consumed_tiles = self.consumed_tiles - {victim}
            self.lies_also_in(victim, self.locations_of[victim])
            self.partly_overwritten.pop(victim, None)
            self.first_overwrite.pop(victim, None)

    def write(self, op: Op, target: Value) -> bool:
        """Overwrites all that lies in the memory of ``target``; False if ``op`` may not write."""
        locations = self.locations_of[target]
        why = self.objection(op, target)
        if why:
            self.refuse(Conflict(why, op, entries=entries_of(self.loops, locations)))
            return False
        start, array = self.written_tile(op, target)
        allocations = self.allocations_of(locations)
        locations = locations.union(
            *(self.residual_locations.get(allocation, NONE) for allocation in allocations)
        )
        rows = self.shared_rows([array])
        occupants: set[Value] = set().union(*(self.occupants[location] for location in locations))
        for value in occupants:
            common = self.locations_of[value] & locations
            if common:
                self.first_overwrite.setdefault(value, (op, common, self.loops))
                self.overwrite(value, start, rows)
            if value in self.overwritten or not common:
                for location in [
                    location for location in locations if value in self.occupants[location]
                ]:
                    self.occupants[location].discard(value)
                    self.retired.append((location, value))
        return True

    def objection(self, op: Op, target: Value) -> str:
        """Returns why ``op`` may not write to ``target``; empty if it may."""
        if self.locations_of[target] & self.caller_locations:
            return f"{op.result} is written over {target}, which is the caller's"
        if target not in self.rows and (updates_in_place(op) or target not in self.sections):
            return f"{target}, which is written to, may be a view"
        if target.type != op.result.type:
            return f"{op.result} does not fit over {target}"
        return ""

    def written_tile(self, op: Op, target: Value) -> tuple[Value | None, Value]:
        """Returns the start of the tile that ``op`` writes, and its array.

        The start is None if ``op`` writes all of ``target``.
        """
        start: AnyOperand
        if is_row(op):
            start, array = op.operands[-1], target
        else:
            start, array = self.tile_of.get(target, (None, target))
        if isinstance(start, Value) and self.strides.get(start):
            return start, array
        return None, target

    def overwrite(self, value: Value, start: Value | None, rows: Type | None) -> None:
        """Marks ``value`` as overwritten, or its tile that begins at ``start``.

        Tiles that begin at one place overlap only each other in arrays with the same ``rows``.
        """
        if start is None or not in_step(rows, self.rows.get(value)):
            self.overwritten.add(value)
        elif self.partly_overwritten.setdefault(value, start) is start:
            self.consumed_tiles.add(value)
        else:
            self.overwritten.add(value)
