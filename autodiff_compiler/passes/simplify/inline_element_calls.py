"""Writes calls out that a loop makes for the sake of an array's parts.

``out[i] = step(out, i)`` reads few items in each iteration. But a call is differentiated as a
whole: its backward returns the cotangent of all of ``out``, and what it changes of its arguments it
gives back as a new array. That would take as long as the array is, in every iteration. In the body
of the loop itself the items are read, and written, where they are.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @g(%a: f32[9], %i: int) -> (f32[]) {
...   %b: f32[] = index %a, %i {index=(('op', 0),)}
...   return %b
... }
... func @f(%x: f32[9]) -> (float) {
...   %y: f32[], %n: int = for %p, %i in (0, 9, 1) carry (%c: f32[] = %x) {
...     %v: f32[] = call @g(%x, %i)
...     yield carry %v
...   }
...   return %y
... }
... ''')
>>> print(print_function(inline_element_calls(before)), end='')
func @f(%x: f32[9]) -> (f32[]) {
  %y: f32[], %n: int = for %p, %i in (0, 9, 1) carry (%c: f32[] = %x) {
    %b: f32[] = index %x, %i {index=(('op', 0),)}
    yield carry %b
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
    """``function`` and all that it calls, with calls written out that loops make with arrays of
    which few items are read or written."""
    known: dict[Function, frozenset[int]] = {}

    def taken(callee: Function) -> frozenset[int]:
        """The parameters of which ``callee`` reads or writes parts."""
        if callee not in known:
            known[callee] = frozenset()
            known[callee] = frozenset(_parted_params(callee))
        return known[callee]

    def _parted_params(callee: Function) -> Iterator[int]:
        first = versions(callee.body)
        parts = {first(value) for op in callee.body.walk() for value in parts_in(op)}
        for position, param in enumerate(callee.params):
            if isinstance(param.type, ArrayType) and first(param) in parts:
                yield position

    def parts_in(op: Op) -> Iterator[Value]:
        places: frozenset[int] = frozenset()
        if op.name == "index" or op.opdef.writes:
            places = frozenset([0])
        elif op.name == "call":
            places = taken(op.attrs["callee"])
        for place in places:
            if isinstance(array := op.operands[place], Value):
                yield array

    def changed(each: Function) -> Function:
        outside = {op.results for op in _calls(each.body)}

        def should(op: Op) -> bool:
            if op.results in outside or "recompute" in op.attrs or not taken(op.attrs["callee"]):
                return False
            return sum(1 for _ in op.attrs["callee"].body.walk()) <= costs().written_out_operations

        return inline_calls(each, should) if "call" in each.op_names else each

    return on_all_functions(function, changed)


def _calls(region: Region) -> Iterator[Op]:
    """The calls that are in no loop."""
    for op in region.ops:
        if op.name == "call":
            yield op
        elif op.name == "if":
            for inner in op.regions:
                yield from _calls(inner)
