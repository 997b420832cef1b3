"""Large operations in parts: a softmax is an exponential, a sum and a quotient.

As one text such an operation makes arrays that nothing else knows of. In parts, each of them can be
told where to put its result (``assign_buffers``). A record says itself what its parts are; small
results keep the short text. Some are taken apart early, before anything is differentiated, as their
derivative is quicker in parts: that of a log-softmax then reads the exponentials that are there.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[300,200]) -> (f32[300,200]) {
...   %y!: f32[300,200] = softmax %x {axis=1}
...   return %y
... }
... ''')
>>> print(print_function(decompose(before)), end='')
func @f(%x: f32[300,200]) -> (f32[300,200]) {
  %max_x: f32[300,1] = max %x {axes=(1,), first=False, keepdims=True}
  %x_minus_max_x: f32[300,200] = sub %x, %max_x
  %exp_x_minus_max_x: f32[300,200] = exp %x_minus_max_x
  %sum_exp_x_minus_max_x: f32[300,1] = sum %exp_x_minus_max_x {axes=(1,), keepdims=True}
  %y!: f32[300,200] = div %exp_x_minus_max_x, %sum_exp_x_minus_max_x
  return %y
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Function, Op
from autodiff_compiler.ir.opdef import call_with_named, rule_arguments
from autodiff_compiler.ir.rewrite import Producers, producers, producers_among
from autodiff_compiler.ir.types import size_of
from autodiff_compiler.passes.core.traversal import rewrite_region, with_body

#: Operations that allocate an array that is filled later.
ALLOCATIONS = ("empty", "full")


def decompose(function: Function, when: str | None = None) -> Function:
    """Return ``function`` with composite operators decomposed.

    Without ``when`` these are all that make large results; with it, the operators whose record
    says so in ``OpDef.decompose_at``, which are decomposed earlier.
    """
    return _decompose_large(function) if when is None else _decompose_early(function, when)


def _decompose_large(function: Function) -> Function:
    def visit(op: Op) -> Sequence[Op]:
        if op.opdef.decompose is None or size_of(op.result.type) < costs().large_bytes:
            return (op,)
        found = _apart(op)
        return found if op in found else [part for each in found for part in visit(each)]

    return with_body(function, rewrite_region(function.body, {}, visit))


def _decompose_early(function: Function, when: str) -> Function:
    makers = producers(function.body)

    def visit(op: Op) -> Sequence[Op]:
        if op.opdef.decompose_at != when:
            return (op,)
        large, found = max(map(size_of, op.types)) >= costs().large_bytes, _apart(op)
        return found if large or _is_begun(found, makers) else (op,)

    return with_body(function, rewrite_region(function.body, {}, visit))


def _is_begun(parts: Sequence[Op], makers: Producers) -> bool:
    """Whether a part that reads another one is made already, if only that other one's shape is left
    out of sight."""
    inner = producers_among(parts)
    return any(_is_like(op, made, inner, makers)
               for op in parts if not inner.keys().isdisjoint(op.operands)
               for made in makers.values() if made.opdef is op.opdef)  # fmt: skip


def _is_like(part: Op, made: Op, inner: Producers, makers: Producers) -> bool:
    """Whether ``made`` computes what ``part`` does, of the same things, shapes aside."""
    attrs = [{**op.attrs, "keepdims": None, "shape": None} for op in (part, made)]
    if part.opdef is not made.opdef or attrs[0] != attrs[1]:
        return False
    for operand, other in zip(part.operands, made.operands):
        while other not in inner and (view := makers.get(other)) and view.name == "reshape":
            other = view.operands[0]
        if operand is other:
            continue
        both = inner.get(operand), makers.get(other)
        if None in both or not _is_like(*both, inner, makers):  # type: ignore[arg-type]
            return False
    return len(part.operands) == len(made.operands)


def _apart(op: Op) -> Sequence[Op]:
    assert op.opdef.decompose is not None
    builder = Builder()
    with builder, builder.at(op.span, op.role):
        found = call_with_named(op.opdef.decompose, rule_arguments(op.opdef, op.operands, op.attrs))
    if found is None or found.type != op.result.type:
        return (op,)
    for each in builder.ops:
        if each.name in ALLOCATIONS:
            each.result.name, each.result.has_user_name = op.result.name, op.result.has_user_name
    return [*builder.ops[:-1], replace(builder.ops[-1], results=op.results)]
