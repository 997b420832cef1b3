"""Loop-invariant code motion: hoists the operations whose operands no iteration changes.

A hoisted value need not be saved for each iteration either: the adjoint reads it from outside the
loop, as it reads a parameter. An operation is hoisted if nothing that it reads changes in the loop
and it has no effect. It must not fail where the loop would not run: its shapes are known, or the
loop is known to run. A view costs nothing and stays, unless a hoisted operation reads it.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[2,2], %w: f32[2,2], %n: int) -> (f32[2,2]) {
...   %a: f32[2,2], %m: int = for %p, %i in (0, %n, 1) carry (%c: f32[2,2] = %x) {
...     %t: f32[2,2] = transpose %w {perm=(1, 0)}
...     %e: f32[2,2] = exp %t
...     %u: f32[2,2] = matmul %c, %e
...     yield carry %u
...   }
...   return %a
... }
... ''')
>>> print(print_function(hoist_invariants(before)), end='')
func @f(%x: f32[2,2], %w: f32[2,2], %n: int) -> (f32[2,2]) {
  %t: f32[2,2] = transpose %w {perm=(1, 0)}
  %e: f32[2,2] = exp %t
  %a: f32[2,2], %m: int = for %p, %i in (0, %n, 1) carry (%c: f32[2,2] = %x) {
    %u: f32[2,2] = matmul %c, %e
    yield carry %u
  }
  return %a
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.analysis.trip_count import trip_count
from autodiff_compiler.ir.nodes import Function, Loop, Op, Value
from autodiff_compiler.ir.types import ArrayType, is_floating
from autodiff_compiler.passes.core.traversal import rewrite_named, with_ops

#: Kinds of operators whose results depend on their operands alone.
PURE = ("elementwise", "bilinear", "linear", "zero")


def hoist_invariants(function: Function) -> Function:
    """Hoists invariant operations out of the loops of ``function``, from the inside outward."""
    return rewrite_named(function, ("for", "while"), _visit)


def _visit(op: Op) -> Sequence[Op]:
    loop = Loop(op)
    runs = loop.is_for and bool(trip_count(loop))
    varying = set(loop.body.params)
    invariant: list[Op] = []
    for inner in loop.body.ops:
        reads_same = not any(operand in varying for operand in inner.operands)
        if reads_same and is_pure(inner) and (runs or _cannot_fail(inner)):
            invariant.append(inner)
        else:
            varying.update(inner.results)
    hoisted = _without_unread_views(invariant)
    if not hoisted:
        return (op,)
    body = with_ops(loop.body, [inner for inner in loop.body.ops if inner not in hoisted])
    return (*hoisted, replace(op, regions=(*op.regions[:-1], body)))


def _without_unread_views(invariant: Sequence[Op]) -> dict[Op, None]:
    """Returns the operations in order, without the views that none of them reads."""
    hoisted: list[Op] = []
    read: set[object] = set()
    for op in reversed(invariant):
        if not op.opdef.views or op.result in read:
            hoisted.append(op)
            read.update(op.operands)
    return dict.fromkeys(reversed(hoisted))


def is_pure(op: Op) -> bool:
    """True if the results of ``op`` depend on its operands alone, and it has no effect."""
    return not op.regions and not op.opdef.effect and op.opdef.kind in PURE


def _cannot_fail(op: Op) -> bool:
    """True if NumPy raises no exception here, whatever the numbers are."""
    types = [operand.type for operand in op.operands if isinstance(operand, Value)]
    return all(
        isinstance(type_, ArrayType) and type_.has_static_shape and is_floating(type_)
        for type_ in (*types, op.result.type)
    )


__all__ = ["hoist_invariants"]
