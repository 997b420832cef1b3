"""Inlines calls that a loop makes for each item of an array.

``out[i] = step(out, i)`` reads few items in each iteration. But a call is differentiated as a
whole. Its backward returns the cotangent of all of ``out``, and the call returns a changed argument
as a new array. Each iteration would take time in the size of the array. In the body of the loop
itself the items are read and written in place.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @g(%a: f32[9], %i: int) -> (f32[]) {
...   %b: f32[] = index %a, %i {index=(('op', 0),)}
...   return %b
... }
... func @f(%x: f32[9], %z: f32[]) -> (f32[]) {
...   %y: f32[], %n: int = for %p, %i in (0, 9, 1) carry (%c: f32[] = %z) {
...     %v: f32[] = call @g(%x, %i)
...     %s: f32[] = add %c, %v
...     yield carry %s
...   }
...   return %y
... }
... ''')
>>> print(print_function(inline_element_calls(before)), end='')
func @f(%x: f32[9], %z: f32[]) -> (f32[]) {
  %y: f32[], %n: int = for %p, %i in (0, 9, 1) carry (%c: f32[] = %z) {
    %b: f32[] = index %x, %i {index=(('op', 0),)}
    %s: f32[] = add %c, %b
    yield carry %s
  }
  return %y
}
"""

from __future__ import annotations

from collections.abc import Iterator

from autodiff_compiler.analysis.versions import versions
from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import Function, Op, Region, Value
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.passes.core.traversal import on_all_functions
from autodiff_compiler.passes.simplify.inline_calls import inline_calls


def inline_element_calls(function: Function) -> Function:
    """Inlines calls in loops, if the callee reads or writes few items of an array.

    Does so in ``function`` and in every function that it calls.
    """
    accesses = _ItemAccesses()

    def changed(each: Function) -> Function:
        outside_loops = {op.results for op in _calls_outside_loops(each.body)}

        def should(op: Op) -> bool:
            callee = op.attrs["callee"]
            if op.results in outside_loops or "recompute" in op.attrs or not accesses.of(callee):
                return False
            return sum(1 for _ in callee.body.walk()) <= costs().inlined_operations

        return inline_calls(each, should) if "call" in each.op_names else each

    return on_all_functions(function, changed)


class _ItemAccesses:
    """The array parameters of which a function reads or writes items, by position."""

    def __init__(self) -> None:
        self.known: dict[Function, frozenset[int]] = {}

    def of(self, callee: Function) -> frozenset[int]:
        if callee not in self.known:
            self.known[callee] = frozenset()  # for a function that calls itself
            first = versions(callee.body)
            arrays = {first(value) for op in callee.body.walk() for value in self.in_op(op)}
            self.known[callee] = frozenset(
                position
                for position, param in enumerate(callee.params)
                if isinstance(param.type, ArrayType) and first(param) in arrays
            )
        return self.known[callee]

    def in_op(self, op: Op) -> Iterator[Value]:
        """Yields the arrays of which ``op`` reads or writes items."""
        places: frozenset[int] = frozenset()
        if op.name == "index" or op.opdef.writes:
            places = frozenset([0])
        elif op.name == "call":
            places = self.of(op.attrs["callee"])
        for place in places:
            if isinstance(array := op.operands[place], Value):
                yield array


def _calls_outside_loops(region: Region) -> Iterator[Op]:
    for op in region.ops:
        if op.name == "call":
            yield op
        elif op.name == "if":
            for inner in op.regions:
                yield from _calls_outside_loops(inner)
