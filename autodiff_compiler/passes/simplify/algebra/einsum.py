"""Rules that rewrite products as fewer calls of BLAS, and an einsum as matrix products.

``np.einsum`` searches its equation for products at every call. It adds up in plain loops if an axis
is in all terms. As products of matrices, two operands at a time in the cheapest order, BLAS adds up
the same terms. The rules run before differentiation, so that backward reads the products that
forward made. Transposes are views, which BLAS accepts.

A batch of matrices times one matrix is one product of all rows, if that is faster.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
>>> before = parse_function('''
... func @f(%x: f32[5,8], %w: f32[8,9], %y: f32[5,9]) -> (f32[5]) {
...   %s!: f32[5] = einsum %x, %w, %y {equation='ni,ij,nj->n'}
...   return %s
... }
... ''')
>>> print(print_function(simplify_algebra(before)), end='')
func @f(%x: f32[5,8], %w: f32[8,9], %y: f32[5,9]) -> (f32[5]) {
  %x_matmul_w: f32[5,9] = matmul %x, %w
  %product: f32[5,9] = mul %y, %x_matmul_w
  %s!: f32[5] = sum %product {axes=(1,), keepdims=False}
  return %s
}
"""

from __future__ import annotations

from typing import Any

from autodiff_compiler.operators.linalg.joined_products import JOINED
from autodiff_compiler.passes.core.patterns import Match, Rule


def _joined(match: Match) -> Any:
    operands, attrs = match.operands, match.op.attrs
    return JOINED[match.op.name](operands, attrs, match.makers.get)


EINSUM = tuple(Rule(f"{name} as few products", name, _joined) for name in JOINED)
