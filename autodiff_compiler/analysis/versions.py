"""Versions of arrays, and the arrays that loops change by writing items.

In the IR every write makes a new array, a version of the one before. In memory all versions are one
array: to save one for each iteration, the array has to be copied in each.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> function = parse_function('''
... func @f(%x: f32[9]) -> (f32[9]) {
...   %y: f32[9], %m: int = for %p, %i in (0, 9, 1) carry (%c: f32[9] = %x) {
...     %v: f32[] = index %c {index=(0,)}
...     %d: f32[9] = set_item %c, %v, %i {index=(('op', 0),)}
...     yield carry %d
...   }
...   return %y
... }
... ''')
>>> sorted(value.name for value in changing(function.body))
['c', 'd']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from autodiff_compiler.ir.nodes import AnyOperand, Loop, Region, Value
from autodiff_compiler.ir.types import ArrayType


def changing(body: Region) -> frozenset[Value]:
    """Collects the versions, inside loops, of arrays whose items these loops write."""
    analysis = _Versions()
    analysis.region(body, in_loop=False)
    written = {analysis.first(value) for value in analysis.written}
    arrays = (value for value in analysis.inside if isinstance(value.type, ArrayType))
    return frozenset(value for value in arrays if analysis.first(value) in written)


def versions(body: Region) -> Callable[[Value], Value]:
    """Returns a function that maps a value to the representative of its array's versions."""
    analysis = _Versions()
    analysis.region(body, in_loop=False)
    return analysis.first


class _Versions:
    """Disjoint sets of values that are versions of one array, each with its ``first`` version."""

    def __init__(self) -> None:
        self.before: dict[Value, Value] = {}
        self.inside: set[Value] = set()
        self.written: set[Value] = set()

    def first(self, value: Value) -> Value:
        while (before := self.before.get(value, value)) is not value:
            self.before[value] = self.before.get(before, before)
            value = before
        return value

    def join(self, values: Iterable[AnyOperand]) -> None:
        arrays = [v for v in values if isinstance(v, Value) and isinstance(v.type, ArrayType)]
        for value in arrays[1:]:
            self.before[self.first(value)] = self.first(arrays[0])

    def region(self, region: Region, in_loop: bool) -> None:
        if in_loop:
            self.inside.update(region.params)
        for op in region.ops:
            if in_loop:
                self.inside.update(op.results)
            if op.opdef.writes:
                self.join((op.operands[0], op.result))
                self.written.update(op.results if in_loop else ())
            elif op.name == "if":
                for ends in zip(op.results, *(inner.yields for inner in op.regions)):
                    self.join(ends)
            elif op.regions:
                loop = Loop(op)
                tests = loop.condition.params if loop.condition else loop.carry_params
                ports = (loop.carry_params, tests, loop.inits, loop.carry_yields, loop.carried)
                for carry in zip(*ports):
                    self.join(carry)
            for inner in op.regions:
                self.region(inner, in_loop or op.name != "if")
