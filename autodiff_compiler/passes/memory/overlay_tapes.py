"""Tapes where a loop has read: their rows lie in the rows of an array that it takes but once.

A loop of gates takes row k of one product, as wide as all gates together, and keeps what it makes
of each. Nobody reads that row again, and there is room in it for a row of each tape, side by side.
So tapes become *lanes* of the array: views, whose rows are written as before. As in ``update_arrays_in_place``,
the change is made and ``is_memory_safe`` says whether anybody would read what was spoilt.

Backward reads the tapes of the gates row by row, and fills an array as wide as all of them: it goes
where they are (``assign_buffers``). Tapes that no array has room for are laid side by side for its sake.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[9,5000], %h: f32[2500], %z: f32[]) -> (f32[]) {
...   %r: f32[9,5000] = sin %x
...   %t: f32[9,2500] = empty {dtype='float32', shape=(9, 2500)}
...   %a: f32[9,2500], %n: int = for %p, %k in (0, 9, 1) carry (%u: f32[9,2500] = %t) read (%row: f32[5000] = %r) {
...     %b: f32[2500] = index %row {index=(('slice', 2500, None, None),)}
...     %c: f32[2500] = mul %b, %h
...     %v: f32[9,2500] = set_item %u, %c, %p {in_place=True, index=(('op', 0),)}
...     yield carry %v
...   }
...   %s: f32[], %m: int = for %q, %j in (0, 9, 1) carry (%d: f32[] = %z) read (%e: f32[2500] = %a) {
...     %g: f32[] = sum %e {axes=None, keepdims=False}
...     %o: f32[] = add %d, %g
...     yield carry %o
...   }
...   return %s
... }
... ''')
>>> print(*print_function(overlay_tapes(before)).splitlines()[1:3], sep="\\n")
  %r: f32[9,5000] = sin %x
  %t: f32[9,2500] = lane %r {axis=1, start=0, stop=2500}
"""  # noqa: E501

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.aliasing import AliasSet, alias_sets, destination_of
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import Producers, producers, use_counts, uses_of
from autodiff_compiler.ir.types import ArrayType, Type, size_of
from autodiff_compiler.ir.verify.disjoint_slices import AxisSlice
from autodiff_compiler.ir.verify.memory_safety import is_memory_safe
from autodiff_compiler.operators.destination_ops import lane
from autodiff_compiler.passes.core.traversal import rewrite_region, with_body
from autodiff_compiler.passes.destinations.operation_calls import without_order
from autodiff_compiler.span import NOWHERE

#: What a reader of the lines that take lanes of what the loop reads should know.
NOTE = "Row k of these tapes lies in row k of an array that the loop has read by then."


@dataclass(frozen=True)
class _Filled:
    """An array of ``type`` that a loop of the backward half fills, and the ``tapes`` of forward
    that this loop reads row by row, and nothing else."""

    type: Type
    tapes: frozenset[AnyOperand]


def overlay_tapes(function: Function, backward: Function | None = None) -> Function:
    """``function`` with tapes of its loops in arrays of ``large_bytes`` or more: in those
    that the loops have read, and side by side for what its ``backward`` half fills. The same one
    where there are none."""
    if "empty" in function.op_names:
        filled = list(_filled(function, backward)) if backward else []
        for op in function.body.ops:
            if op.name == "for":
                function = _with_some(function, list(_wanted(function, Loop(op), filled)))
    return function


def _filled(forward: Function, backward: Function) -> Iterator[_Filled]:
    packed = [op.operands for op in forward.body.ops if forward.residuals in op.results]
    items = {op.result: packed[0][op.attrs["key"]] for op in backward.body.ops if packed
             and op.name == "item" and op.operands[0] is backward.params[0]}  # fmt: skip
    uses = use_counts(backward.body)
    empty = {op.result for op in backward.body.ops if op.name == "empty"}
    for op in backward.body.ops:
        if op.name == "for":
            read = [each for each in Loop(op).reads if uses.get(each) == 1]
            tapes = frozenset(items[each] for each in read if each in items)
            for init in Loop(op).inits:
                if init in empty:
                    yield _Filled(type_of(init), tapes)


def _with_some(function: Function, taken: Sequence[Sequence[Op]]) -> Function:
    """``function`` with those of the groups of lanes that do no harm."""
    together = _with_all(function, [op for group in taken for op in group]) if taken else function
    if not taken or is_memory_safe(together):
        return together
    for group in taken:
        alone = _with_all(function, group)
        function = alone if is_memory_safe(alone) else function
    return function


def _with_all(function: Function, taken: Sequence[Op]) -> Function:
    """``function`` with these lanes in the place of empty arrays, where their array is made; what
    is made for their sake is made where the first of them was."""
    instead, after = {op.result for op in taken if op.operands}, defaultdict(list)
    joined = {op.result: op for op in taken if not op.operands}
    first: dict[Value, Op] = {}
    for op in taken:
        for array in op.operands:
            after[array].append(op)
            if array in joined:
                first[op.result] = joined.pop(array)
    lies = alias_sets(function.body)

    def visit(op: Op) -> Sequence[Op]:
        if not instead.isdisjoint(op.results):
            made = first.get(op.result)
            return () if made is None else (made, *after[made.result])
        if op.name == "into" and not instead.isdisjoint(lies.get(op.operands[-1], ())):  # type: ignore[arg-type]
            op = replace(op, attrs={"text": without_order(op.attrs["text"])})
        return (op, *(each for result in op.results for each in after[result]))

    return with_body(function, rewrite_region(function.body, {}, visit))


