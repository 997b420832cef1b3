"""Multiply-reduce fusion: a product and its sum become one call, without the product in memory.

``(a * b).sum()`` writes the product to memory and reads it again. ``np.vdot(a, b)`` adds up while
it multiplies, in a third of the time. ``np.vecdot`` does so along a long last axis, and
``np.einsum`` along others. The pass fuses each sum and each mean of a product that nothing else
reads. For small arrays it fuses only sums of all elements, where the fused text is shorter. It
keeps a small product that has a name of the user's. Before tiling, the mean of a large array
becomes a quotient of its sum, which tiles can add up. The terms are added in another order; very
many single-precision terms are added row by row.

The pass runs in the last stage, before any pass that overwrites memory: it delays the reads of the
factors.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[30,50], %y: f32[30,50]) -> (f32[], f32[30]) {
...   %p: f32[30,50] = mul %x, %y
...   %s!: f32[] = sum %p {axes=None, keepdims=False}
...   %q: f32[30,50] = square %x
...   %m!: f32[30] = mean %q {axes=(1,), keepdims=False}
...   return %s, %m
... }
... ''')
>>> print(print_function(fuse_products_and_sums(before)), end='')
func @f(%x: f32[30,50], %y: f32[30,50]) -> (f32[], f32[30]) {
  %s!: f32[] = sum_of_products %x, %y {axes=(0, 1), keepdims=False}
  %x_dot_x: f32[30] = sum_of_products %x, %x {axes=(1,), keepdims=False}
  %m!: f32[30] = div %x_dot_x, 50
  return %s, %m
}
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Value, array_type, type_of
from autodiff_compiler.ir.types import ArrayType, size_of
from autodiff_compiler.operators.core.declare import broadcast_shapes
from autodiff_compiler.operators.core.structure import sum_
from autodiff_compiler.operators.destination_ops import sum_of_products
from autodiff_compiler.passes.core.patterns import Match, Rule, RuleSet
from autodiff_compiler.passes.simplify.dce import dce

#: The dtypes of fused sums. A sum in half precision overflows.
FUSED_DTYPES = ("float32", "float64")


def fuse_products_and_sums(function: Function, readable: bool = False) -> Function:
    """Fuses products in ``function`` with their sums and means.

    With ``readable``, means of large arrays that are no products stay: no tiles will add them up.
    """
    rewritten = (_READABLE_RULES if readable else _RULES).rewrite(function)
    return function if rewritten is function else dce(rewritten)


def _factors(op: Op | None) -> tuple[AnyOperand, AnyOperand] | None:
    """Returns the factors of the product that ``op`` computes, or None if it computes none."""
    if op is None:
        return None
    if op.name == "square" or op.name == "pow" and op.operands[1:] == (2,):
        return op.operands[0], op.operands[0]
    return (op.operands[0], op.operands[1]) if op.name == "mul" else None


def _fused_sum(match: Match) -> Any:
    (x,) = match.operands
    type_, factors = type_of(x), _factors(match.makers.get(x))
    if factors is None or match.uses.get(x) != 1 or not isinstance(type_, ArrayType):
        return None
    if not type_.has_static_shape or type_.dtype not in FUSED_DTYPES:
        return None
    axes, rank = match.op.attrs["axes"], len(type_.dims)
    over = tuple(range(rank)) if axes is None else axes
    if not over or size_of(type_) < costs().medium_bytes and not _has_shorter_text(match):
        return None
    a, b = factors if type_of(factors[0]) == type_ else factors[::-1]
    if type_of(a) != type_:
        return None
    last = type_.static_shape[-1]
    if type_.dtype == "float32" and rank - 1 in over and last > costs().blas_terms:
        return None
    sums_rows = over == (rank - 1,) and rank > 1
    call = _sum_of_rows if sums_rows else _sum_over_axes
    return call(a, b, type_, over, match.op.attrs["keepdims"])


def _has_shorter_text(match: Match) -> bool:
    """True if the fused text of a small sum is shorter than the sum and the product."""
    x, attrs = match.operands[0], match.op.attrs
    named = isinstance(x, Value) and x.has_user_name
    # A single product of -0.0 keeps its sign.
    single = array_type(x).element_count < 2
    return not (named or attrs["axes"] is not None or attrs["keepdims"] or single)


def _sum_of_rows(
    a: AnyOperand, b: AnyOperand, type_: ArrayType, over: Sequence[int], keepdims: bool
) -> Any:
    """Returns the sums of ``a * b`` over the last axis, where ``b`` has all terms of a row."""
    if type_of(b) != type_ and not _has_full_rows(b, type_):
        return None
    return sum_of_products(a, b, axes=over, keepdims=keepdims)


def _sum_over_axes(
    a: AnyOperand, b: AnyOperand, type_: ArrayType, over: Sequence[int], keepdims: bool
) -> Any:
    """Returns the sum of ``a * b`` over any axes, if that adds up few terms in a row."""
    shape, rank = type_.static_shape, len(type_.dims)
    first = next(axis for axis in reversed(range(-1, rank)) if axis not in over) + 1
    run = math.prod(shape[first:])
    sums_all = len(over) == rank and not keepdims
    long_run = not sums_all and rank - 1 in over and run > costs().einsum_terms
    if type_of(b) != type_ or long_run:
        return None
    if sums_all and type_.dtype == "float32" and run > costs().blas_terms:
        if shape[-1] < costs().row_sum_terms:
            return None
        return sum_(
            sum_of_products(a, b, axes=(rank - 1,), keepdims=False), axes=None, keepdims=False
        )
    return sum_of_products(a, b, axes=over, keepdims=keepdims)


def _has_full_rows(b: AnyOperand, type_: ArrayType) -> bool:
    """True if ``b`` is broadcast to this type along other axes than the last."""
    have = type_of(b)
    if not isinstance(b, Value) or not isinstance(have, ArrayType) or have.dtype != type_.dtype:
        return False
    if not have.shape or not type_.shape or have.shape[-1] != type_.shape[-1]:
        return False
    return broadcast_shapes([have.shape, type_.shape]) == type_.shape


def _fused_mean(match: Match) -> Any:
    return _quotient(_fused_sum(match), match)


def _tiled_mean(match: Match) -> Any:
    total, axes = _fused_sum(match), match.op.attrs["axes"]
    type_ = type_of(match.operands[0])
    precise = getattr(type_, "dtype", None) in FUSED_DTYPES
    over_rows = precise and (axes is None or 0 in axes)
    if total is None and over_rows and size_of(type_) >= costs().large_bytes:
        total = sum_(*match.operands, **match.op.attrs)  # tiles may add it up
    return _quotient(total, match)


def _quotient(total: Any, match: Match) -> Any:
    """Returns the mean that belongs to a sum, or None if there is no sum of its type."""
    if total is None or total.type != match.op.result.type:
        return None
    shape, axes = match.operands[0].type.shape, match.op.attrs["axes"]
    return total / math.prod(shape if axes is None else [shape[axis] for axis in axes])


_SUMS = Rule("sum of a product", "sum", _fused_sum)
_RULES = RuleSet((_SUMS, Rule("mean of a product", "mean", _tiled_mean)))
_READABLE_RULES = RuleSet((_SUMS, Rule("mean of a product", "mean", _fused_mean)))
