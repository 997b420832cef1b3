"""Writes parts of arrays where they stand, instead of into copies, where nobody can tell.

``set_item``, ``add_at`` and their kin give a new array: in a loop over its items that would copy
all of it each time. So after all optimisation the old array may be changed if it is this function's
own and is not read afterwards. Whether that is so is not argued here: all changes are made, and
``conflicts``, which runs the program with pieces of memory for values, says what hinders which of
them. What hinders is mended where that costs less than the copy (``resolve_conflicts.py``); else
the write that hinders stays a copy, and the program is run again.

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
from autodiff_compiler.ir.nodes import Function, Op, Value
from autodiff_compiler.ir.verify.conflicts import Conflict
from autodiff_compiler.ir.verify.memory_safety import conflicts
from autodiff_compiler.passes.core.traversal import rewrite_region, with_body
from autodiff_compiler.passes.memory.resolve_conflicts import ConflictResolver


def update_arrays_in_place(function: Function) -> Function:
    """Marks the writes to parts of arrays that may happen in place."""
    sites = {op.result for op in function.body.walk() if _may_change(op)}
    mender, rounds = ConflictResolver(), costs().overwrite_rounds
    for turn in range(len(sites) + rounds):
        marked = _marked(function, sites)
        against = conflicts(marked) if sites else []
        if not against:
            return marked
        left = against
        if turn < rounds:
            function, left = mender.mended(function, marked, against)
        sites -= _writers(left) or (sites if left else set())
    return function


def _writers(against: Sequence[Conflict]) -> set[Value]:
    """The results of the writes that stay copies; none where it is not known which should."""
    writers = {conflict.writer for conflict in against}
    return set() if None in writers else {op.result for op in writers if op is not None}


def _may_change(op: Op) -> bool:
    """Whether it changes an array of another value; a cast on the way would need a new one. What
    has no axes may be a number of NumPy's, which cannot be written to."""
    array = op.operands[0] if op.opdef.writes else None
    if not isinstance(array, Value) or array.type != op.result.type:
        return False
    has_axes = any(item not in ("...", None) for item in op.attrs.get("index", ((),)))
    shape = getattr(array.type, "shape", None)
    return has_axes if shape is None else bool(shape)


def _marked(function: Function, sites: Set[Value]) -> Function:
    def visit(op: Op) -> Sequence[Op]:
        if any(result in sites for result in op.results):
            return (replace(op, attrs={**op.attrs, "in_place": True}),)
        return (op,)

    return with_body(function, rewrite_region(function.body, {}, visit))
