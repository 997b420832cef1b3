"""Hoisting: what a loop computes alike in every iteration is computed once, before it.

Such a value need not be kept for each iteration either: the adjoint takes it from outside the loop,
as it takes a parameter. An operation moves if nothing it reads changes in the loop, if it has no
effect, and if it cannot fail where the loop would not have run at all: its shapes are known, or the
loop is known to run. A view costs nothing and stays, unless it is a view for something that moves.

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
from autodiff_compiler.ir.nodes import Function, Loop, Op, Region, Value
from autodiff_compiler.ir.types import ArrayType, is_floating
from autodiff_compiler.passes.core.traversal import rewrite_named

#: Kinds of operators that depend on their operands alone.
PURE = ("elementwise", "bilinear", "linear", "zero")


def hoist_invariants(function: Function) -> Function:
    """Moves out of loops, from the inside outward, what they compute alike every time."""
    return rewrite_named(function, ("for", "while"), _visit)


def _visit(op: Op) -> Sequence[Op]:
    loop = Loop(op)
    runs = loop.is_for and bool(trip_count(loop))
    changing = set(loop.body.params)
    alike: list[Op] = []
    for inner in loop.body.ops:
        same = not any(operand in changing for operand in inner.operands)
        if same and is_pure(inner) and (runs or _cannot_fail(inner)):
            alike.append(inner)
        else:
            changing.update(inner.results)
    moved = _worth_moving(alike)
    if not moved:
        return (op,)
    kept = tuple(inner for inner in loop.body.ops if inner not in moved)
    body = Region(loop.body.params, kept, loop.body.yields)
    return (*moved, replace(op, regions=(*op.regions[:-1], body)))


def _worth_moving(alike: Sequence[Op]) -> dict[Op, None]:
    """Without the views that nothing which moves is made of, in order."""
    moved: list[Op] = []
    needed: set[object] = set()
    for op in reversed(alike):
        if not op.opdef.views or op.result in needed:
            moved.append(op)
            needed.update(op.operands)
    return dict.fromkeys(reversed(moved))


def is_pure(op: Op) -> bool:
    """Whether ``op`` depends on its operands alone, and does nothing else."""
    return not op.regions and not op.opdef.effect and op.opdef.kind in PURE


def _cannot_fail(op: Op) -> bool:
    """Whether NumPy computes this without an exception, whatever the numbers are."""
    types = [operand.type for operand in op.operands if isinstance(operand, Value)]
    return all(
        isinstance(type_, ArrayType) and type_.has_static_shape and is_floating(type_)
        for type_ in (*types, op.result.type)
    )


__all__ = ["hoist_invariants"]
