"""Reassociation of products in a derivative: small factors first, and out of sums.

The chain rule makes long products of arrays, of numbers, and of broadcast arrays. The pass computes
the product of the small factors first: ``c * (2.0 * x)`` reads the array twice, ``(c * 2.0) * x``
once. A sum over axes along which a factor is constant becomes a sum without that factor. This sum
often exists already: the mean of a normalization and its scale need the same one. A sum of a
product with itself becomes a product with 2.

The pass rewrites only where fewer operations on whole arrays remain, and only operations that
differentiation added. Rounding may differ in the last bit, as with any other order of the factors.

No intermediate result leaves the range of its dtype (``factors``). A divisor leaves a sum only if
it is known to be neither tiny nor huge. The divisor of a normalization is: it is the root of a sum
with a number.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> before = parse_function('''
... func @f(%x: f32[8,9], %y: f32[8,9], %v: f32[8,1], %c: f32[]) -> (f32[8,9], f32[8,1]) {
...   %w: f32[8,1] = add %v, 0.1
...   %s: f32[8,1] = sqrt %w
...   %a: f32[8,9] = mul 2.0, %x  # adjoint
...   %b: f32[8,9] = mul %c, %a  # adjoint
...   %d: f32[8,9] = mul %x, %y  # adjoint
...   %e: f32[8,9] = div %d, %s  # adjoint
...   %t: f32[8,1] = sum %e {axes=(1,), keepdims=True}  # adjoint
...   return %b, %t
... }
... ''')
>>> print(print_function(dce(reassociate_products(before))), end='')
func @f(%x: f32[8,9], %y: f32[8,9], %v: f32[8,1], %c: f32[]) -> (f32[8,9], f32[8,1]) {
  %w: f32[8,1] = add %v, 0.1
  %s: f32[8,1] = sqrt %w
  %c_times_two: f32[] = mul %c, 2.0                       # adjoint
  %b: f32[8,9] = mul %c_times_two, %x                     # adjoint
  %x_times_y: f32[8,9] = mul %x, %y                       # adjoint
  %total: f32[8,1] = sum %x_times_y {axes=(1,), keepdims=True}  # adjoint
  %t: f32[8,1] = div %total, %s                           # adjoint
  return %b, %t
}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autodiff_compiler.analysis.magnitude import safe_magnitude_values
from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import Function, Op, Value, type_of
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core.structure import reshape, sum_
from autodiff_compiler.passes.core.patterns import Match, Rule, RuleSet
from autodiff_compiler.passes.derivative.factors import (
    SIGNS,
    Factorisation,
    SmallFactors,
    coefficients,
    is_product,
    is_static_float,
    shape_of,
)
from autodiff_compiler.passes.derivative.share_partial_sums import PARTIAL_SUMS, sums_by_operand


def reassociate_products(function: Function) -> Function:
    """Reassociates the products that differentiation added to ``function``."""
    known = safe_magnitude_values(function.body, function.safe_magnitude)
    return _RULES.rewrite(
        function,
        safe_magnitude=dict.fromkeys(known, True),
        partial_sums=sums_by_operand(function),
    )


def _small_first(match: Match) -> Any:
    type_ = match.op.result.type
    if not isinstance(type_, ArrayType) or not is_product(match.op):
        return None
    factorisation = Factorisation(match, type_, False)
    factorisation.add_product(match.op)
    return (
        factorisation.product()
        if factorisation.operations_after < factorisation.operations_before
        else None
    )


def _added_twice(match: Match) -> Any:
    """Returns ``a + 2 * m`` for ``a + m + m``, if m has a small factor that takes the 2.

    ``a - 2 * m`` for ``a - m - m`` in the same way.
    """
    if match.op.role == "primal":
        return None
    name, (left, right) = match.op.name, match.operands
    for first, m in ((left, right), (right, left)) if name == "add" else ((left, right),):
        inner, maker = match.made_by(first, name), match.makers.get(m)
        if inner is None or maker is None or not is_product(maker) or inner.role == "primal":
            continue
        if name == "sub" and inner.operands[1] is not m:
            continue
        others = [operand for operand in inner.operands if operand is not m]
        alone = match.uses.get(first) == 1 and match.uses.get(m) == 2
        if len(others) != 1 or not alone or not match.op.result.type == first.type == m.type:
            continue
        factorisation = Factorisation(match, m.type, False)
        factorisation.add_factor(2.0, False)
        factorisation.add_product(maker, uses=2)
        if factorisation.operations_after <= factorisation.operations_before:
            return match.op.opdef(others[0], factorisation.product())
    return None


def _factored_out(match: Match) -> Any:
    """Returns ``f * (a + b)`` for ``f * a + f * b``, if f is small and of safe magnitude.

    Sides that differ in a number only become a multiple of one of them.
    """
    sides = _factored_operands(match)
    if sides is None:
        return None
    before = sum(side.operations_before for side in sides) + 1
    numbers = coefficients(*sides)
    multiple = None if numbers is None else _multiple(match, sides, numbers, before)
    return _product_with_sum(match, *sides, before) if multiple is None else multiple


def _factored_operands(match: Match) -> tuple[Factorisation, Factorisation] | None:
    """Returns the factors of both operands, if both are products that nothing else reads."""
    type_ = match.op.result.type
    if match.op.role == "primal" or not is_static_float(type_):
        return None
    sides = []
    for operand in match.operands:
        maker = match.makers.get(operand) if isinstance(operand, Value) else None
        fits = maker is not None and is_product(maker) and operand.type == type_
        if maker is None or not fits or match.uses.get(operand) != 1:
            return None
        sides.append(Factorisation(match, type_, False))
        sides[-1].add_product(maker)
    return sides[0], sides[1]


def _multiple(
    match: Match, sides: Sequence[Factorisation], numbers: Sequence[float], before: int
) -> Any:
    """Returns the sum of two products that differ in their numbers, as a multiple of one of them.

    Returns None where the products cancel, or where the multiple is no small whole number.
    """
    signs = (-1.0 if side.is_negative else 1.0 for side in sides)
    left, right = (number * sign for number, sign in zip(numbers, signs))
    subtracts = match.op.name == "sub"
    right = -right if subtracts else right
    by_cost = sorted(zip(sides, (left, right)), key=lambda each: each[0].operations_after)
    for side, number in by_cost:
        times = (left + right) / number if number else 0.0
        is_small = times.is_integer() and 1 < times <= costs().like_products
        if is_small and side.operations_after < before:
            side.add_factor(times, False)
            side.is_negative ^= subtracts and side is sides[1]
            return side.product()
    return None


def _product_with_sum(match: Match, one: Factorisation, other: Factorisation, before: int) -> Any:
    """Returns the shared factors times the sum of what remains of both sides."""
    shared = [factor for factor in one.safe_small_factors() if other.remove(factor)]
    for factor in shared:
        one.remove(factor)
    adds = (one.is_negative == other.is_negative) == (match.op.name == "add")
    negative, one.is_negative, other.is_negative = one.is_negative, False, False
    if not shared or one.operations_after + other.operations_after + 2 >= before:
        return None
    a, b = one.product(), other.product()
    inner = a + b if adds else b - a if negative else a - b
    outer = SmallFactors(numerator=shared).product()
    return (-outer if negative and adds else outer) * inner


def _out_of_sum(match: Match) -> Any:
    """Returns the sum of the large factors, times the factors constant along the summed axes."""
    (x,), axes = match.operands, match.op.attrs["axes"]
    maker = match.makers.get(x)
    if match.op.role == "primal" or maker is None or not is_product(maker):
        return None
    if not is_static_float(x.type) or not is_static_float(match.op.result.type):
        return None
    over = range(x.type.ndim or 0) if axes is None else axes
    # A product that others read is taken apart, too, if that takes no further operation.
    tried = [_Summands(match, maker, x.type, over, shared) for shared in (False, True)]
    best = min(tried, key=lambda each: (each.extra_operations, -len(each.fixed)))
    return best.sum() if best.extra_operations <= 0 and best.helps else None


class _Summands(Factorisation):
    """The factors of a summed array: the groups constant along the summed axes are ``fixed``."""

    def __init__(
        self, match: Match, maker: Op, type_: ArrayType, over: Sequence[int], through_shared: bool
    ):
        super().__init__(match, type_, through_shared)
        self.add_product(maker)
        self.rank, self.over = len(type_.dims), over
        fixed = [
            group
            for group in self.groups
            if not group.divides_by_unsafe and not _varies(group.shape, over, self.rank)
        ]
        unsafe = [group for group in fixed if group.has_unsafe]
        self.fixed = [group for group in fixed if group not in unsafe[1:]]
        self.groups = [group for group in self.groups if group not in self.fixed]
        self.changes_sign, self.is_negative = self.is_negative, False

    @property
    def helps(self) -> bool:
        return self.has_large_numerator and (bool(self.fixed) or self.changes_sign)

    @property
    def extra_operations(self) -> int:
        """The growth in operations on whole arrays if the fixed factors leave the sum."""
        return self.operations_after - self.operations_before

    def sum(self) -> Any:
        """Computes the sum of the other factors, times the fixed ones."""
        attrs, product = self.match.op.attrs, self.product()
        if type_of(product) != self.type:
            return None  # the rest is smaller, so that the axes are others
        total = sum_(product, **attrs)
        total = -total if self.changes_sign else total
        for group in self.fixed:
            for factor in group.numerator:
                total = total * self.aligned(factor)
            for factor in group.denominator:
                total = total / self.aligned(factor)
        return total

    def aligned(self, factor: Any) -> Any:
        """Returns a fixed factor in the shape in which it meets the sum."""
        shape = shape_of(factor)
        remaining = shape if self.match.op.attrs["keepdims"] else self.remaining_axes(shape)
        return factor if remaining == shape else reshape(factor, shape=remaining)

    def remaining_axes(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        first = self.rank - len(shape)
        return tuple(dim for place, dim in enumerate(shape) if place + first not in self.over)


def _varies(shape: Sequence[Any], axes: Sequence[int], rank: int) -> bool:
    """True if a factor of this shape, broadcast to ``rank`` axes, varies along some of ``axes``."""
    first = rank - len(shape)
    return any(axis >= first and shape[axis - first] != 1 for axis in axes)


_RULES = RuleSet(
    (
        *(Rule(f"small factors first in {name}", name, _small_first) for name in (*SIGNS, "add")),
        *(Rule(f"factor out of {name}", name, _factored_out) for name in ("add", "sub")),
        Rule("added twice", "add", _added_twice),
        Rule("subtracted twice", "sub", _added_twice),
        Rule("factor out of a sum over axes", "sum", _out_of_sum),
        *PARTIAL_SUMS,
    )
)
