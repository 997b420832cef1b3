"""Tapes where a loop has read: their rows lie in the rows of an array that it takes but once.

A loop of gates takes row k of one product, as wide as all gates together, and keeps what it makes
of each. Nobody reads that row again, and there is room in it for a row of each tape, side by side.
So tapes become *lanes* of the array: views, whose rows are written as before. As in ``overwrite``,
the change is made and ``is_sound`` says whether anybody would read what was spoilt.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.text import parse_function, print_function
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
>>> print(*print_function(lanes(before)).splitlines()[1:3], sep="\\n")
  %r: f32[9,5000] = sin %x
  %t: f32[9,2500] = lane %r {axis=1, start=0, stop=2500}
"""  # noqa: E501

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace

from autodiff_compiler.ir.lanes import Lane
from autodiff_compiler.ir.memory import Cells, cells, writes_to
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import producers, uses_of
from autodiff_compiler.ir.types import ArrayType, size_of
from autodiff_compiler.ir.writes import is_sound
from autodiff_compiler.operators.lowered import lane
from autodiff_compiler.passes import reuse
from autodiff_compiler.passes.stacks import in_any_order
from autodiff_compiler.passes.sweep import sweep, with_body
from autodiff_compiler.span import NOWHERE

#: What a reader of the lines that take lanes should know.
NOTE = "Row k of these tapes lies in row k of an array that the loop has read by then."


def lanes(function: Function) -> Function:
    """``function`` with tapes of its loops in arrays of ``reuse.LARGE`` bytes or more that the
    loops have read; the same one where there are none."""
    for op in function.body.ops if "empty" in function.op_names else ():
        if op.name == "for":
            function = _with_some(function, list(_wanted(function, Loop(op))))
    return function


def _with_some(function: Function, taken: Sequence[Op]) -> Function:
    """``function`` with those lanes that do no harm."""
    together = _with_all(function, taken) if taken else function
    if not taken or is_sound(together):
        return together
    for op in taken:
        alone = _with_all(function, [op])
        function = alone if is_sound(alone) else function
    return function


def _with_all(function: Function, taken: Sequence[Op]) -> Function:
    """``function`` with these lanes in the place of empty arrays, where their array is made."""
    instead, after = {op.result for op in taken}, defaultdict(list)
    for op in taken:
        after[op.operands[0]].append(op)
    lies = cells(function.body)

    def visit(op: Op) -> Sequence[Op]:
        if not instead.isdisjoint(op.results):
            return ()
        if op.name == "into" and not instead.isdisjoint(lies.get(op.operands[-1], ())):  # type: ignore
            op = replace(op, attrs={"text": in_any_order(op.attrs["text"])})
        return (op, *(each for result in op.results for each in after[result]))

    return with_body(function, sweep(function.body, {}, visit))


def _wanted(function: Function, loop: Loop) -> Iterator[Op]:
    """The operations that take lanes for tapes which ``loop`` begins empty."""
    made = {result: op for op in function.body.ops for result in op.results}
    lies = cells(loop.body)
    tapes = {
        init: place
        for init, param, tape in zip(loop.inits, loop.carry_params, loop.carried)
        if isinstance(init, Value) and init in made and made[init].name == "empty"
        and _is_read_by_rows(tape, function)
        and (place := _written_at(loop.body, param, lies)) is not None
    }  # fmt: skip
    for array, row in zip(loop.reads, loop.read_params):
        if array not in made or size_of(array.type) < reuse.LARGE:  # type: ignore
            continue
        assert isinstance(array, Value)
        read = [place for place, op in enumerate(loop.body.ops)
                if any(row in lies.get(value, ()) for value in uses_of(op))]  # fmt: skip
        free = [tape for tape, place in tapes.items() if place > max(read, default=-1)]
        axes = range(1, array.ndim or 0)
        found = max((_beside(array, free, axis) for axis in axes), key=len, default={})
        for tape, where in found.items():
            del tapes[tape]
            empty = made[tape]
            span = empty.span if empty.span == NOWHERE else replace(empty.span, note=NOTE)
            yield replace(empty, opdef=lane, operands=(array,), attrs=asdict(where), span=span)


def _is_read_by_rows(tape: Value, function: Function) -> bool:
    """Whether ``tape`` is kept for backward, or loops read it: not all of it at once, which takes
    longer of a view, and not the user."""
    users = [op for op in function.body.ops if tape in uses_of(op)]
    return tape not in function.returns and all(
        function.residuals in op.results or op.name == "for" and tape in Loop(op).reads
        for op in users
    )


def _beside(array: Value, tapes: Sequence[Value], axis: int) -> dict[Value, Lane]:
    """Those of ``tapes`` for which there is room in ``array``, side by side along ``axis``. One
    that fills it alone is a matter of ``reuse``."""
    found: dict[Value, Lane] = {}
    start = 0
    for tape in tapes:
        (room, *around), (width, *others) = (_split(value, axis) for value in (array, tape))
        if around == others and 0 < width <= room - start and width < room:
            found[tape] = Lane(axis, start, start + width)
            start += width
    return found


def _split(value: Value, axis: int) -> list:
    """The size of an array along ``axis``, and all else that there is to its type."""
    assert isinstance(value.type, ArrayType) and value.type.shape
    size, *rest = value.type.shape[axis:] or (0,)
    return [size, value.type.dtype, value.type.shape[:axis], rest]


def _written_at(body: Region, tape: Value, lies: Mapping[Value, Cells]) -> int | None:
    """The place of the first operation that writes to ``tape``; None where one writes to a view
    that no subscript takes: of a lane that may be a copy."""
    writes: list[int] = []
    makers = producers(body)
    for place, op in enumerate(body.ops):
        for each in (op, *(each for region in op.regions for each in region.walk())):
            target = writes_to(each)
            if target is not None and tape in lies[target]:
                writes.append(place)
                if not _is_part(target, tape, makers):
                    return None
    return min(writes, default=None)


def _is_part(value: AnyOperand, tape: Value, makers: Mapping[Value, Op]) -> bool:
    """Whether ``value`` is ``tape``, or was taken of it by subscripts alone."""
    while value is not tape:
        op = makers.get(value)  # type: ignore[arg-type]
        if op is None or op.name not in ("index", "filled", "set_item"):
            return False
        value = op.operands[-1 if op.name == "filled" else 0]
    return True
