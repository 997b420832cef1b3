"""What leaves an iteration is put where lay what entered it.

An array that a loop carries is made anew in each iteration: new memory, handed out and cleared,
and two of them at a time. What makes it by one call may put it into the memory of the old one,
where the loop's array is this function's own and nothing reads the old one later. As in
``update_arrays_in_place``, the change is made and ``is_memory_safe`` says whether anybody would
read what was spoilt; where only the way into the loop hinders, the array is copied once, before the
loop, and where others still read the old one for the same line, they go first.

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
    %d: f32[999] = into %c, %x, %c {text='np.add({0}, {1}, out={2})'}
    yield carry %d
  }
  return %a
}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from autodiff_compiler.analysis.path_conditions import PathConditions
from autodiff_compiler.analysis.trip_count import surely_reads, trip_count
from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.aliasing import AliasSet, alias_sets
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_regions, uses_of
from autodiff_compiler.ir.types import size_of
from autodiff_compiler.ir.verify.memory_safety import is_memory_safe
from autodiff_compiler.operators.core.structure import copy
from autodiff_compiler.passes.core.traversal import apply_where_safe, rewrite_region, with_body
from autodiff_compiler.passes.destinations.operation_calls import accepts_destination, compute_into
from autodiff_compiler.passes.destinations.template_calls import calls_of

LOOPS = ("for", "while")
#: What leaves an iteration, and what enters in its place.
Site: TypeAlias = tuple[Value, Value]


def carry_in_place(function: Function) -> Function:
    """``function`` with what loops carry, of ``medium_bytes`` or more, in one place."""
    if function.op_names.isdisjoint(LOOPS):
        return function
    sites = list(dict(_sites(function.body, alias_sets(function.body))).items())
    return apply_where_safe(function, sites, _in_one, _prepared)


def _in_one(function: Function, sites: Sequence[Site]) -> Function | None:
    """``function`` with what is made at ``sites`` put where it is carried, if nobody minds; it is
    put into no view, which may be stretched."""
    put = _put(function, dict(sites))
    return put if is_memory_safe(put, [param for _, param in sites]) else None


def _prepared(function: Function, site: Site) -> Function:
    """``function`` with what is made at ``site`` put where it is carried, after what else reads
    that, or with a copy before the loop, if that helps."""
    made, param = site
    late = _late(function, made, param)
    befores = dict.fromkeys((function, late))
    copied = (_entered(each, param) for each in befores)
    for tried in (late, *copied):
        put = None if tried is function else _in_one(tried, [site])
        if put is not None:
            return put
    return function


def _sites(region: Region, lies: Mapping[Value, AliasSet]) -> Iterator[Site]:
    """What leaves an iteration and is made by one call in it, with what enters in its place."""
    for op in region.ops:
        for inner in op.regions:
            yield from _sites(inner, lies)
        if op.name not in LOOPS:
            continue
        loop = Loop(op)
        makers = {result: each for each in loop.body.ops for result in each.results}
        for param, after in zip(loop.carry_params, loop.carry_yields):
            made = makers.get(after) if isinstance(after, Value) else None
            if made is None or len(made.results) != 1 or made.result.type != param.type:
                continue
            if size_of(param.type) >= costs().medium_bytes and _may_go(made, param, lies):
                yield made.result, param


def _may_go(made: Op, param: Value, lies: Mapping[Value, AliasSet]) -> bool:
    """Whether ``made`` is one call that may put what it makes where ``param`` is: one that mixes
    elements must not read there."""
    if not accepts_destination(made):
        return False
    if calls_of(made)[0].ufunc is not None:
        return True
    reads = (lies.get(o, frozenset()) for o in made.operands if isinstance(o, Value))
    return not any(lies[param] & each for each in reads)


def _put(function: Function, sites: Mapping[Value, Value]) -> Function:
    def visit(op: Op) -> Sequence[Op]:
        param = sites.get(op.results[0]) if len(op.results) == 1 else None
        if param is None:
            return (op,)
        builder = Builder()
        with builder:
            compute_into(builder, op, param)
        return builder.ops

    return with_body(function, rewrite_region(function.body, {}, visit))


def _late(function: Function, made: Value, param: Value) -> Function:
    """``function`` with ``made`` after what reads ``param`` for the same line of the user's, where
    only the next iteration waits for it."""

    def region(inner: Region) -> Region:
        ops = [map_regions(op, region) for op in inner.ops]
        places = [place for place, op in enumerate(ops) if made in op.results]
        readers = [place for place, op in enumerate(ops) if param in uses_of(op)]
        if places and readers and readers[-1] > places[0]:
            first, last = places[0], readers[-1]
            between = ops[first + 1 : last + 1]
            alike = all(op.span.line == ops[first].span.line for op in between)
            if alike and not any(made in uses_of(op) for op in between):
                ops[first : last + 1] = [*between, ops[first]]
        same = all(a is b for a, b in zip(ops, inner.ops))
        return inner if same else Region(inner.params, tuple(ops), inner.yields)

    return with_body(function, region(function.body))


def _entered(function: Function, param: Value) -> Function:
    """``function`` with a copy of what the loop that carries ``param`` is entered with."""
    ways = PathConditions(function)

    def visit(op: Op) -> Sequence[Op]:
        if op.name not in LOOPS or param not in Loop(op).carry_params:
            return (op,)
        loop, builder = Loop(op), Builder()
        number = loop.carry_params.index(param)
        init = loop.inits[number]
        few = trip_count(loop) in (0, 1)
        if few or not isinstance(init, Value) or init.type != param.type:
            return (op,)
        unsure = init not in function.params and ways.may_be_unset(init)
        if unsure and not surely_reads(loop, param):
            return (op,)
        with builder, builder.at(op.span, op.role):
            copied = copy(init)
        copied.name, copied.has_user_name = param.name, True
        operands = list(op.operands)
        operands[len(operands) - len(loop.reads) - loop.carries + number] = copied
        return (*builder.ops, replace(op, operands=tuple(operands)))

    return with_body(function, rewrite_region(function.body, {}, visit))
