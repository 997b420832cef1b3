"""Buffer assignment by linear scan: large results reuse dead arrays and workspace buffers.

New memory costs more than arithmetic: the system maps it page by page, each one cleared. A large
result goes into an operand that is dead afterwards (``np.exp(u, out=u)``), else into the memory of
any dead array. Otherwise it goes into a workspace buffer that a caller may pass: ``work``, whose
items are None if it passes none. A result never lies in a buffer of the next call: an allocation in
which it ends up is donated with it. Residuals live until backward has run; backward reuses the
allocations of those that it reads no more. A loop over tiles writes its results where it takes
tiles for the last time. ``ir/verify/memory_safety.py`` states the law.

This is the last pass: nothing is differentiated after it. It handles results of known size from
``large_bytes`` on. From ``medium_bytes`` on it handles results with an operand that has a variable
of its own. A variable lives as long as the function runs. The values that an iteration or a branch
yields stay in memory of their own.

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
  %buffer: f32[99999] = work_buffer %work {allocation=0, key=0}
  %buffer.1: f32[99999] = work_buffer %work {allocation=1, donated=True, key=1}
  %u: f32[99999] = compute_into %x, %buffer {text='np.sin({0}, out={1})'}
  %v: f32[99999] = compute_into %u, %buffer.1 {text='np.exp({0}, out={1})'}
  %y: f32[99999] = compute_into %v, %u, %v {text='np.multiply({0}, {1}, out={2})'}
  return %y
}
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.aliasing import AliasSet, alias_sets
from autodiff_compiler.ir.nodes import Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_regions, uses_of
from autodiff_compiler.ir.types import NONE, TupleType, Type, size_of
from autodiff_compiler.ir.verify.conflicts import Placement
from autodiff_compiler.ir.verify.memory_safety import residual_placements, row_types
from autodiff_compiler.operators.destination_ops import compute_into, work_buffer
from autodiff_compiler.passes.core.traversal import with_body, with_ops
from autodiff_compiler.passes.destinations.operation_calls import (
    DestinationCall,
    allocate_text,
    destination_calls,
    fill_in_place,
    without_order,
)
from autodiff_compiler.passes.memory.buffer_pool import BufferPool
from autodiff_compiler.passes.schedule.decompose import ALLOCATIONS
from autodiff_compiler.passes.schedule.tile_elementwise import consumed_arrays
from autodiff_compiler.span import NOWHERE


@dataclass(frozen=True)
class BufferPlan:
    """A function with its buffers assigned.

    work         the workspace buffers, each with the number of the allocation that it begins
    allocations  the bytes of all allocations so far
    donated      the allocations that are donated with results
    placements   the allocations in which the residuals lie
    """

    function: Function
    work: tuple[tuple[int, Type], ...] = ()
    allocations: tuple[int, ...] = ()
    donated: frozenset[int] = frozenset()
    placements: tuple[Placement, ...] = ()


def assign_buffers(
    function: Function, uses_workspace: bool = True, forward: BufferPlan | None = None
) -> BufferPlan:
    """Assigns buffers to the large results of ``function``.

    A callee gets no workspace. A backward function gets the allocations of ``forward``.
    """
    body, before = function.body, forward or BufferPlan(function)
    unchanged = BufferPlan(function, allocations=before.allocations)
    least = min(costs().large_bytes, costs().medium_bytes)
    if not any(size_of(value.type) >= least for op in body.walk() for value in op.results):
        return unchanged
    saved = {
        allocation: Value(NONE, "saved")
        for place in before.placements
        for allocation in place.allocations
    }
    aliases = alias_sets(body, _residual_aliases(body, before.placements, saved))
    pool = BufferPool(aliases, row_types(function, before.placements), uses_workspace)
    pool.begin(before.allocations, saved)
    residuals = (
        [function.residuals] if uses_workspace and isinstance(function.residuals, Value) else []
    )
    donates = uses_workspace and function.residuals is None
    assigner = _BufferAssigner(pool, body, residuals, donates)
    assigner.note_last_uses(saved.values())
    body = assigner.rewritten()
    if body is function.body:
        return unchanged
    function = with_body(function, _with_workspace(body, pool))
    work = tuple((allocation, type_) for allocation, type_ in pool.buffers)
    placements = residual_placements(function) if residuals else ()
    return BufferPlan(function, work, tuple(pool.allocations), frozenset(pool.donated), placements)


def _residual_aliases(
    body: Region, placements: Sequence[Placement], saved: Mapping[int, Value]
) -> dict[Value, AliasSet]:
    """Returns the locations of the residuals that a backward function takes from its first
    argument."""
    if not saved:
        return {}
    items = [op for op in body.ops if op.name == "item" and op.operands[0] is body.params[0]]
    allocations = {op.result: placements[op.attrs["key"]].allocations for op in items}
    return {
        value: frozenset(saved[allocation] for allocation in lies_in)
        for value, lies_in in allocations.items()
        if lies_in
    }


def _with_workspace(body: Region, pool: BufferPool) -> Region:
    """Returns ``body`` with the workspace buffers as one more parameter, taken out at the start."""
    if not pool.buffers:
        return body
    work = Value(TupleType(tuple(type_ for _, type_ in pool.buffers)), "work")
    taken = []
    for key, ((allocation, _), value) in enumerate(pool.buffers.items()):
        attrs = {
            "key": key,
            "allocation": allocation,
            **({"donated": True} if allocation in pool.donated else {}),
        }
        taken.append(Op(work_buffer, (work,), attrs, (value,), NOWHERE, "primal"))
    return Region((*body.params, work), (*taken, *body.ops), body.yields)


@dataclass(frozen=True)
class _Request:
    """An operation whose calls need destinations.

    escapes         its result outlives the region
    is_large        its result is of ``large_bytes`` or more
    uses_workspace  its calls may take workspace buffers
    donates         its allocation may be donated with its result
    """

    op: Op
    place: int
    calls: Sequence[DestinationCall]
    escapes: bool
    is_large: bool
    uses_workspace: bool
    donates: bool


class _BufferAssigner:
    """Scans a region in order and knows at each place which values are dead.

    The values that the region yields are never dead. Only ``residuals`` may lie in workspace
    buffers then. With ``donates``, an allocation may go to the caller with a result.
    """

    def __init__(
        self,
        pool: BufferPool,
        region: Region,
        residuals: Sequence[Value] = (),
        donates: bool = False,
    ):
        self.pool, self.region, self.donates = pool, region, donates
        self.makers = {value: op for op in region.ops for value in op.results}
        self.reads: Counter[Value] = Counter()
        self.last_use: dict[Value, int] = {}
        for place, op in enumerate(region.ops):
            inner = [v for region in op.regions for each in region.walk() for v in uses_of(each)]
            read = [*uses_of(op), *inner]
            self.reads.update(read)
            self.note_reads(read, place)
        self.note_reads(residuals, len(region.ops))
        #: The locations with a buffer, by the place of their last use.
        self.lifetimes: list[tuple[int, int, Value]] = []
        self.count = itertools.count()
        #: Values that are written to existing memory, and operations with a line of their own for
        #: that reason.
        self.written: set[Value] = set()
        self.with_line: set[Op] = set()
        self.reached = 0
        #: Locations whose memory a loop fills anew; no second array goes there.
        self.consumed: set[Value] = set()
        #: Locations that outlive the region outside of the workspace.
        self.escaping: set[Value] = set()
        #: Locations that backward reads. Backward may reuse them if they lie in the workspace.
        self.saved = {each for value in residuals for each in pool.locations(value)}
        for value in region.yields:
            if value not in residuals:
                self.escaping |= pool.locations(value)

    def note_reads(self, values: Sequence[Value], place: int) -> None:
        for value in values:
            for location in self.pool.locations(value):
                self.last_use[location] = place

    def rewritten(self) -> Region:
        """Returns the region with destinations; the same object if there are none."""
        ops: list[Op] = []
        for place, op in enumerate(self.region.ops):
            self.release(place)
            ops += self.visit(place, map_regions(op, self.inner_region))
        self.release(len(self.region.ops))
        return with_ops(self.region, ops)

    def note_last_use(self, place: int, location: Value) -> None:
        heapq.heappush(self.lifetimes, (place, next(self.count), location))

    def note_last_uses(self, locations: Iterable[Value]) -> None:
        """Lets the buffers of ``locations`` go after their last use, at once if there is none."""
        for location in locations:
            if location not in self.escaping:
                self.note_last_use(self.last_use.get(location, -1), location)

    def release(self, place: int) -> None:
        """Releases the buffers of locations that are not read from ``place`` on."""
        while self.lifetimes and self.lifetimes[0][0] < place:
            _, _, location = heapq.heappop(self.lifetimes)
            if location in self.pool.slots:
                self.pool.release(location)

    def inner_region(self, region: Region) -> Region:
        """Assigns buffers in a nested region, whose values are visible in it alone."""
        holders, taken = dict(self.pool.holders), set(self.pool.slots)
        rewritten = _BufferAssigner(self.pool, region).rewritten()
        for location in set(self.pool.slots) - taken:
            self.pool.release(location)
        self.pool.holders = holders
        return rewritten

    def visit(self, place: int, op: Op) -> Sequence[Op]:
        """Returns the operations that replace ``op``."""
        if op.opdef is compute_into and self.pool.locations(op.operands[-1]) & self.pool.unordered:
            return (replace(op, attrs={"text": without_order(op.attrs["text"])}),)
        calls = _sized_calls(op)
        if not calls:
            return (op,)
        request = self.request(place, op, calls)
        temporaries = len(calls) > 1
        if temporaries and not request.donates and (request.escapes or not request.uses_workspace):
            return (op,)
        targets: list[Value] = []
        allocations: list[Op] = []
        for number, call in enumerate(calls):
            later = {value for after in calls[number + 1 :] for value in after.arguments}
            target = self.destination(request, call, later)
            if target is None:
                return (op,)
            if call.result is not op.result:
                self.last_use[call.result] = place  # a temporary
            self.note_last_use(self.last_use.get(call.result, place), call.result)
            is_in_workspace = target in self.pool.buffers.values()
            if op.name in ALLOCATIONS and not is_in_workspace:
                calls = [replace(call, text="{0}")]  # no allocation: the memory exists
                self.pool.unordered |= self.pool.locations(op.result)
            elif call.needs_memory and is_in_workspace:
                allocations.append(_ensure_allocated(op, target))
                target = allocations[-1].result
            targets.append(target)
            self.written.add(call.result)
        self.note_statement(place)
        if op.name == "full":
            return fill_in_place(op, calls[0].text, targets[0])
        return [*allocations, *map(partial(_written_to, op), calls, targets)]

    def request(self, place: int, op: Op, calls: Sequence[DestinationCall]) -> _Request:
        is_large = size_of(op.result.type) >= costs().large_bytes
        escapes, uses_workspace = op.result in self.escaping, self.pool.uses_workspace and is_large
        donates = uses_workspace and escapes and self.donates
        return _Request(op, place, calls, escapes, is_large, uses_workspace, donates)

    def note_statement(self, place: int) -> None:
        """Notes the operations before ``place``: a statement that writes turns them into lines."""
        self.with_line.update(self.region.ops[self.reached : place])
        self.reached = place

    def destination(
        self, request: _Request, call: DestinationCall, later: Set[Any]
    ) -> Value | None:
        """Returns the array that ``call`` writes to; ``later`` are the arguments of later calls."""
        escapes = request.escapes and call.result is request.op.result
        if request.op.name == "empty":
            target = self.consumed_array(call.result, request.place, escapes)
        else:
            target = self.overwritable_operand(request, call, later, escapes)
        if target is None and request.donates and escapes:
            return self.pool.donate(call.result, or_new=len(request.calls) > 1)
        if target is None and request.uses_workspace and not escapes:
            return self.pool.take(call.result)
        return target

    def consumed_array(self, init: Value, place: int, escapes: bool) -> Value | None:
        """Returns the memory of an array for ``init``, which the next loop fills by tiles.

        The loop takes the same tiles of that array, and nothing reads it later.
        """
        after = enumerate(self.region.ops[place + 1 :], place + 1)
        at, op = next(((at, op) for at, op in after if init in op.operands), (0, None))
        if op is None or op.name != "for" or escapes and not self.donates:
            return None
        loop = Loop(op)
        arrays = consumed_arrays(loop, loop.inits.index(init), self.pool.aliases)
        for array in arrays:
            location = self.consumable_location(array, arrays, init.type)
            if location is None or self.last_use.get(location) != at:
                continue
            target: Value | None
            if location not in self.pool.slots:
                target = array if location is array and location in self.makers else None
            elif escapes:
                target = self.pool.donate(init, location)
            else:
                target = self.pool.put(init, self.pool.slots.pop(location))
            if target is not None:
                self.consumed.add(location)
                return target
        return None

    def consumable_location(
        self, array: Value, arrays: Sequence[Value], type_: Type
    ) -> Value | None:
        """Returns the location of ``array`` if an array of ``type_`` may overwrite it row by row.

        ``arrays`` are all arrays that the loop takes by tiles.
        """
        (location, *others) = self.pool.locations(array)
        rows = self.pool.rows
        sharing = [each for each in arrays if location in self.pool.locations(each)]
        if others or not all(rows.get(each) == type_ for each in sharing):
            return None
        if location in self.consumed or location in self.escaping:
            return None
        # A region around this one reads its values again: it may be a loop.
        return location if location in self.makers or self.is_residual(array, type_) else None

    def is_residual(self, array: Value, rows: Type) -> bool:
        """True if ``array`` is a residual that lies in the rows of such an array.

        Its allocation may be reused, where there is one, but no array is written to under its name.
        This holds in the outermost region only, which runs once.
        """
        maker = self.makers.get(array)
        is_item = maker is not None and maker.name == "item"
        return self.donates and is_item and self.pool.rows.get(array) == rows

    def overwritable_operand(
        self, request: _Request, call: DestinationCall, later: Set[Any], escapes: bool
    ) -> Value | None:
        """Returns an argument that ``call`` may overwrite; its memory goes to the result."""
        for argument in call.arguments if call.in_place else ():
            if not isinstance(argument, Value) or argument.type != call.result.type:
                continue
            location = self.overwritable_location(argument, request.place, later)
            if location is None or not self.pays_off(request, call, argument, location):
                continue
            target = self.overwrite(argument, location, call.result, escapes)
            if target is not None:
                return target
        return None

    def overwritable_location(self, argument: Value, place: int, later: Set[Any]) -> Value | None:
        """Returns the location of ``argument`` if it may be overwritten, else None.

        The argument is dead. It is a temporary of the operation, a residual, or the very array that
        an operation made. A view may be broadcast, and read-only.
        """
        (location, *others) = self.pool.locations(argument) or (argument,)
        if argument not in self.pool.aliases and argument not in later:
            return location
        dead = self.last_use.get(location, place) <= place and not any(
            location == value or location in self.pool.locations(value) for value in later
        )
        if others or not dead or location in self.escaping:
            return None
        owned = self.pool.rows.get(argument) == argument.type and location in self.makers
        is_in_workspace = location in self.pool.slots
        if owned or is_in_workspace and self.is_residual(argument, argument.type):
            return location
        return None

    def pays_off(
        self, request: _Request, call: DestinationCall, argument: Value, location: Value
    ) -> bool:
        """True if overwriting ``argument`` saves memory.

        Below the large size it saves some only if the argument has a line of its own. A residual
        belongs into the workspace, in which backward can work later.
        """
        if not request.is_large:
            return self.has_line(argument, request.op)
        is_in_workspace = location in self.pool.slots
        return is_in_workspace or not self.pool.uses_workspace or call.result not in self.saved

    def overwrite(
        self, argument: Value, location: Value, result: Value, escapes: bool
    ) -> Value | None:
        """Moves the memory of ``argument`` to ``result``, and returns the array to write to."""
        is_in_workspace = location in self.pool.slots
        if is_in_workspace and escapes:
            return self.pool.donate(result, location) if self.donates else None
        if is_in_workspace and self.is_residual(argument, argument.type):
            return self.pool.put(result, self.pool.slots.pop(location))
        self.pool.transfer(location, result)
        return argument

    def has_line(self, operand: Value, user: Op) -> bool:
        """True if ``operand`` has a line of its own, and is not written inside that of ``user``."""
        maker = self.makers.get(operand)
        if maker is None or maker in self.with_line or operand in self.written:
            return True
        if operand.has_user_name or self.reads[operand] > 1:
            return True
        return (maker.span.file, maker.span.line) != (user.span.file, user.span.line)


def _written_to(op: Op, call: DestinationCall, target: Value) -> Op:
    operands, attrs = (*call.arguments, target), {"text": call.text}
    return replace(op, opdef=compute_into, operands=operands, attrs=attrs, results=(call.result,))


def _ensure_allocated(op: Op, buffer: Value) -> Op:
    """Returns the operation that takes ``buffer``, or a new array without a workspace."""
    attrs, results = {"text": allocate_text(buffer.type)}, (Value(buffer.type, "memory"),)
    return replace(op, opdef=compute_into, operands=(buffer,), attrs=attrs, results=results)


def _sized_calls(op: Op) -> list[DestinationCall]:
    """Returns the calls of ``op`` if its result is of ``medium_bytes`` or more and they accept
    destinations."""
    allocates = op.name in ALLOCATIONS and type(op.attrs.get("value", 0)) in (int, float)
    if allocates and not op.operands and size_of(op.result.type) >= costs().large_bytes:
        return [DestinationCall(allocate_text(op.result.type), (), op.result, False)]
    if op.regions or len(op.results) != 1 or op.opdef in (compute_into, work_buffer):
        return []
    if op.opdef.kind in ("control", "container"):
        return []
    if size_of(op.result.type) < min(costs().large_bytes, costs().medium_bytes) or op.opdef.views:
        return []
    if any(getattr(type_, "dtype", None) == "bfloat16" for type_ in (*op.types, op.result.type)):
        return []  # computed in float32 and rounded: more than the call of NumPy
    return destination_calls(op)
