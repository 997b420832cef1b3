"""Stores the rows of tapes in an array whose rows the loop has already consumed.

A loop of gates reads row k of one product, which is as wide as all gates together. It saves a
result for each gate. Nothing reads that row again, and it has room for a row of each tape, side by
side. The tapes become slices of the array: views, whose rows are written as before. As in
``update_arrays_in_place``, the pass makes the change. Then ``is_memory_safe`` decides if a value is
read after its buffer was overwritten.

Backward reads the tapes of the gates row by row, and fills an array as wide as all of them.
``assign_buffers`` puts it where they are. If no array has room for the tapes, they lie side by side
in a new array.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[9,5000], %h: f32[2500], %z: f32[]) -> (f32[]) {
...   %r: f32[9,5000] = sin %x
...   %t: f32[9,2500] = empty {dtype='float32', shape=(9, 2500)}
...   %a: f32[9,2500], %n: int = for %p, %k in (0, 9, 1) \
carry (%u: f32[9,2500] = %t) read (%row: f32[5000] = %r) {
...     %b: f32[2500] = index %row {index=(('slice', 2500, None, None),)}
...     %c: f32[2500] = mul %b, %h
...     %v: f32[9,2500] = set_item %u, %c, %p {in_place=True, index=(('op', 0),)}
...     yield carry %v
...   }
...   %s: f32[], %m: int = for %q, %j in (0, 9, 1) \
carry (%d: f32[] = %z) read (%e: f32[2500] = %a) {
...     %g: f32[] = sum %e {axes=None, keepdims=False}
...     %o: f32[] = add %d, %g
...     yield carry %o
...   }
...   return %s
... }
... ''')
>>> print(*print_function(overlay_tapes(before)).splitlines()[1:3], sep="\\n")
  %r: f32[9,5000] = sin %x
  %t: f32[9,2500] = slice_view %r {axis=1, start=0, stop=2500}
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.aliasing import AliasSet, alias_sets, destination_of
from autodiff_compiler.ir.nodes import (
    AnyOperand,
    Function,
    Loop,
    Op,
    Region,
    Value,
    array_type,
    expect_value,
    type_of,
)
from autodiff_compiler.ir.rewrite import Producers, producers, producers_among, use_counts, uses_of
from autodiff_compiler.ir.types import Type, size_of
from autodiff_compiler.ir.verify.disjoint_slices import AxisSlice
from autodiff_compiler.ir.verify.memory_safety import is_memory_safe
from autodiff_compiler.operators.destination_ops import slice_view
from autodiff_compiler.passes.core.traversal import rewrite_region, with_body
from autodiff_compiler.passes.destinations.operation_calls import without_order
from autodiff_compiler.span import NOWHERE

#: The comment above the lines that take slices of an array that the loop reads.
NOTE = "Row k of these tapes overwrites row k of an array that the loop has read before."


@dataclass(frozen=True)
class _FilledArray:
    """An array of ``type`` that a loop of the backward function fills.

    ``tapes`` are the tapes of forward that only this loop reads, row by row.
    """

    type: Type
    tapes: frozenset[AnyOperand]


def overlay_tapes(function: Function, backward: Function | None = None) -> Function:
    """Overlays the tapes of loops on arrays of ``large_bytes`` or more.

    These are arrays that the loops have read, and new ones for the arrays that ``backward`` fills.
    """
    if "empty" in function.op_names:
        filled = list(_filled_arrays(function, backward)) if backward else []
        for op in function.body.ops:
            if op.name == "for":
                overlays = _Overlays(function, Loop(op))
                groups = [*overlays.on_read_arrays(filled), *overlays.side_by_side(filled)]
                function = _with_safe_groups(function, groups)
    return function


def _filled_arrays(forward: Function, backward: Function) -> Iterator[_FilledArray]:
    packed = [op.operands for op in forward.body.ops if forward.residuals in op.results]
    items = {
        op.result: packed[0][op.attrs["key"]]
        for op in backward.body.ops
        if packed and op.name == "item" and op.operands[0] is backward.params[0]
    }
    uses = use_counts(backward.body)
    empty = {op.result for op in backward.body.ops if op.name == "empty"}
    for op in backward.body.ops:
        if op.name == "for":
            read = [each for each in Loop(op).reads if uses.get(each) == 1]
            tapes = frozenset(items[each] for each in read if each in items)
            for init in Loop(op).inits:
                if init in empty:
                    yield _FilledArray(type_of(init), tapes)


def _with_safe_groups(function: Function, groups: Sequence[Sequence[Op]]) -> Function:
    """Returns ``function`` with the groups of slices that are memory-safe."""
    if not groups:
        return function
    changed = _with_slices(function, [op for group in groups for op in group])
    if is_memory_safe(changed):
        return changed
    for group in groups:
        changed = _with_slices(function, group)
        function = changed if is_memory_safe(changed) else function
    return function


def _with_slices(function: Function, taken: Sequence[Op]) -> Function:
    """Returns ``function`` with the slices ``taken`` in place of empty arrays.

    A slice is taken where its array is made. An array made for the slices is allocated where the
    first of them was.
    """
    replaced, after = {op.result for op in taken if op.operands}, defaultdict(list)
    new_arrays = {op.result: op for op in taken if not op.operands}
    first: dict[Value, Op] = {}
    for op in taken:
        for array in op.operands:
            after[array].append(op)
            if array in new_arrays:
                first[op.result] = new_arrays.pop(array)
    aliases = alias_sets(function.body)

    def visit(op: Op) -> Sequence[Op]:
        if not replaced.isdisjoint(op.results):
            slice_ = first.get(op.result)
            return () if slice_ is None else (slice_, *after[slice_.result])
        if op.name == "compute_into" and not replaced.isdisjoint(
            aliases.get(op.value_operand(-1), ())
        ):
            op = replace(op, attrs={"text": without_order(op.attrs["text"])})
        return (op, *(each for result in op.results for each in after[result]))

    return with_body(function, rewrite_region(function.body, {}, visit))


class _Overlays:
    """The tapes that one loop begins empty, and the arrays that have room for them.

    Both methods yield groups of operations; a group goes into the function as a whole. A tape is
    overlaid once.
    """

    def __init__(self, function: Function, loop: Loop):
        self.loop, self.makers = loop, producers_among(function.body.ops)
        self.aliases = alias_sets(loop.body)
        self.carried = dict(zip(loop.inits, loop.carried))
        #: The place of the first write to each tape in the body of the loop.
        self.first_writes: dict[Value, int] = {}
        for init, param, tape in zip(loop.inits, loop.carry_params, loop.carried):
            maker = self.makers.get(init)
            if maker is None or maker.name != "empty" or not _is_read_by_rows(tape, function):
                continue
            place = _first_write(loop.body, param, self.aliases)
            if place is not None:
                self.first_writes[maker.result] = place

    def on_read_arrays(self, filled: list[_FilledArray]) -> Iterator[Sequence[Op]]:
        """Yields the slices of arrays that the loop has read before it writes to a tape.

        Prefers the tapes of an array that backward fills, and removes that from ``filled``.
        """
        for array, row in zip(self.loop.reads, self.loop.read_params):
            if array not in self.makers or size_of(type_of(array)) < costs().large_bytes:
                continue
            free = self.written_after_reads(row)
            after = next((each for each in filled if each.type == type_of(array)), None)
            if after is not None:
                filled.remove(after)
                free.sort(key=partial(self.is_apart_from, after))
            for tape, where in _best_layout(expect_value(array), free).items():
                del self.first_writes[tape]
                taken = self.slice_view(tape, array, where)
                if taken.span != NOWHERE:
                    taken = replace(taken, span=replace(taken.span, note=NOTE))
                yield [taken]

    def written_after_reads(self, row: Value) -> list[Value]:
        """Returns the tapes that the body writes to after its last read of ``row``."""
        last = -1
        for place, op in enumerate(self.loop.body.ops):
            if any(row in self.aliases.get(value, ()) for value in uses_of(op)):
                last = place
        return [tape for tape, place in self.first_writes.items() if place > last]

    def is_apart_from(self, filled: _FilledArray, tape: Value) -> bool:
        return self.carried[tape] not in filled.tapes

    def side_by_side(self, filled: list[_FilledArray]) -> Iterator[Sequence[Op]]:
        """Yields new arrays with the slices of the tapes that backward consumes together.

        Removes from ``filled`` the arrays that can go there.
        """
        for after in list(filled):
            free = [tape for tape in self.first_writes if self.carried[tape] in after.tapes]
            array = Value(after.type, "tapes")
            large = size_of(after.type) >= costs().large_bytes
            layout = _best_layout(array, free) if large else {}
            if len(layout) > 1:
                filled.remove(after)
                type_ = array_type(array)
                attrs = {"shape": type_.shape, "dtype": type_.dtype}
                allocation = replace(self.makers[free[0]], results=(array,), attrs=attrs)
                yield [allocation, *(self.slice_view(tape, array, layout[tape]) for tape in layout)]
            for tape in layout:
                del self.first_writes[tape]

    def slice_view(self, tape: Value, array: AnyOperand, where: AxisSlice) -> Op:
        """Returns the operation that takes the slice of ``array`` in which ``tape`` lies."""
        return replace(self.makers[tape], opdef=slice_view, operands=(array,), attrs=asdict(where))


def _is_read_by_rows(tape: Value, function: Function) -> bool:
    """True if only loops read ``tape``, row by row, or backward does.

    A view is slower to read as a whole, and the user must not receive one.
    """
    users = [op for op in function.body.ops if tape in uses_of(op)]
    return tape not in function.returns and all(
        function.residuals in op.results or op.name == "for" and tape in Loop(op).reads
        for op in users
    )


def _best_layout(array: Value, tapes: Sequence[Value]) -> dict[Value, AxisSlice]:
    """Returns the slices along the axis of ``array`` that has room for most of ``tapes``."""
    axes = range(1, array.ndim or 0)
    return max((_layout_along(array, tapes, axis) for axis in axes), key=len, default={})


def _layout_along(array: Value, tapes: Sequence[Value], axis: int) -> dict[Value, AxisSlice]:
    """Returns slices for the tapes that fit into ``array`` side by side along ``axis``.

    A tape as large as the array is left to ``assign_buffers``.
    """
    slices: dict[Value, AxisSlice] = {}
    start = 0
    for tape in tapes:
        (room, *around), (width, *others) = (_split_type(value, axis) for value in (array, tape))
        if around == others and 0 < width <= room - start and width < room:
            slices[tape] = AxisSlice(axis, start, start + width)
            start += width
    return slices


def _split_type(value: Value, axis: int) -> list:
    """Returns the size of an array along ``axis``, and the rest of its type."""
    type_ = array_type(value)
    size, *rest = type_.dims[axis:] or (0,)
    return [size, type_.dtype, type_.dims[:axis], rest]


def _first_write(body: Region, tape: Value, aliases: Mapping[Value, AliasSet]) -> int | None:
    """Returns the place of the first operation that writes to ``tape``.

    Returns None if one writes to a view that is more than subscripts: of a slice that may be a
    copy.
    """
    writes: list[int] = []
    makers = producers(body)
    for place, op in enumerate(body.ops):
        for each in (op, *(each for region in op.regions for each in region.walk())):
            target = destination_of(each)
            if target is not None and tape in aliases[target]:
                writes.append(place)
                if not _is_part(target, tape, makers):
                    return None
    return min(writes, default=None)


def _is_part(value: AnyOperand, tape: Value, makers: Producers) -> bool:
    """True if ``value`` is ``tape``, or is taken from it by subscripts alone."""
    while value is not tape:
        op = makers.get(value)
        if op is None or op.name not in ("index", "after_write", "set_item"):
            return False
        value = op.operands[-1 if op.name == "after_write" else 0]
    return True
