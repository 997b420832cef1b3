"""Writes parts of arrays where they stand, instead of into copies, where nobody can tell.

``set_item`` and ``add_at`` give a new array: in a loop over its items that would copy all of it
each time. So after all optimisation the old array may be changed if it is this function's own and
is not read afterwards. Whether that is so is not argued here: the change is made, and
``check_writes``, which runs the program with pieces of memory for values, says whether anybody
would read what was spoilt. Where only the way into a loop hinders, the array is copied once,
before the loop.

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

from autodiff_compiler.analysis.ways import Ways
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.memory import check_writes
from autodiff_compiler.ir.nodes import Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_regions
from autodiff_compiler.operators.structure import copy
from autodiff_compiler.passes.sweep import sweep, with_body

CHANGES = ("add_at", "sub_at", "add_along", "set_item")


def overwrite(function: Function) -> Function:
    """Marks the writes to parts of arrays that may happen in place."""
    sites = [op.result for op in function.body.walk() if _may_change(op)]
    if not sites:
        return function
    together = _marked(function, set(sites))
    if is_sound(together):
        return together
    for site in sites:
        for tried in (function, _entered(function, site)):
            marked = _marked(tried, {site})
            if is_sound(marked):
                function = marked
                break
    return function


def _may_change(op: Op) -> bool:
    """Whether it changes an array of another value; a cast on the way would need a new one."""
    array = op.operands[0] if op.name in CHANGES else None
    return isinstance(array, Value) and array.type == op.result.type


class _Unsound(Exception):
    pass


def is_sound(function: Function) -> bool:
    """Whether nothing is read in ``function`` after it was overwritten."""

    def demand(holds: bool, _: str) -> None:
        if not holds:
            raise _Unsound

    try:
        check_writes(function, demand)
    except _Unsound:
        return False
    return True


def _marked(function: Function, sites: Set[Value]) -> Function:
    def visit(op: Op) -> Sequence[Op]:
        if any(result in sites for result in op.results):
            return (replace(op, attrs={**op.attrs, "in_place": True}),)
        return (op,)

    return with_body(function, sweep(function.body, {}, visit))


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
            if isinstance(init, Value) and init.type == site.type and is_set(init):
                copied = copy(init)
                copied.name, copied.given = loop.carry_params[number].name, True
                operands[first + number] = copied
    return [*builder.ops, replace(op, operands=tuple(operands))]


__all__ = ["is_sound", "overwrite"]
