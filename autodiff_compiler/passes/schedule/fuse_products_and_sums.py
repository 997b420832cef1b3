"""Sums of products as what NumPy has for them: the product is never in memory.

``(a * b).sum()`` writes the product to memory and reads it again; ``np.vdot(a, b)`` adds up as it
multiplies, in a third of the time, ``np.vecdot`` does so along a long last axis, and ``np.einsum``
along others. So is each sum, and each mean, of a product that nothing else reads. Of small arrays
that is the sum of all elements alone, for which it is the shorter text, too, unless the user has a
name for the product; the mean of a large array is its sum, which tiles add up, and a quotient. The
terms are added in another order: singles, where they are very many, row by row.

This is a part of the last stage, and stands before whatever writes over memory: the factors are
read later than they were.

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
  %s!: f32[] = dot %x, %y {axes=(0, 1), keepdims=False}
  %x_dot_x: f32[30] = dot %x, %x {axes=(1,), keepdims=False}
  %m!: f32[30] = div %x_dot_x, 50
  return %s, %m
}
"""

from __future__ import annotations

import math
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import Function, Op, Value, type_of
from autodiff_compiler.ir.types import ArrayType, size_of
from autodiff_compiler.operators.core.declare import broadcast_shapes
from autodiff_compiler.operators.core.structure import sum_
from autodiff_compiler.operators.destination_ops import dot
from autodiff_compiler.passes.core.patterns import Match, Rule, RuleSet
from autodiff_compiler.passes.simplify.dce import dce


def fuse_products_and_sums(function: Function) -> Function:
    """``function`` with sums of large products in one go."""
    found = _RULES.rewrite(function)
    return function if found is function else dce(found)


def _factors(op: Op | None) -> tuple[Any, Any] | None:
    """The two arrays whose product ``op`` makes."""
    if op is None:
        return None
    if op.name == "square" or op.name == "pow" and op.operands[1:] == (2,):
        return op.operands[0], op.operands[0]
    return op.operands if op.name == "mul" else None  # type: ignore[return-value]


def _sum(match: Match) -> Any:
    (x,) = match.operands
    factors = _factors(match.makers.get(x))
    type_ = type_of(x)
    if factors is None or match.uses.get(x) != 1 or not isinstance(type_, ArrayType):
        return None
    if not type_.has_static_shape or type_.shape is None:
        return None
    rank, axes, keepdims = len(type_.shape), match.op.attrs["axes"], match.op.attrs["keepdims"]
    over = tuple(range(rank)) if axes is None else axes
    if size_of(type_) < costs().medium_bytes:
        named = isinstance(x, Value) and x.has_user_name
        if named or axes is not None or keepdims or math.prod(type_.shape) < 2:  # type: ignore[arg-type]
            return None  # a single product of -0.0 stays what it is
    a, b = factors if type_of(factors[0]) == type_ else factors[::-1]
    if type_.dtype not in ("float32", "float64") or type_of(a) != type_ or not over:
        return None
    alike, last = type_of(b) == type_, type_.shape[-1]
    if type_.dtype == "float32" and rank - 1 in over and last > costs().blas_terms:  # type: ignore[operator]
        return None
    if over != (rank - 1,) or rank == 1:
        first = next(axis for axis in reversed(range(-1, rank)) if axis not in over) + 1
        run = math.prod(type_.shape[first:])  # type: ignore[arg-type]
        whole = len(over) == rank and not keepdims
        if not alike or not whole and rank - 1 in over and run > costs().einsum_terms:
            return None
        if whole and type_.dtype == "float32" and run > costs().blas_terms:
            if last < costs().row_sum_terms:  # type: ignore[operator]
                return None
            return sum_(dot(a, b, axes=(rank - 1,), keepdims=False), axes=None, keepdims=False)
    elif not alike and not _goes_along(b, type_):
        return None
    return dot(a, b, axes=over, keepdims=keepdims)


def _goes_along(b: Any, type_: ArrayType) -> bool:
    """Whether ``b`` is stretched to this type along other axes than the last."""
    have = type_of(b)
    if not isinstance(b, Value) or not isinstance(have, ArrayType) or have.dtype != type_.dtype:
        return False
    same_rows = bool(have.shape and type_.shape) and have.shape[-1:] == type_.shape[-1:]  # type: ignore[index]
    return same_rows and broadcast_shapes([have.shape, type_.shape]) == type_.shape


def _mean(match: Match) -> Any:
    total, axes = _sum(match), match.op.attrs["axes"]
    type_ = type_of(match.operands[0])
    precise = getattr(type_, "dtype", None) in ("float32", "float64")  # a sum of halves overflows
    over_rows = precise and (axes is None or 0 in axes)
    if total is None and over_rows and size_of(type_) >= costs().large_bytes:
        total = sum_(*match.operands, **match.op.attrs)  # which tiles may add up
    if total is None or total.type != match.op.result.type:
        return None
    shape = match.operands[0].type.shape
    return total / math.prod(shape if axes is None else [shape[axis] for axis in axes])


_RULES = RuleSet((Rule("sum of a product", "sum", _sum), Rule("mean of a product", "mean", _mean)))
