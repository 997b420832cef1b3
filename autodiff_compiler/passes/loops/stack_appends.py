"""Scalar replacement of a list: an append in each iteration becomes a stacked loop output.

``outs.append(h)`` in a loop with ``ops.stack(outs)`` after it is a list that the loop carries. Its
arrays exist twice once they are stacked, and their cotangents are taken off a list one by one. A
``stack`` port has an item for each iteration, and ``preallocate_tapes`` lets the loop fill the
array itself. The pass does so if only ``ops.stack`` reads the list, and a row has
``tape_row_bytes`` or more. The array must have a row for each iteration. A loop that reads the list
of an array's rows, as backward then does, reads the array instead.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[999]) -> (f32[4,999]) {
...   %e: list[undefined] = make_list
...   %l: list[f32[999]], %y: f32[999], %n: int = for %p, %k in (0, 4, 1) \\
... carry (%o: list[f32[999]] = %e, %c: f32[999] = %x) {
...     %s: f32[999] = sin %c
...     %a: list[f32[999]] = list_append %o, %s
...     yield carry %a, %s
...   }
...   %r: f32[4,999] = stack_rows %l {length=4}
...   return %r
... }
... '''.replace('\\\\\\n', ''))
>>> print(print_function(stack_appends(before)), end='')
func @f(%x: f32[999]) -> (f32[4,999]) {
  %e: list[undefined] = make_list
  %y: f32[999], %l: list[f32[999]], %n: int = for %p, %k in (0, 4, 1) carry (%c: f32[999] = %x) {
    %s: f32[999] = sin %c
    yield carry %s stack %s
  }
  %r: f32[4,999] = stack_rows %l {length=4}
  return %r
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.analysis.trip_count import tape_length
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, type_of
from autodiff_compiler.ir.rewrite import (
    Producers,
    UseCounts,
    map_regions,
    producers_among,
    use_counts,
)
from autodiff_compiler.ir.types import ListType
from autodiff_compiler.passes.core.traversal import with_body, with_ops


def stack_appends(function: Function) -> Function:
    """Replaces the carried lists of ``function`` that are only stacked by stack ports."""
    names = function.op_names
    if "for" not in names or not ("list_rows" in names or {"list_append", "stack_rows"} <= names):
        return function
    return with_body(function, _rewrite_region(function.body, use_counts(function.body)))


def _rewrite_region(region: Region, uses: UseCounts) -> Region:
    makers = producers_among(region.ops)
    stacked = {op.operands[0] for op in region.ops if op.name == "stack_rows"}
    ops: list[Op] = []
    for op in region.ops:
        now = map_regions(op, lambda inner: _rewrite_region(inner, uses))
        while now.name == "for" and (appended := _appended_list(Loop(now), makers, stacked, uses)):
            now = _with_stack_port(Loop(now), *appended)
        ops.append(_with_array_reads(now, makers) if now.name in ("for", "while") else now)
    return with_ops(region, ops)


def _with_array_reads(op: Op, makers: Producers) -> Op:
    """Returns the loop ``op`` with reads of arrays in place of lists of their rows."""
    reads = Loop(op).reads
    lists = [makers.get(each) for each in reads]
    arrays = tuple(
        each if maker is None or maker.name != "list_rows" else maker.operands[0]
        for each, maker in zip(reads, lists)
    )
    rest = len(op.operands) - len(reads)
    return op if arrays == reads else replace(op, operands=(*op.operands[:rest], *arrays))


def _appended_list(
    loop: Loop, makers: Producers, stacked: set[AnyOperand], uses: UseCounts
) -> tuple[int, Op] | None:
    """Returns the number of a carried list that is only stacked, and its append."""
    appends = producers_among(op for op in loop.body.ops if op.name == "list_append")
    for number, (init, param, after, result) in enumerate(
        zip(loop.inits, loop.carry_params, loop.carry_yields, loop.carried)
    ):
        append, start = appends.get(after), makers.get(init)
        if append is None or start is None or append.operands[0] is not param:
            continue
        alone = uses.get(param) == uses.get(append.result) == uses.get(result) == 1
        item = type_of(append.operands[1])
        fits = result.type == ListType(item) and tape_length(loop, item) is not None
        is_empty = start.name == "make_list" and not start.operands
        if alone and fits and is_empty and result in stacked:
            return number, append
    return None


def _with_stack_port(loop: Loop, number: int, append: Op) -> Op:
    """Returns ``loop`` with a stack port for the appended item in place of the carry."""
    op, body = loop.op, loop.body
    first, lead = len(loop.bounds), len(body.params) - len(loop.carry_params) - len(loop.reads)
    count, result = loop.carries, loop.carried[number]
    yields = _without(body.yields, number)
    last = count - 1 + len(loop.stacked)
    new_body = Region(
        _without(body.params, lead + number),
        tuple(each for each in body.ops if each is not append),
        (*yields[:last], append.operands[1], *yields[last:]),
    )
    return replace(
        op,
        operands=_without(op.operands, first + number),
        attrs={**op.attrs, "carries": count - 1},
        results=(*_without(op.results, number)[:-1], result, loop.count),
        regions=(new_body,),
    )


def _without(values: Sequence, place: int) -> tuple:
    return (*values[:place], *values[place + 1 :])
