"""Rows for what is stretched: ``simplify_algebra`` applies them.

Arithmetic stretches its operands by itself, and puts ones before a shape. What is done to a
stretched array with numbers alone is done before it is stretched, to fewer elements.

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
  %div_c: f32[] = div %c, 72
  %y!: f32[8,9] = mul %x, %div_c
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

#: What is added up in these is exact enough to be counted instead.
EXACT_SUMS = ("float32", "float64")


def _unstretched(match: Match) -> Any:
    """Arithmetic stretches its operands by itself, where the other one has the whole shape; where
    no other one has, it is done before, to fewer elements."""
    type_ = match.op.result.type
    if not isinstance(type_, ArrayType) or not type_.is_static:
        return None
    inner = [match.argument_of(operand, "broadcast_to") for operand in match.operands]
    for place, narrow in enumerate(inner):
        if narrow is not ...:
            operands = list(match.operands)
            operands[place] = narrow
            found = match.op.opdef(*operands)
            whole = found.type == type_
            return found if whole else OPERATORS["broadcast_to"](found, shape=type_.shape)
    return None


def _stretched_after(match: Match) -> Any:
    """What is done to a stretched array with numbers alone is done before it is stretched."""
    arrays = [operand for operand in match.operands if isinstance(operand, Value)]
    maker = match.made_by(arrays[0], "broadcast_to") if len(arrays) == 1 else None
    if maker is None:
        return None
    narrow, *sizes = maker.operands
    operands = [narrow if isinstance(o, Value) else o for o in match.operands]
    return OPERATORS["broadcast_to"](match.op.opdef(*operands), *sizes, **maker.attrs)


def _sum_of_stretched(match: Match) -> Any:
    """In a derivative the sum of what is stretched is it, as often as it is there."""
    narrow = match.argument_of(match.operands[0], "broadcast_to")
    if narrow is ... or match.op.role == "primal":
        return None
    types: Any = [type_of(narrow), type_of(match.operands[0]), match.op.result.type]
    if not all(isinstance(each, ArrayType) and each.is_static for each in types):
        return None
    few, many, left = (each.shape for each in types)
    if types[2].dtype not in EXACT_SUMS or 0 in many:  # a sum of nothing is 0, also of infinities
        return None
    axes, first = match.op.attrs["axes"], len(many) - len(few)
    over = range(len(many)) if axes is None else axes
    if any(axis >= first and few[axis - first] != 1 for axis in over):
        return None
    total = narrow * float(math.prod(many) // math.prod(left))
    if math.prod(few) == math.prod(left):
        return OPERATORS["reshape"](total, shape=left)
    return OPERATORS["broadcast_to"](total, shape=left) if not few else None


def _without_leading_ones(match: Match) -> Any:
    """Arithmetic puts ones before the shape of an operand by itself."""
    for place, operand in enumerate(match.operands):
        maker, other = match.made_by(operand, "reshape"), match.operands[1 - place]
        shape, rank = getattr(type_of(operand), "shape", None), getattr(type_of(other), "ndim", 0)
        if maker is None or not shape or None in shape or shape[0] != 1:
            continue
        if rank is None or rank < len(shape):
            continue
        if shape == type_of(other).shape:  # type: ignore[attr-defined]
            continue
        first = next((k for k, dim in enumerate(shape) if dim != 1), len(shape) - 1)
        if first:
            operands = list(match.operands)
            operands[place] = OPERATORS["reshape"](maker.operands[0], shape=shape[first:])
            return match.op.opdef(*operands)
    return None


def _moved(match: Match) -> Any:
    """One number, stretched and moved about, is stretched to the shape it is moved to."""
    maker, type_ = match.made_by(match.operands[0], "broadcast_to"), match.op.result.type
    if maker is None or not isinstance(type_, ArrayType) or not type_.is_static:
        return None
    if getattr(type_of(maker.operands[0]), "shape", None) != ():
        return None
    return OPERATORS["broadcast_to"](maker.operands[0], shape=type_.shape)


def _sum_of_moved(match: Match) -> Any:
    """The sum of all elements, wherever they stand."""
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


def _stretched_product(match: Match) -> Any:
    """A column of one number, times a row: a cotangent of ones that meets the last layer."""
    type_ = match.op.result.type
    if not isinstance(type_, ArrayType) or type_.ndim != 2 or not type_.is_static:
        return None
    if match.op.role == "primal":
        return None  # of -0.0 a product of matrices makes 0.0
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
    Rule("one number transposed", "transpose", _moved),
    *(Rule(f"one number, {name}", name, _moved) for name in ("expand_dims", "squeeze")),
    Rule("one number reshaped", "reshape", _moved),
    *(Rule(f"{name} of what was moved", name, _sum_of_moved) for name in ("sum", "mean")),
    Rule("column of one number times a row", "matmul", _stretched_product),
    *(Rule(f"stretched after {name}", name, _stretched_after) for name in ("neg", "mul", "div")),
    *(
        Rule(f"stretched in {name}", name, _unstretched)
        for name in ("add", "sub", "mul", "div", "where", "maximum", "minimum")
    ),
    *(
        Rule(f"upright in {name}", name, _without_leading_ones)
        for name in ("add", "sub", "mul", "div")
    ),
    Rule("sum of stretched", "sum", _sum_of_stretched),
)
