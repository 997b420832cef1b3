"""Rows for products of which a section is asked: ``simplify_algebra`` applies them.

The derivative of a slice puts what is wanted among zeros; a product with that multiplies whole rows
by zeros, or makes rows of zeros. What meets zeros is left out, and where nothing but a section of a
product is read, nothing else of it is made. Laplacians ask for just that: of a gradient one column,
and of its derivative that column again. Only products that differentiation added are changed; there
a zero is no number of the user's that an infinity might meet.

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
  %w_item_item: f32[1,2] = index %w_item \
{index=(('slice', None, None, None), ('slice', None, 2, None))}
  %y!: f32[8,2] = matmul %v_reshaped, %w_item_item
  return %y
}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autodiff_compiler.analysis.index_boxes import index_box, written_box
from autodiff_compiler.ir.nodes import AnyOperand, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core.index_patterns import FULL
from autodiff_compiler.operators.core.structure import reshape
from autodiff_compiler.operators.indexing.indexing import index, scatter
from autodiff_compiler.passes.core.patterns import Match, Rule


@dataclass(frozen=True)
class _Among:
    """A matrix of zeros, but for a part of it: ``at`` are the bounds of the part on both axes."""

    part: Any
    at: tuple[range, range]
    shape: tuple[int, int]

    def covers(self, axis: int) -> bool:
        """Whether the part is as long as the whole along ``axis``."""
        return len(self.at[axis]) == self.shape[axis]

    def turned(self) -> _Among:
        part = OPERATORS["swap_last_axes"](self.part)
        return _Among(part, self.at[::-1], self.shape[::-1])


def _among_zeros(match: Match, factor: AnyOperand) -> _Among | None:
    """What ``factor`` is, if that is a part of a matrix among zeros."""
    zeros = match.made_by(factor, "scatter")
    if zeros is None:
        matrix = match.untransposed(factor)
        found = None if matrix is ... else _among_zeros(match, matrix)
        return found and found.turned()
    at = written_box(zeros) if zeros.role != "primal" else None
    if at is None or len(at) != 2 or not all(each.step == 1 and len(each) for each in at):
        return None
    part: Any = zeros.operands[0]
    lengths = tuple(map(len, at))
    if type_of(part) != ArrayType(zeros.result.type.dtype, lengths):  # type: ignore[attr-defined]
        part = reshape(part, shape=lengths)
    return _Among(part, (at[0], at[1]), zeros.result.type.shape)  # type: ignore[attr-defined]


def _without_zeros(match: Match) -> Any:
    """A product of what is among zeros: of the part alone, and among zeros in its turn."""
    if match.op.role == "primal" or not _are_matrices(*match.operands):
        return None
    for place, factor in enumerate(match.operands):
        found = _among_zeros(match, factor)
        if found is None or found.covers(0) and found.covers(1):
            continue
        factors, inner = list(match.operands), 1 - place
        factors[place] = found.part
        other = factors[1 - place]
        factors[1 - place] = _section(other, found.at[inner], place)
        product = OPERATORS["matmul"](*factors)
        if found.covers(place):
            return product
        shape = match.op.result.type.shape  # type: ignore[attr-defined]
        at = _bounds(found.at[place], shape[place], place)
        return scatter(product, index=at, shape=shape)
    return None


def _of_product(match: Match) -> Any:
    """Where less than half of a product is read, only that is made."""
    product = match.made_by(match.operands[0], "matmul")
    if product is None or product.role == "primal" or match.uses.get(product.result) != 1:
        return None
    if len(match.operands) > 1 or not _are_matrices(*product.operands, product.result):
        return None
    shape = product.result.type.shape  # type: ignore[attr-defined]
    at = index_box(match.op.attrs["index"], shape)
    if at is None or len(at) != 2 or not all(each.step == 1 and len(each) for each in at):
        return None
    if 2 * len(at[0]) * len(at[1]) > shape[0] * shape[1]:
        return None
    factors = [_section(each, at[axis], axis) for axis, each in enumerate(product.operands)]
    found = OPERATORS["matmul"](*factors)
    wanted = match.op.result.type
    return found if found.type == wanted else reshape(found, shape=wanted.shape)  # type: ignore[attr-defined]


def _section(matrix: Any, at: range, axis: int) -> Any:
    """``matrix`` from ``at.start`` to ``at.stop`` along ``axis``."""
    size = type_of(matrix).shape[axis]  # type: ignore[attr-defined]
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
    Rule("section of a product", "index", _of_product),
)