def _wanted(function: Function, loop: Loop, filled: list[_Filled]) -> Iterator[Sequence[Op]]:
    """The operations that take lanes for tapes which ``loop`` begins empty, in groups of which all
    must be there. Those of ``filled`` that get a place leave the list."""
    made = {result: op for op in function.body.ops for result in op.results}
    lies = alias_sets(loop.body)
    given = dict(zip(loop.inits, loop.carried))
    tapes = {
        init: place
        for init, param, tape in zip(loop.inits, loop.carry_params, loop.carried)
        if isinstance(init, Value) and init in made and made[init].name == "empty"
        and _is_read_by_rows(tape, function)
        and (place := _written_at(loop.body, param, lies)) is not None
    }  # fmt: skip
    for array, row in zip(loop.reads, loop.read_params):
        if array not in made or size_of(array.type) < costs().large_bytes:
            continue
        assert isinstance(array, Value)
        read = [place for place, op in enumerate(loop.body.ops)
                if any(row in lies.get(value, ()) for value in uses_of(op))]  # fmt: skip
        free = [tape for tape, place in tapes.items() if place > max(read, default=-1)]
        after = next((each for each in filled if each.type == array.type), None)
        if after is not None:
            filled.remove(after)
            first = after.tapes
            free.sort(key=lambda tape: given[tape] not in first)
        for tape, where in _widest(array, free).items():
            del tapes[tape]
            taken = _lane(made[tape], array, where)
            if taken.span != NOWHERE:
                taken = replace(taken, span=replace(taken.span, note=NOTE))
            yield [taken]
    for after in list(filled):
        free = [tape for tape in tapes if given[tape] in after.tapes]
        array = Value(after.type, "tapes")
        found = _widest(array, free) if size_of(after.type) >= costs().large_bytes else {}
        if len(found) > 1:
            filled.remove(after)
            whole = replace(made[free[0]], results=(array,), attrs=_shape(after.type))
            yield [whole, *(_lane(made[tape], array, found[tape]) for tape in found)]
        tapes = {tape: place for tape, place in tapes.items() if tape not in found}


def _lane(empty: Op, array: Value, where: AxisSlice) -> Op:
    """What takes the lane of ``array`` that an ``empty`` array becomes."""
    return replace(empty, opdef=lane, operands=(array,), attrs=asdict(where))


def _shape(type_: Type) -> dict[str, Any]:
    assert isinstance(type_, ArrayType)
    return {"shape": type_.shape, "dtype": type_.dtype}


def _is_read_by_rows(tape: Value, function: Function) -> bool:
    """Whether ``tape`` is kept for backward, or loops read it: not all of it at once, which takes
    longer of a view, and not the user."""
    users = [op for op in function.body.ops if tape in uses_of(op)]
    return tape not in function.returns and all(
        function.residuals in op.results or op.name == "for" and tape in Loop(op).reads
        for op in users
    )


def _widest(array: Value, tapes: Sequence[Value]) -> dict[Value, AxisSlice]:
    """The lanes of most of ``tapes`` for which there is room in ``array`` along one axis."""
    axes = range(1, array.ndim or 0)
    return max((_beside(array, tapes, axis) for axis in axes), key=len, default={})


def _beside(array: Value, tapes: Sequence[Value], axis: int) -> dict[Value, AxisSlice]:
    """Those of ``tapes`` for which there is room in ``array``, side by side along ``axis``. One
    that fills it alone is a matter of ``assign_buffers``."""
    found: dict[Value, AxisSlice] = {}
    start = 0
    for tape in tapes:
        (room, *around), (width, *others) = (_split(value, axis) for value in (array, tape))
        if around == others and 0 < width <= room - start and width < room:
            found[tape] = AxisSlice(axis, start, start + width)
            start += width
    return found


def _split(value: Value, axis: int) -> list:
    """The size of an array along ``axis``, and all else that there is to its type."""
    assert isinstance(value.type, ArrayType) and value.type.shape
    size, *rest = value.type.shape[axis:] or (0,)
    return [size, value.type.dtype, value.type.shape[:axis], rest]


def _written_at(body: Region, tape: Value, lies: Mapping[Value, AliasSet]) -> int | None:
    """The place of the first operation that writes to ``tape``; None where one writes to a view
    that no subscript takes: of a lane that may be a copy."""
    writes: list[int] = []
    makers = producers(body)
    for place, op in enumerate(body.ops):
        for each in (op, *(each for region in op.regions for each in region.walk())):
            target = destination_of(each)
            if target is not None and tape in lies[target]:
                writes.append(place)
                if not _is_part(target, tape, makers):
                    return None
    return min(writes, default=None)


def _is_part(value: AnyOperand, tape: Value, makers: Producers) -> bool:
    """Whether ``value`` is ``tape``, or was taken of it by subscripts alone."""
    while value is not tape:
        op = makers.get(value)
        if op is None or op.name not in ("index", "filled", "set_item"):
            return False
        value = op.operands[-1 if op.name == "filled" else 0]
    return True
