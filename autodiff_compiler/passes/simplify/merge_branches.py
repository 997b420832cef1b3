"""Branches on one test are joined: what an ``if`` is told by a flag that another ``if`` set, to
say which way it went, is done on that way.

Exceptions and early exits are flags after desugaring; with this they are branches again. The second
``if`` goes to the place of the first or the first to that of the second, whichever what stands
between allows.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: float, %bad: bool) -> (float) {
...   %nothing: undefined = undefined
...   %y: float, %thrown: bool = if %bad {
...     yield %nothing, True
...   } else {
...     %a: float = neg %x
...     yield %a, False
...   }
...   %z: float = if %thrown {
...     yield 0.0
...   } else {
...     yield %y
...   }
...   return %z
... }
... ''')
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> print(print_function(dce(merge_branches(before))), end='')
func @f(%x: float, %bad: bool) -> (float) {
  %z: float = if %bad {
    yield 0.0
  } else {
    %a: float = neg %x
    yield %a
  }
  return %z
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.analysis.path_conditions import PathConditions
from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import free_values, map_regions, substitute, uses_of
from autodiff_compiler.passes.core.traversal import with_body


def merge_branches(function: Function) -> Function:
    """Joins branches on one test, and drops checks of variables that are set on every way."""
    if "if" not in function.op_names:
        return function
    joining = _Joining(function)
    return with_body(function, joining.region(function.body))


class _Joining:
    def __init__(self, function: Function):
        self.ways, self.effects = PathConditions(function), Effects()

    def region(self, region: Region) -> Region:
        ops = [map_regions(op, self.region) for op in region.ops]
        settled: dict[Value, AnyOperand] = {}
        place = 0
        while place < len(ops):
            op = ops[place]
            if op.name == "is_unset" and not self.ways.may_be_unset(op.operands[0]):
                settled[op.result] = False
            first = self.first_of(op, ops[:place])
            spot = None if first is None else self.spot(ops, first, place)
            if first is not None and spot is not None:
                made = self.joined(ops[first], op)
                if made is not None:
                    ops[spot] = made
                    del ops[first + place - spot]
                    place = min(first, place - 1)
                    continue
            place += 1
        if all(a is b for a, b in zip(ops, region.ops)) and len(ops) == len(region.ops):
            return substitute(region, settled)
        return substitute(replace(region, ops=tuple(ops)), settled)

    def first_of(self, op: Op, before: Sequence[Op]) -> int | None:
        """The place of the ``if`` that set the test of ``op`` to say which way it went."""
        test = op.operands[0] if op.name == "if" else None
        if not isinstance(test, Value) or self.ways.root(test)[0] is test:
            return None
        return next((n for n, other in enumerate(before) if test in other.results), None)

    def spot(self, ops: Sequence[Op], first: int, second: int) -> int | None:
        """Where both may stand, at the one's place or at the other's."""
        between = ops[first + 1 : second]
        busy = any(self.effects.has(op) for op in between)
        made = {result for op in between for result in op.results}
        if not made & uses_of(ops[second]).keys() and not (busy and self.effects.has(ops[second])):
            return first
        read = {value for op in between for value in uses_of(op)}
        if read & set(ops[first].results) or busy and self.effects.has(ops[first]):
            return None
        return second

    def joined(self, first: Op, second: Op) -> Op | None:
        """One ``if`` for both, unless a value would have another type than where it is read."""
        _, same = self.ways.root(_test(first))
        sides = second.regions
        if self.ways.root(_test(second))[1] is not same:
            sides = sides[::-1]
        regions = []
        for one, other in zip(first.regions, sides):
            news = dict(zip(first.results, one.yields))
            for value in free_values(Region((), other.ops, ())):
                if value in news and type_of(news[value]) != value.type:
                    return None
            further = substitute(other, news)
            regions.append(Region((), (*one.ops, *further.ops), (*one.yields, *further.yields)))
        results = (*first.results, *second.results)
        made = replace(first, regions=tuple(regions), results=results)
        self.ways.makers.update((result, made) for result in results)
        return made


def _test(op: Op) -> Value:
    test = op.operands[0]
    assert isinstance(test, Value)
    return test


__all__ = ["merge_branches"]
