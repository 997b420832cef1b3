"""Copy elision for arrays: updates of items and slices happen in place where that is memory-safe.

``set_item``, ``add_at`` and other updates return a new array: in a loop over the items, each
iteration would copy the array. After all optimisation the old array may be changed, if it belongs
to this function and is not read afterwards. The pass does not derive that: it marks all updates,
and ``conflicts``, an abstract interpretation of the memory, lists which values prevent which
updates. A conflict is resolved where that costs less than the copy (``resolve_conflicts.py``).
Otherwise the update stays a copy, and the interpretation is repeated, up to a fixed point without
conflicts.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
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
>>> print(print_function(update_arrays_in_place(before)), end='')
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

from collections.abc import Sequence, Set
from dataclasses import replace

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import Function, Op, Value, type_of
from autodiff_compiler.ir.verify.conflicts import Conflict
from autodiff_compiler.ir.verify.memory_safety import conflicts
from autodiff_compiler.passes.core.traversal import rewrite_region, with_body
from autodiff_compiler.passes.memory.resolve_conflicts import ConflictResolver


def update_arrays_in_place(function: Function) -> Function:
    """Marks the updates of arrays in ``function`` that may happen in place."""
    sites = {op.result for op in function.body.walk() if _may_update(op)}
    resolver, rounds = ConflictResolver(), costs().overwrite_rounds
    for number in range(len(sites) + rounds):
        marked = _marked(function, sites)
        reported = conflicts(marked) if sites else []
        if not reported:
            return marked
        unresolved = reported
        if number < rounds:
            function, unresolved = resolver.resolved(function, marked, reported)
        sites -= _writers(unresolved) or (sites if unresolved else set())
    return function


def _writers(reported: Sequence[Conflict]) -> set[Value]:
    """Returns the results of the updates that stay copies, or none if that is unknown of one."""
    writers = {conflict.writer for conflict in reported}
    return set() if None in writers else {op.result for op in writers if op is not None}


def _may_update(op: Op) -> bool:
    """True if ``op`` updates an array of another value without a cast, which would be a new one.

    An array without axes may be a NumPy scalar, which cannot be written to.
    """
    array = op.operands[0] if op.opdef.writes else None
    if not isinstance(array, Value) or array.type != op.result.type:
        return False
    shape = getattr(array.type, "shape", None)
    return _index_needs_axes(op) if shape is None else bool(shape)


def _index_needs_axes(op: Op) -> bool:
    """True if the update raises for an array without axes. A mask may have none itself."""
    if "index" not in op.attrs:
        return True
    for item in op.attrs["index"]:
        if isinstance(item, tuple) and item[0] == "op":
            mask = type_of(op.operands[2 + item[1]])
            if "bool" not in str(getattr(mask, "dtype", mask)) or getattr(mask, "shape", None):
                return True
        elif item not in ("...", None) and not isinstance(item, bool):
            return True
    return False


def _marked(function: Function, sites: Set[Value]) -> Function:
    def visit(op: Op) -> Sequence[Op]:
        if any(result in sites for result in op.results):
            return (replace(op, attrs={**op.attrs, "in_place": True}),)
        return (op,)

    return with_body(function, rewrite_region(function.body, {}, visit))
