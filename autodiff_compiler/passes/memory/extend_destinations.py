"""What ends in a row of a tape begins there.

An iteration makes ``u + v + w`` and keeps it in row k: two arrays are made on the way, and the last
sum goes to a third piece of memory. Where each is made by one call, and read by the next one alone,
all of them lie in the row, one after the other: no memory is handed out, and what the next call
reads is in the cache. As in ``update_arrays_in_place``, the change is made and ``is_memory_safe``
says whether anybody would read what was spoilt.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[5000], %t: f32[9,5000]) -> (f32[9,5000]) {
...   %t.1: f32[9,5000] = copy %t
...   %a: f32[9,5000], %n: int = for %p, %k in (0, 9, 1) carry (%u: f32[9,5000] = %t.1) {
...     %b: f32[5000] = sin %x
...     %c: f32[5000] = mul %b, %x
...     %r: f32[5000] = index %u, %p {index=(('op', 0),)}
...     %d: f32[5000] = into %c, 2.0, %r {text='np.add({0}, {1}, out={2})'}
...     %v: f32[9,5000] = filled %d, %u
...     yield carry %v
...   }
...   return %a
... }
... ''')
>>> print(*print_function(extend_destinations(before)).splitlines()[3:7], sep="\\n")
    %r: f32[5000] = index %u, %p {index=(('op', 0),)}
    %b: f32[5000] = into %x, %r {text='np.sin({0}, out={1})'}
    %c: f32[5000] = into %b, %x, %r {text='np.multiply({0}, {1}, out={2})'}
    %d: f32[5000] = into %c, 2.0, %r {text='np.add({0}, {1}, out={2})'}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.aliasing import alias_sets, is_row
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import UseCounts, map_regions, use_counts
from autodiff_compiler.ir.types import size_of
from autodiff_compiler.ir.verify.memory_safety import is_memory_safe
from autodiff_compiler.passes.core.traversal import with_body
from autodiff_compiler.passes.destinations.operation_calls import accepts_destination, compute_into
from autodiff_compiler.passes.destinations.template_calls import calls_of
from autodiff_compiler.passes.schedule.tile_elementwise import arrays_taken


def extend_destinations(function: Function) -> Function:
    """``function`` with what its loops write to rows of ``computed_in_row_bytes`` or more made
    there from the start."""
    if "into" not in function.op_names:
        return function
    for row in list(_rows(function.body)):
        room = _taken(function, row)
        changed = with_body(function, _begun(function.body, row, use_counts(function.body)))
        if changed is not function and is_memory_safe(changed) and _taken(changed, row) == room:
            function = changed
    return function


def _taken(function: Function, row: Value) -> list[Value]:
    """The arrays in whose memory that of ``row`` may be: a row that is written to earlier must not
    be where another one is still read."""
    for op in function.body.walk():
        if op.name == "for" and any(row in each.results for each in op.regions[0].ops):
            loop, made = Loop(op), next(e for e in op.regions[0].ops if row in e.results)
            if made.operands[0] in loop.carry_params:
                carry = loop.carry_params.index(made.operands[0])
                return arrays_taken(loop, carry, alias_sets(function.body))
    return []


def _rows(region: Region) -> Iterator[Value]:
    """The rows, of arrays that loops carry, that some call writes to."""
    for op in region.ops:
        for inner in op.regions:
            yield from _rows(inner)
        if op.name != "for":
            continue
        loop = Loop(op)
        written = {each.operands[-1] for each in loop.body.ops if each.name == "into"}
        for each in loop.body.ops:
            alone = each.name == "index" and is_row(each) and each.result in written
            given = all(operand in loop.body.params for operand in each.operands)
            if alone and given and size_of(each.result.type) >= costs().computed_in_row_bytes:
                yield each.result


def _begun(region: Region, row: Value, uses: UseCounts) -> Region:
    ops = []
    for op in region.ops:
        now = map_regions(op, lambda inner: _begun(inner, row, uses))
        if op.name == "for" and any(row in each.results for each in op.regions[0].ops):
            now = _in_row(op, row, uses)
        ops.append(now)
    same = all(a is b for a, b in zip(ops, region.ops))
    return region if same else Region(region.params, tuple(ops), region.yields)


def _in_row(op: Op, row: Value, uses: UseCounts) -> Op:
    """The loop ``op`` with all of the calls that lead to the one that writes to ``row`` there."""
    body = Loop(op).body
    makers = {each.result: each for each in body.ops if len(each.results) == 1}
    last = next(each for each in body.ops if each.name == "into" and each.operands[-1] is row)
    calls: list[Op] = []
    mixes = not _is_ufunc(last.attrs["text"])
    while not mixes:
        made = [makers[o] for o in (calls[-1] if calls else last).operands if o in makers]
        fits = (m for m in made if m.result.type == row.type and uses.get(m.result) == 1)
        call = next((m for m in fits if accepts_destination(m)), None)
        if call is None:
            break
        calls.append(call)
        mixes = calls_of(call)[0].ufunc is None
    if not calls:
        return op
    ops: list[Op] = []
    for each in body.ops:
        if each is calls[-1]:
            ops.append(makers[row])
        if each in calls:
            builder = Builder()
            with builder:
                compute_into(builder, each, row)
            ops += builder.ops
        elif each is not makers[row]:
            ops.append(each)
    changed = Region(body.params, tuple(ops), body.yields)
    return replace(op, regions=(*op.regions[:-1], changed))


def _is_ufunc(text: str) -> bool:
    """Whether ``text`` is one call, element by element."""
    name = re.match(r"np\.(\w+)\(", text)
    return name is not None and isinstance(getattr(np, name[1], None), np.ufunc)
