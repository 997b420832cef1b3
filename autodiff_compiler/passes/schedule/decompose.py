"""Decomposes composite operators: a softmax is an exponential, a sum and a quotient.

As one expression such an operator allocates arrays that no pass can see. Each part of the
decomposition can be given a destination (``assign_buffers``). The operator's definition states the
decomposition; operators with small results keep the short text. Some are decomposed early, before
differentiation, because the parts have a cheaper derivative: that of a log-softmax then reads
exponentials that exist already.

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
  %shifted: f32[300,200] = sub %x, %max_x
  %powers: f32[300,200] = exp %shifted
  %sum_powers: f32[300,1] = sum %powers {axes=(1,), keepdims=True}
  %y!: f32[300,200] = div %powers, %sum_powers
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


#: Operators whose parts a person writes, too: ``x * x * x`` takes a hundredth of ``x**3``.
READABLE_PARTS = ("pow",)


def decompose(function: Function, when: str | None = None, readable: bool = False) -> Function:
    """Decomposes composite operators of ``function``.

    Without ``when`` these are all operators with large results. With it, they are the operators
    whose definition says so in ``OpDef.decompose_at``, which are decomposed earlier. With
    ``readable`` they are large powers alone.
    """
    return _decompose_early(function, when) if when else _decompose_large(function, readable)


def _decompose_large(function: Function, readable: bool) -> Function:
    def visit(op: Op) -> Sequence[Op]:
        if op.opdef.decompose is None or size_of(op.result.type) < costs().large_bytes:
            return (op,)
        if readable and op.name not in READABLE_PARTS:
            return (op,)
        parts = _parts(op)
        return parts if op in parts else [part for each in parts for part in visit(each)]

    return with_body(function, rewrite_region(function.body, {}, visit))


def _decompose_early(function: Function, when: str) -> Function:
    makers = producers(function.body)

    def visit(op: Op) -> Sequence[Op]:
        if op.opdef.decompose_at != when:
            return (op,)
        large, parts = max(map(size_of, op.types)) >= costs().large_bytes, _parts(op)
        return parts if large or _shares_a_part(parts, makers) else (op,)

    return with_body(function, rewrite_region(function.body, {}, visit))


def _shares_a_part(parts: Sequence[Op], makers: Producers) -> bool:
    """True if the function already computes a part that reads another part."""
    inner = producers_among(parts)
    dependent = [op for op in parts if not inner.keys().isdisjoint(op.operands)]
    return any(
        _computes_same(op, other_op, inner, makers)
        for op in dependent
        for other_op in makers.values()
        if other_op.opdef is op.opdef
    )


def _computes_same(part: Op, other_op: Op, inner: Producers, makers: Producers) -> bool:
    """True if ``other_op`` computes the same elements as ``part``, perhaps in another shape."""
    attrs = [{**op.attrs, "keepdims": None, "shape": None} for op in (part, other_op)]
    if part.opdef is not other_op.opdef or attrs[0] != attrs[1]:
        return False
    for operand, other in zip(part.operands, other_op.operands):
        while other not in inner and (view := makers.get(other)) and view.name == "reshape":
            other = view.operands[0]
        if operand is other:
            continue
        one, two = inner.get(operand), makers.get(other)
        if one is None or two is None or not _computes_same(one, two, inner, makers):
            return False
    return len(part.operands) == len(other_op.operands)


def _parts(op: Op) -> Sequence[Op]:
    """Returns the decomposition of ``op``, or ``op`` alone if there is none for its types."""
    assert op.opdef.decompose is not None
    builder = Builder()
    with builder, builder.at(op.span, op.role):
        result = call_with_named(
            op.opdef.decompose, rule_arguments(op.opdef, op.operands, op.attrs)
        )
    if result is None or result.type != op.result.type:
        return (op,)
    for each in builder.ops:
        if each.name in ALLOCATIONS:
            each.result.name, each.result.has_user_name = op.result.name, op.result.has_user_name
    return [*builder.ops[:-1], replace(builder.ops[-1], results=op.results)]
