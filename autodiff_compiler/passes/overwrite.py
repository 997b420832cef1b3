"""Writes parts of arrays where they stand, instead of into copies, where nobody can tell.

``set_item``, ``add_at`` and their kin give a new array: in a loop over its items that would copy
all of it each time. So after all optimisation the old array may be changed if it is this function's
own and is not read afterwards. Whether that is so is not argued here: the change is made, and
``is_sound``, which runs the program with pieces of memory for values, says whether anybody
would read what was spoilt. Where others read small parts of the old array later, those are copied,
or taken before; where only the way into a loop hinders, the array is copied once, before the loop.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.text import parse_function, print_function
>>> before = parse_function('''
... func @f(%v: f32[], %n: int) -> (f32[9]) {
...   %z: f32[9] = full {dtype='float32', shape=(9,), value=0}
...   %a: f32[9], %m: int = for %p, %i in (0, %n, 1) carry (%c: f32[9] = %z) {
...     %d: f32[9] = add_at %c, %v, %i {index=(('op', 0),)}
...     yield carry %d
...   }
...   return %a
... }
... ''')
>>> print(print_function(overwrite(before)), end='')
func @f(%v: f32[], %n: int) -> (f32[9]) {
  %z: f32[9] = full {dtype='float32', shape=(9,), value=0}
  %a: f32[9], %m: int = for %p, %i in (0, %n, 1) carry (%c: f32[9] = %z) {
    %d: f32[9] = add_at %c, %v, %i {in_place=True, index=(('op', 0),)}
    yield carry %d
  }
  return %a
}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace

from autodiff_compiler.analysis.trips import computes_with
from autodiff_compiler.analysis.ways import Ways
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.nodes import Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_regions
from autodiff_compiler.ir.types import size_of
from autodiff_compiler.ir.writes import is_sound
from autodiff_compiler.operators.structure import copy
from autodiff_compiler.passes.sweep import half_by_half, sweep, with_body

#: How many times smaller a part is than the whole that is copied for its sake, or not.
SMALL = 2
CHANGES = ("add_at", "sub_at", "add_along", "raise_at", "set_item")


def overwrite(function: Function) -> Function:
    """Marks the writes to parts of arrays that may happen in place."""
    sites = [op.result for op in function.body.walk() if _may_change(op)]
    return half_by_half(function, sites, _in_place, _prepared)


def _in_place(function: Function, sites: Sequence[Value]) -> Function | None:
    """``function`` with the writes ``sites`` in place, if nobody minds."""
    marked = _marked(function, set(sites))
    return marked if is_sound(marked) else None


def _prepared(function: Function, site: Value) -> Function:
    """``function`` with ``site`` in place after a copy of what hinders, if that helps."""
    for tried in (_spared, _entered):
        marked = _in_place(tried(function, site), [site])
        if marked is not None:
            return marked
    return function


def _may_change(op: Op) -> bool:
    """Whether it changes an array of another value; a cast on the way would need a new one."""
    array = op.operands[0] if op.name in CHANGES else None
    return isinstance(array, Value) and array.type == op.result.type


def _marked(function: Function, sites: Set[Value]) -> Function:
    def visit(op: Op) -> Sequence[Op]:
        if any(result in sites for result in op.results):
            return (replace(op, attrs={**op.attrs, "in_place": True}),)
        return (op,)

    return with_body(function, sweep(function.body, {}, visit))


def _spared(function: Function, site: Value) -> Function:
    """``function`` with small parts of what ``site`` changes, read later, copied before that."""

    def region(inner: Region) -> Region:
        ops = [map_regions(op, region) for op in inner.ops]
        for place, op in enumerate(ops):
            if site in op.results:
                later = {result for op in ops[place:] for result in op.results}
                late = [
                    op
                    for op in ops[place + 1 :]
                    if _is_small_part(op, ops[place]) and later.isdisjoint(op.operands)
                ]
                ops = [each for each in ops if each not in late]
                ops[place:place] = [each for op in late for each in _copied(op)]
                break
        same = all(a is b for a, b in zip(ops, inner.ops))
        return inner if same else Region(inner.params, tuple(ops), inner.yields)

    return with_body(function, region(function.body))


def _is_small_part(op: Op, change: Op) -> bool:
    """Whether ``op`` takes a part of what ``change`` changes, at a place that the text tells, or by
    an array of places."""
    takes = op.name == "index" and op.operands[0] is change.operands[0]
    takes = takes and (len(op.operands) == 1 or not op.viewed)
    return takes and 0 < SMALL * size_of(op.result.type) <= size_of(op.types[0])


def _copied(op: Op) -> Sequence[Op]:
    if not op.viewed:
        return [op]
    builder = Builder()
    with builder, builder.at(op.span, op.about):
        copy(builder.make(op.opdef, op.operands, op.attrs))
    return [*builder.ops[:-1], replace(builder.ops[-1], results=op.results)]


def _entered(function: Function, site: Value) -> Function:
    """``function`` with copies of what every loop around ``site`` that carries such an array is
    entered with, but for what may not be set yet."""
    ways = Ways(function)

    def is_set(value: Value) -> bool:
        return value in function.params or not ways.may_be_unset(value)

    def visit(op: Op) -> list[Op]:
        inside = (each for inner in op.regions for each in inner.walk())
        if not any(site in each.results for each in inside):
            return [op]
        now = map_regions(op, region)
        return _with_copies(now, site, is_set) if op.name in ("for", "while") else [now]

    def region(inner: Region) -> Region:
        ops = tuple(each for op in inner.ops for each in visit(op))
        return Region(inner.params, ops, inner.yields)

    return with_body(function, region(function.body))


def _with_copies(op: Op, site: Value, is_set: Callable[[Value], bool]) -> list[Op]:
    builder, loop, operands = Builder(), Loop(op), list(op.operands)
    first = len(operands) - len(loop.reads) - len(loop.inits)
    with builder, builder.at(op.span, op.about):
        for number, init in enumerate(loop.inits):
            if not isinstance(init, Value) or init.type != site.type:
                continue
            if is_set(init) or computes_with(loop, loop.carry_params[number]):
                copied = copy(init)
                copied.name, copied.given = loop.carry_params[number].name, True
                operands[first + number] = copied
    return [*builder.ops, replace(op, operands=tuple(operands))]
