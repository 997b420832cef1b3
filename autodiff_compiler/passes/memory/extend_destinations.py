"""Propagates a destination up a chain of calls (empty-tensor elimination).

An iteration computes ``u + v + w`` and stores it in row k. Two arrays are allocated on the way, and
the last sum is in a third place. Let each of them be made by a single call, and read by the next
call alone. Then all calls write to the row, one after the other. Nothing is allocated, and the next
operand is in the cache. The pass makes the change, and keeps it if ``is_memory_safe`` proves it. No
value may be read after its buffer was overwritten.

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
...     %d: f32[5000] = compute_into %c, 2.0, %r {text='np.add({0}, {1}, out={2})'}
...     %v: f32[9,5000] = after_write %d, %u
...     yield carry %v
...   }
...   return %a
... }
... ''')
>>> print(*print_function(extend_destinations(before)).splitlines()[3:7], sep="\\n")
    %r: f32[5000] = index %u, %p {index=(('op', 0),)}
    %b: f32[5000] = compute_into %x, %r {text='np.sin({0}, out={1})'}
    %c: f32[5000] = compute_into %b, %x, %r {text='np.multiply({0}, {1}, out={2})'}
    %d: f32[5000] = compute_into %c, 2.0, %r {text='np.add({0}, {1}, out={2})'}
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
from autodiff_compiler.ir.rewrite import (
    Producers,
    UseCounts,
    map_regions,
    producers_among,
    use_counts,
)
from autodiff_compiler.ir.types import size_of
from autodiff_compiler.ir.verify.memory_safety import is_memory_safe
from autodiff_compiler.passes.core.traversal import with_body, with_ops
from autodiff_compiler.passes.destinations.operation_calls import (
    accepts_destination,
    build_with_destination,
)
from autodiff_compiler.passes.destinations.template_calls import calls_of
from autodiff_compiler.passes.schedule.tile_elementwise import consumed_arrays


def extend_destinations(function: Function) -> Function:
    """Computes the operands of rows of ``computed_in_row_bytes`` or more in the rows themselves."""
    if "compute_into" not in function.op_names:
        return function
    for row in list(_written_rows(function.body)):
        before = _alias_candidates(function, row)
        changed = with_body(function, _retarget(function.body, row, use_counts(function.body)))
        if changed is function or not is_memory_safe(changed):
            continue
        if _alias_candidates(changed, row) == before:
            function = changed
    return function


def _alias_candidates(function: Function, row: Value) -> list[Value]:
    """Returns the arrays on which the array of ``row`` may be overlaid.

    An array is excluded if the earlier writes to the row would overwrite another row that is still
    read.
    """
    for op in function.body.walk():
        if op.name != "for":
            continue
        loop = Loop(op)
        maker = next((each for each in loop.body.ops if row in each.results), None)
        if maker is not None and maker.operands[0] in loop.carry_params:
            carry = loop.carry_params.index(maker.value_operand(0))
            return consumed_arrays(loop, carry, alias_sets(function.body))
    return []


def _written_rows(region: Region) -> Iterator[Value]:
    """Yields the rows of loop-carried arrays that a call writes to."""
    for op in region.ops:
        for inner in op.regions:
            yield from _written_rows(inner)
        if op.name != "for":
            continue
        loop = Loop(op)
        written = {each.operands[-1] for each in loop.body.ops if each.name == "compute_into"}
        for each in loop.body.ops:
            is_written = each.name == "index" and is_row(each) and each.result in written
            of_params = all(operand in loop.body.params for operand in each.operands)
            large = is_written and size_of(each.result.type) >= costs().computed_in_row_bytes
            if large and of_params:
                yield each.result


def _retarget(region: Region, row: Value, uses: UseCounts) -> Region:
    ops = []
    for op in region.ops:
        now = map_regions(op, lambda inner: _retarget(inner, row, uses))
        if op.name == "for" and any(row in each.results for each in op.regions[0].ops):
            now = _retarget_chain(op, row, uses)
        ops.append(now)
    return with_ops(region, ops)


def _retarget_chain(op: Op, row: Value, uses: UseCounts) -> Op:
    """Returns the loop ``op`` with ``row`` as destination of the calls that lead to its writer."""
    body = Loop(op).body
    makers = producers_among(each for each in body.ops if len(each.results) == 1)
    writer = next(
        each for each in body.ops if each.name == "compute_into" and each.operands[-1] is row
    )
    calls = _chain_to(writer, makers, uses)
    if not calls:
        return op
    ops: list[Op] = []
    for each in body.ops:
        if each is calls[-1]:
            ops.append(makers[row])
        if each in calls:
            builder = Builder()
            with builder:
                build_with_destination(builder, each, row)
            ops += builder.ops
        elif each is not makers[row]:
            ops.append(each)
    changed = Region(body.params, tuple(ops), body.yields)
    return replace(op, regions=(*op.regions[:-1], changed))


def _chain_to(writer: Op, makers: Producers, uses: UseCounts) -> list[Op]:
    """Returns the calls that lead to ``writer``, the last one first.

    A call that mixes elements cannot read the row, so that it begins the chain.
    """
    row = writer.value_operand(-1)
    calls: list[Op] = []
    elementwise, call = _is_ufunc(writer.attrs["text"]), writer
    while elementwise:
        operand_makers = [makers[operand] for operand in call.operands if operand in makers]
        alone = (m for m in operand_makers if m.result.type == row.type and uses.get(m.result) == 1)
        previous = next((m for m in alone if accepts_destination(m)), None)
        if previous is None:
            break
        calls.append(previous)
        elementwise, call = calls_of(previous)[0].ufunc is not None, previous
    return calls


def _is_ufunc(text: str) -> bool:
    """True if ``text`` is a call that computes each element by itself."""
    name = re.match(r"np\.(\w+)\(", text)
    return name is not None and isinstance(getattr(np, name[1], None), np.ufunc)
