"""Partial-sum sharing: of two sums of one array, the one over more axes adds up the other.

The scale of an instance norm needs the sum of a product over all images and places. The variance
needs its sums over the places of each image, which are small. With one sum of the other, the
product is read once and need not be in memory (``fuse_products_and_sums``). The rule changes only
operations that differentiation added, as one of the rules of ``reassociate_products``. The sum has
the same terms, in another order.

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

from collections.abc import Mapping, Sequence
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op
from autodiff_compiler.ir.types import ArrayType, Type
from autodiff_compiler.operators.core.structure import sum_
from autodiff_compiler.passes.core.patterns import Match, Rule
from autodiff_compiler.passes.derivative.factors import is_static_float


def sums_by_operand(function: Function) -> Mapping[AnyOperand, Sequence[Op]]:
    """Returns the sums over some axes that differentiation added, by the array summed up."""
    sums: dict[AnyOperand, list[Op]] = {}
    for op in function.body.ops:
        if op.name == "sum" and op.role != "primal" and op.attrs["axes"]:
            sums.setdefault(op.operands[0], []).append(op)
    return sums


def _sum_of_partial_sum(match: Match) -> Any:
    """Returns the sum of an existing sum over fewer axes."""
    (x,), axes, keepdims = match.operands, match.op.attrs["axes"], match.op.attrs["keepdims"]
    if match.op.role == "primal" or not is_static_float(x.type):
        return None
    over = set(range(x.ndim) if axes is None else axes)
    for other in match.partial_sums.get(x, ()):
        fewer = set(other.attrs["axes"])
        if not fewer < over or not _is_much_smaller(other.result.type, x.type):
            continue
        if other.attrs["keepdims"]:
            return sum_(sum_(x, **other.attrs), axes=tuple(sorted(over)), keepdims=keepdims)
        if not keepdims:
            rest = sorted(over - fewer)
            remaining = tuple(axis - sum(summed < axis for summed in fewer) for axis in rest)
            return sum_(sum_(x, **other.attrs), axes=remaining, keepdims=False)
    return None


def _is_much_smaller(total: Type, array: ArrayType) -> bool:
    if not is_static_float(total):
        return False
    return total.element_count * costs().small_sum_ratio <= array.element_count


PARTIAL_SUMS = (Rule("sum of a partial sum", "sum", _sum_of_partial_sum),)
