"""Rules for block-sparse products, and for products of which a block is read.

The derivative of a slice puts a block among zeros. A matrix product with that multiplies whole rows
by zeros, or computes rows of zeros. The rules leave out the zeros, and compute only the block that
is read. Laplacians need just that: one column of a gradient, and of its derivative that column
again. The rules change only products that differentiation added: there a zero is no number of the
user's that an infinity might meet.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> before = parse_function('''
... func @f(%v: f32[8], %w: f32[3,9]) -> (f32[8,2]) {
...   %z: f32[8,3] = scatter %v {index=(('slice', None, None, None), 1), shape=(8, 3)}  # adjoint
...   %p: f32[8,9] = matmul %z, %w  # adjoint
...   %y!: f32[8,2] = index %p {index=(('slice', None, None, None), ('slice', 0, 2, None))}
...   return %y
... }
... ''')
>>> print(print_function(dce(simplify_algebra(before))), end='')
func @f(%v: f32[8], %w: f32[3,9]) -> (f32[8,2]) {
  %v_reshaped: f32[8,1] = reshape %v {shape=(8, 1)}       # adjoint
  %w_item: f32[1,9] = index %w {index=(('slice', 1, 2, None),)}  # adjoint
  %w_item.1: f32[1,2] = index %w_item \
{index=(('slice', None, None, None), ('slice', None, 2, None))}
  %y!: f32[8,2] = matmul %v_reshaped, %w_item.1
  return %y
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autodiff_compiler.analysis.index_boxes import index_box, written_box
from autodiff_compiler.ir.nodes import AnyOperand, array_type, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core.index_patterns import FULL
from autodiff_compiler.operators.core.structure import reshape
from autodiff_compiler.operators.indexing.indexing import index, scatter
from autodiff_compiler.passes.core.patterns import Match, Rule


@dataclass(frozen=True)
class _ZeroPadded:
    """A matrix that is zero but for a block: ``at`` are the bounds of the block on both axes."""

    block: Any
    at: tuple[range, range]
    shape: tuple[int, ...]

    def spans(self, axis: int) -> bool:
        """True if the block is as long as the matrix along ``axis``."""
        return len(self.at[axis]) == self.shape[axis]

    def transposed(self) -> _ZeroPadded:
        block = OPERATORS["swap_last_axes"](self.block)
        return _ZeroPadded(block, self.at[::-1], self.shape[::-1])


def _zero_padded(match: Match, factor: AnyOperand) -> _ZeroPadded | None:
    """Returns the block and its bounds if ``factor`` is a block among zeros, else None."""
    zeros = match.made_by(factor, "scatter")
    if zeros is None:
        matrix = match.untransposed(factor)
        padded = None if matrix is ... else _zero_padded(match, matrix)
        return padded and padded.transposed()
    at = _block_bounds(written_box(zeros) if zeros.role != "primal" else None)
    if at is None:
        return None
    block, type_ = zeros.operands[0], array_type(zeros.result)
    lengths = tuple(map(len, at))
    if type_of(block) != ArrayType(type_.dtype, lengths):
        block = reshape(block, shape=lengths)
    return _ZeroPadded(block, at, type_.static_shape)


def _block_bounds(box: Sequence[range] | None) -> tuple[range, range] | None:
    """Returns the bounds of a block without gaps on two axes, else None."""
    if box is None or len(box) != 2 or not all(each.step == 1 and len(each) for each in box):
        return None
    return box[0], box[1]


def _without_zeros(match: Match) -> Any:
    """Returns a block's product, among zeros, for the product of the block with zeros around it."""
    if match.op.role == "primal" or not _are_matrices(*match.operands):
        return None
    for place, factor in enumerate(match.operands):
        padded = _zero_padded(match, factor)
        if padded is None or padded.spans(0) and padded.spans(1):
            continue
        factors, inner = list(match.operands), 1 - place
        factors[place] = padded.block
        factors[1 - place] = _section(factors[1 - place], padded.at[inner], place)
        product = OPERATORS["matmul"](*factors)
        if padded.spans(place):
            return product
        shape = array_type(match.op.result).static_shape
        at = _bounds(padded.at[place], shape[place], place)
        return scatter(product, index=at, shape=shape)
    return None


def _block_of_product(match: Match) -> Any:
    """Returns the product of sections for a block that is less than half of a product."""
    product = match.made_by(match.operands[0], "matmul")
    if product is None or product.role == "primal" or match.uses.get(product.result) != 1:
        return None
    if len(match.operands) > 1 or not _are_matrices(*product.operands, product.result):
        return None
    shape = array_type(product.result).static_shape
    at = _block_bounds(index_box(match.op.attrs["index"], shape))
    if at is None or 2 * len(at[0]) * len(at[1]) > shape[0] * shape[1]:
        return None
    factors = [_section(each, at[axis], axis) for axis, each in enumerate(product.operands)]
    product_of_sections, wanted = OPERATORS["matmul"](*factors), array_type(match.op.result)
    return (
        product_of_sections
        if product_of_sections.type == wanted
        else reshape(product_of_sections, shape=wanted.shape)
    )


def _section(matrix: Any, at: range, axis: int) -> Any:
    """Returns ``matrix`` from ``at.start`` to ``at.stop`` along ``axis``."""
    size = array_type(matrix).static_shape[axis]
    if len(at) == size:
        return matrix
    return index(matrix, index=_bounds(at, size, axis))


def _bounds(at: range, size: int, axis: int) -> tuple[Any, ...]:
    part = ("slice", at.start or None, at.stop if at.stop < size else None, None)
    return (*(FULL,) * axis, part)


def _are_matrices(*operands: AnyOperand) -> bool:
    types = map(type_of, operands)
    return all(isinstance(each, ArrayType) and each.is_static and each.ndim == 2 for each in types)


ZERO_BLOCKS = (
    Rule("product with zeros around", "matmul", _without_zeros),
    Rule("block of a product", "index", _block_of_product),
)
