"""Subtotals: of two sums of one array, the one over more axes adds up the other.

The scale of an instance norm asks for the sum of a product over all images and places, its
variance for that over the places of each. The second one is small: then the product is gone
through once, and need not be in memory (``fuse_products_and_sums``). Only what differentiation
added is changed; ``reassociate_products`` applies the row. The terms are the same, added in another
order.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> from autodiff_compiler.passes.simplify.cse import cse
>>> from autodiff_compiler.passes.derivative.reassociate_products import reassociate_products
>>> before = parse_function('''
... func @f(%x: f32[4,8,9]) -> (f32[8], f32[4,8]) {
...   %w: f32[8] = sum %x {axes=(0, 2), keepdims=False}  # adjoint
...   %n: f32[4,8] = sum %x {axes=(2,), keepdims=False}  # adjoint
...   return %w, %n
... }
... ''')
>>> print(print_function(cse(reassociate_products(before))), end='')
func @f(%x: f32[4,8,9]) -> (f32[8], f32[4,8]) {
  %sum_x: f32[4,8] = sum %x {axes=(2,), keepdims=False}   # adjoint
  %w: f32[8] = sum %sum_x {axes=(0,), keepdims=False}     # adjoint
  return %w, %sum_x
}
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core.structure import sum_
from autodiff_compiler.passes.core.patterns import Match, Rule


def sums(function: Function) -> Mapping[AnyOperand, Sequence[Op]]:
    """The sums over some axes that derivatives ask for, by what is summed up."""
    found: dict[AnyOperand, list[Op]] = {}
    for op in function.body.ops:
        if op.name == "sum" and op.role != "primal" and op.attrs["axes"]:
            found.setdefault(op.operands[0], []).append(op)
    return found


def _of_narrower(match: Match) -> Any:
    """A sum of the sums over fewer axes that are asked for, too."""
    (x,), axes, keepdims = match.operands, match.op.attrs["axes"], match.op.attrs["keepdims"]
    if match.op.role == "primal" or not _is_floats(x.type):
        return None
    over = set(range(x.ndim) if axes is None else axes)
    for other in match.partial_sums.get(x, ()):
        narrow = set(other.attrs["axes"])
        if not narrow < over or not _is_smaller(other.result.type, x.type):
            continue
        if other.attrs["keepdims"]:
            return sum_(sum_(x, **other.attrs), axes=tuple(sorted(over)), keepdims=keepdims)
        if not keepdims:
            rest = sorted(over - narrow)
            left = tuple(axis - sum(gone < axis for gone in narrow) for axis in rest)
            return sum_(sum_(x, **other.attrs), axes=left, keepdims=False)
    return None


def _is_floats(type_: Any) -> bool:
    known = isinstance(type_, ArrayType) and type_.is_static
    return known and type_.dtype in ("float32", "float64")


def _is_smaller(total: Any, whole: Any) -> bool:
    known, ratio = _is_floats(total), costs().small_sum_ratio
    return known and math.prod(total.shape) * ratio <= math.prod(whole.shape)


PARTIAL_SUMS = (Rule("sum of a sum", "sum", _of_narrower),)
