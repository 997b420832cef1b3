"""Updates loop-carried arrays in place: the new value overwrites the buffer of the old one.

A loop allocates a carried array anew in each iteration, so that two of them exist at a time. If a
single call computes it, the call may write to the buffer of the old value. The loop's array must
belong to this function, and nothing may read the old value later. As in ``update_arrays_in_place``,
the pass makes the change. Then ``is_memory_safe`` decides if a value is read after its buffer was
overwritten. If only the initial value is in the way, the array is copied once, before the loop. If
other operations of the same line still read the old value, they go first. At level 1 only large
arrays are overwritten, and none is copied for that.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[999], %n: int) -> (f32[999]) {
...   %z: f32[999] = sin %x
...   %a: f32[999], %m: int = for %p, %i in (0, %n, 1) carry (%c: f32[999] = %z) {
...     %d: f32[999] = add %c, %x
...     yield carry %d
...   }
...   return %a
... }
... ''')
>>> print(print_function(carry_in_place(before)), end='')
func @f(%x: f32[999], %n: int) -> (f32[999]) {
  %z: f32[999] = sin %x
  %a: f32[999], %m: int = for %p, %i in (0, %n, 1) carry (%c: f32[999] = %z) {
    %d: f32[999] = compute_into %c, %x, %c {text='np.add({0}, {1}, out={2})'}
    yield carry %d
  }
  return %a
}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from autodiff_compiler.analysis.path_conditions import PathConditions
from autodiff_compiler.analysis.trip_count import surely_reads, trip_count
from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.aliasing import AliasSet, alias_sets
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.labels import WRITTEN_IN_LOOP
from autodiff_compiler.ir.nodes import Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_regions, producers_among, uses_of
from autodiff_compiler.ir.types import size_of
from autodiff_compiler.ir.verify.memory_safety import is_memory_safe
from autodiff_compiler.operators.core.structure import copy
from autodiff_compiler.passes.core.traversal import (
    apply_where_safe,
    rewrite_region,
    with_body,
    with_inits,
    with_ops,
)
from autodiff_compiler.passes.destinations.operation_calls import (
    accepts_destination,
    build_with_destination,
)
from autodiff_compiler.passes.destinations.template_calls import calls_of

LOOPS = ("for", "while")
#: The value that leaves an iteration, and the parameter by which it enters the next one.
Site: TypeAlias = tuple[Value, Value]


def carry_in_place(function: Function, readable: bool = False) -> Function:
    """Updates carried arrays of ``medium_bytes`` or more in place.

    With ``readable`` these are arrays of ``large_bytes`` or more, and no initial value is copied.
    """
    if function.op_names.isdisjoint(LOOPS):
        return function
    least = costs().large_bytes if readable else costs().medium_bytes
    sites = list(dict(_sites(function.body, alias_sets(function.body), least)).items())
    repair = partial(_updated_after_repair, copies=not readable)
    return apply_where_safe(function, sites, _updated_if_safe, repair)


def _updated_if_safe(function: Function, sites: Sequence[Site]) -> Function | None:
    """Returns ``function`` with updates in place at ``sites``, or None if that is not safe.

    The destination must be no view, which may be broadcast.
    """
    updated = _updated(function, dict(sites))
    return updated if is_memory_safe(updated, [param for _, param in sites]) else None


def _updated_after_repair(function: Function, site: Site, copies: bool) -> Function:
    """Returns ``function`` with an update in place at ``site``, if a repair makes that safe.

    A repair computes the value after other readers of the old one, or copies the initial value
    before the loop. Both are possible, too; without ``copies`` only the first is tried.
    """
    update, param = site
    delayed = _delayed(function, update, param)
    both = dict.fromkeys((function, delayed)) if copies else ()
    copied = (_with_copied_init(each, param) for each in both)
    for tried in (delayed, *copied):
        updated = None if tried is function else _updated_if_safe(tried, [site])
        if updated is not None:
            return updated
    return function


def _sites(region: Region, aliases: Mapping[Value, AliasSet], least: int) -> Iterator[Site]:
    """Yields the carried values of ``least`` bytes that a single call of the iteration computes."""
    for op in region.ops:
        for inner in op.regions:
            yield from _sites(inner, aliases, least)
        if op.name not in LOOPS:
            continue
        loop = Loop(op)
        makers = producers_among(loop.body.ops)
        for param, after in zip(loop.carry_params, loop.carry_yields):
            maker = makers.get(after)
            if maker is None or len(maker.results) != 1 or maker.result.type != param.type:
                continue
            if size_of(param.type) >= least and _may_write(maker, param, aliases):
                yield maker.result, param


def _may_write(op: Op, param: Value, aliases: Mapping[Value, AliasSet]) -> bool:
    """True if ``op`` is a single call that may write to the memory of ``param``.

    A call that mixes elements must not read from there.
    """
    if not accepts_destination(op):
        return False
    if calls_of(op)[0].ufunc is not None:
        return True
    reads = (aliases.get(o, frozenset()) for o in op.operands if isinstance(o, Value))
    return not any(aliases[param] & each for each in reads)


def _updated(function: Function, sites: Mapping[Value, Value]) -> Function:
    def visit(op: Op) -> Sequence[Op]:
        param = sites.get(op.results[0]) if len(op.results) == 1 else None
        if param is None:
            return (op,)
        builder = Builder()
        with builder:
            build_with_destination(builder, op, param)
        return builder.ops

    return with_body(function, rewrite_region(function.body, {}, visit))


def _delayed(function: Function, update: Value, param: Value) -> Function:
    """Returns ``function`` with ``update`` computed after the readers of ``param`` in the same
    line.

    Only the next iteration may wait for it.
    """

    def region(inner: Region) -> Region:
        ops = [map_regions(op, region) for op in inner.ops]
        places = [place for place, op in enumerate(ops) if update in op.results]
        readers = [place for place, op in enumerate(ops) if param in uses_of(op)]
        if places and readers and readers[-1] > places[0]:
            first, last = places[0], readers[-1]
            between = ops[first + 1 : last + 1]
            one_line = all(op.span.line == ops[first].span.line for op in between)
            if one_line and not any(update in uses_of(op) for op in between):
                ops[first : last + 1] = [*between, ops[first]]
        return with_ops(inner, ops)

    return with_body(function, region(function.body))


def _with_copied_init(function: Function, param: Value) -> Function:
    """Returns ``function`` with a copy of the initial value of the loop that carries ``param``."""
    paths = PathConditions(function)

    def visit(op: Op) -> Sequence[Op]:
        if op.name not in LOOPS or param not in Loop(op).carry_params:
            return (op,)
        loop, builder = Loop(op), Builder()
        number = loop.carry_params.index(param)
        init = loop.inits[number]
        few = trip_count(loop) in (0, 1)
        if few or not isinstance(init, Value) or init.type != param.type:
            return (op,)
        unsure = init not in function.params and paths.may_be_unset(init)
        if unsure and not surely_reads(loop, param):
            return (op,)
        with builder, builder.at(op.span, op.role), builder.with_aside(WRITTEN_IN_LOOP):
            copied = copy(init)
        copied.name, copied.has_user_name = param.name, True
        return (*builder.ops, with_inits(op, {number: copied}))

    return with_body(function, rewrite_region(function.body, {}, visit))
