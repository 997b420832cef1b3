"""Rules for broadcast operands.

Arithmetic broadcasts its operands by itself, and puts leading ones before a shape. Arithmetic on a
broadcast array and numbers moves before the broadcast, to fewer elements.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> before = parse_function('''
... func @f(%x: f32[8,9], %c: f32[]) -> (f32[8,9]) {
...   %a: f32[8,9] = broadcast_to %c {shape=(8, 9)}
...   %b: f32[8,9] = div %a, 72
...   %y!: f32[8,9] = mul %x, %b
...   return %y
... }
... ''')
>>> print(print_function(dce(simplify_algebra(before))), end='')
func @f(%x: f32[8,9], %c: f32[]) -> (f32[8,9]) {
  %scaled_c: f32[] = div %c, 72
  %y!: f32[8,9] = mul %x, %scaled_c
  return %y
}
"""

from __future__ import annotations

import math
from typing import Any

from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.passes.core.patterns import Match, Rule

#: The dtypes in which a product is as exact as a sum of equal terms.
EXACT_SUMS = ("float32", "float64")


def _without_broadcast(match: Match) -> Any:
    """Returns ``narrow + x`` for ``broadcast_to(narrow) + x``, if x has the full shape.

    If no operand has, the sum is computed on fewer elements and broadcast after. A symbolic size is
    the same number everywhere, so equal types have equal shapes.
    """
    type_ = match.op.result.type
    if not isinstance(type_, ArrayType) or type_.shape is None or None in type_.shape:
        return None
    inner = [match.argument_of(operand, "broadcast_to") for operand in match.operands]
    for place, narrow in enumerate(inner):
        if narrow is not ...:
            operands = list(match.operands)
            operands[place] = narrow
            result = match.op.opdef(*operands)
            if result.type == type_:
                return result
            if type_.is_static:
                return OPERATORS["broadcast_to"](result, shape=type_.shape)
    return None


def _broadcast_after(match: Match) -> Any:
    """Returns ``broadcast_to(-x)`` for ``-broadcast_to(x)``; likewise for products with numbers."""
    arrays = [operand for operand in match.operands if isinstance(operand, Value)]
    maker = match.made_by(arrays[0], "broadcast_to") if len(arrays) == 1 else None
    if maker is None:
        return None
    narrow, *sizes = maker.operands
    operands = [narrow if isinstance(o, Value) else o for o in match.operands]
    return OPERATORS["broadcast_to"](match.op.opdef(*operands), *sizes, **maker.attrs)


def _sum_of_broadcast(match: Match) -> Any:
    """Returns ``x * n`` for the sum of ``broadcast_to(x)`` in a derivative: n terms for each
    element.
    """
    narrow = match.argument_of(match.operands[0], "broadcast_to")
    if narrow is ... or match.op.role == "primal":
        return None
    types: Any = [type_of(narrow), type_of(match.operands[0]), match.op.result.type]
    if not all(isinstance(each, ArrayType) and each.is_static for each in types):
        return None
    few, many, left = (each.shape for each in types)
    if types[2].dtype not in EXACT_SUMS or 0 in many:
        return None  # a sum of nothing is 0, also of infinities
    axes, first = match.op.attrs["axes"], len(many) - len(few)
    over = range(len(many)) if axes is None else axes
    if any(axis >= first and few[axis - first] != 1 for axis in over):
        return None
    total = narrow * float(math.prod(many) // math.prod(left))
    if math.prod(few) == math.prod(left):
        return OPERATORS["reshape"](total, shape=left)
    return OPERATORS["broadcast_to"](total, shape=left) if not few else None


def _without_leading_ones(match: Match) -> Any:
    """Returns ``x + y`` for ``reshape(x) + y``, if the reshape only adds leading ones."""
    for place, operand in enumerate(match.operands):
        maker, other = match.made_by(operand, "reshape"), match.operands[1 - place]
        shape, other_type = getattr(type_of(operand), "shape", None), type_of(other)
        if maker is None or not shape or None in shape or shape[0] != 1:
            continue
        if not isinstance(other_type, ArrayType) or (other_type.ndim or 0) < len(shape):
            continue
        if shape == other_type.shape:
            continue
        first = next((k for k, dim in enumerate(shape) if dim != 1), len(shape) - 1)
        if first:
            operands = list(match.operands)
            operands[place] = OPERATORS["reshape"](maker.operands[0], shape=shape[first:])
            return match.op.opdef(*operands)
    return None


def _permuted(match: Match) -> Any:
    """Returns a broadcast of one number for a transpose or reshape of a broadcast of it."""
    maker, type_ = match.made_by(match.operands[0], "broadcast_to"), match.op.result.type
    if maker is None or not isinstance(type_, ArrayType) or not type_.is_static:
        return None
    if getattr(type_of(maker.operands[0]), "shape", None) != ():
        return None
    return OPERATORS["broadcast_to"](maker.operands[0], shape=type_.shape)


def _sum_of_permuted(match: Match) -> Any:
    """Returns the sum of all elements of x for that of a transpose or reshape of x."""
    axes, (x, *_) = match.op.attrs["axes"], match.operands
    rank = getattr(type_of(x), "ndim", None)
    if rank is None or match.op.attrs["keepdims"] or axes is not None and len(axes) != rank:
        return None
    maker = match.made_by(x, "transpose") or match.made_by(x, "reshape")
    if maker is None or len(maker.operands) != 1 or match.uses.get(x) != 1:
        return None
    inner = type_of(maker.operands[0])
    if not isinstance(inner, ArrayType) or not inner.ndim:
        return None
    every = tuple(range(inner.ndim))
    return match.op.opdef(maker.operands[0], **{**match.op.attrs, "axes": every})


def _broadcast_product(match: Match) -> Any:
    """Returns a broadcast product for the matrix product of a column of one number and a row.

    It is a cotangent of ones that meets the last layer.
    """
    type_ = match.op.result.type
    if not isinstance(type_, ArrayType) or type_.ndim != 2 or not type_.is_static:
        return None
    if match.op.role == "primal":
        return None  # a matrix product turns -0.0 into 0.0
    for factor, line in (match.operands, match.operands[::-1]):
        shape, value = getattr(type_of(factor), "shape", None), match.fill_value(factor)
        ranks = [getattr(type_of(each), "ndim", None) for each in (factor, line)]
        one = match.argument_of(factor, "broadcast_to")
        if getattr(getattr(one, "type", None), "shape", None) == ():
            value = one
        if value is None or shape is None or ranks != [2, 2]:
            continue
        if shape[match.operands.index(factor) ^ 1] == 1:
            return OPERATORS["broadcast_to"](line * value, shape=type_.shape)
    return None


BROADCASTING = (
    Rule("one number transposed", "transpose", _permuted),
    *(Rule(f"one number, {name}", name, _permuted) for name in ("expand_dims", "squeeze")),
    Rule("one number reshaped", "reshape", _permuted),
    *(Rule(f"{name} of permuted", name, _sum_of_permuted) for name in ("sum", "mean")),
    Rule("column of one number times a row", "matmul", _broadcast_product),
    *(Rule(f"broadcast after {name}", name, _broadcast_after) for name in ("neg", "mul", "div")),
    *(
        Rule(f"broadcast in {name}", name, _without_broadcast)
        for name in ("add", "sub", "mul", "div", "where", "maximum", "minimum")
    ),
    *(
        Rule(f"leading ones in {name}", name, _without_leading_ones)
        for name in ("add", "sub", "mul", "div")
    ),
    Rule("sum of broadcast", "sum", _sum_of_broadcast),
)
