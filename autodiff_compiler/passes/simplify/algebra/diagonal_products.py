"""Rules for products with diagonal matrices.

A Jacobian starts from all directions at once, an identity matrix. A product with it is the other
factor. A product with its columns leaves it diagonal, and a matrix product with that scales rows or
columns. This counts as exact: the zeros beside the diagonal are the compiler's, and only say that
no gradient flows there. The user's own ``eye`` is another operator, and an array like others.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> before = parse_function('''
... func @f(%s: f32[3], %w: f32[3,2]) -> (f32[3,2]) {
...   %basis: f32[3,3] = basis {count=3, dtype='float32'}
...   %ct: f32[3,3] = mul %basis, %s
...   %d_x: f32[3,2] = matmul %ct, %w
...   return %d_x
... }
... ''')
>>> print(print_function(dce(simplify_algebra(before))), end='')
func @f(%s: f32[3], %w: f32[3,2]) -> (f32[3,2]) {
  %s_expanded: f32[3,1] = expand_dims %s {axes=(-1,)}
  %d_x: f32[3,2] = mul %w, %s_expanded
  return %d_x
}
"""

from __future__ import annotations

from typing import Any

from autodiff_compiler.ir.nodes import AnyOperand, Value, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.passes.core.patterns import Match, Rule


def _diagonal(match: Match, operand: AnyOperand) -> Any:
    """Returns the diagonal of a diagonal matrix, a vector or a number, or None for another one."""
    if match.made_by(operand, "basis"):
        return 1.0
    maker = match.made_by(operand, "mul")
    for basis, factor in (maker.operands, maker.operands[::-1]) if maker else ():
        type_, size = type_of(factor), getattr(type_of(operand), "shape", (None,))[0]
        if not match.made_by(basis, "basis") or type_of(basis) != type_of(operand):
            continue
        if not isinstance(type_, ArrayType) or type_.shape in ((), (size,)):
            return factor
        if type_.shape in ((1, size), (size, 1)):
            return OPERATORS["reshape"](factor, shape=(size,))
    return None


def _product(match: Match) -> Any:
    left, right = match.operands
    ranks = [getattr(type_of(factor), "ndim", None) or 3 for factor in (left, right)]
    if max(ranks) > 2:
        return None
    if ranks[0] == 2 and (diagonal := _diagonal(match, left)) is not None:
        tall = (
            isinstance(diagonal, Value) and ranks[1] == 2 and isinstance(diagonal.type, ArrayType)
        )
        return right * (OPERATORS["expand_dims"](diagonal, axes=(-1,)) if tall else diagonal)
    if ranks[1] == 2 and (diagonal := _diagonal(match, right)) is not None:
        return left * diagonal
    return None


DIAGONAL_PRODUCTS = (Rule("product with a diagonal", "matmul", _product),)
