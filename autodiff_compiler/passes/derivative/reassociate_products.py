"""Products in a derivative: what is small is multiplied first, and taken out of sums.

The chain rule makes long products of arrays, of numbers, and of arrays that are stretched. In
``c * (2.0 * x)`` the array is gone through twice, in ``(c * 2.0) * x`` once. A sum over axes along
which a factor does not change is a sum without it, which often is at hand: the mean of a
normalization and its scale ask for the same one. What is added to itself is a product with two.
So much is done only where fewer operations on whole arrays remain, and only in what differentiation
added: the user's own text is computed as it is written. Rounding differs in the last bit, as with
another order of the factors.

Nothing leaves the range of numbers on the way (``factors``), and no factor that divides is taken
out of a sum unless it is known to be neither tiny nor huge, as the root of a sum with a number is,
by which normalizations divide.

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
  %mul_c: f32[] = mul %c, 2.0                             # adjoint
  %b: f32[8,9] = mul %mul_c, %x                           # adjoint
  %x_times_y: f32[8,9] = mul %x, %y                       # adjoint
  %sum_x_times_y: f32[8,1] = sum %x_times_y {axes=(1,), keepdims=True}  # adjoint
  %t: f32[8,1] = div %sum_x_times_y, %s                   # adjoint
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
    alike,
    is_known,
    is_product,
    shape_of,
)
from autodiff_compiler.passes.derivative.share_partial_sums import PARTIAL_SUMS, sums


def reassociate_products(function: Function) -> Function:
    """``function`` with fewer operations on whole arrays in what was added to the user's text."""
    moderate = safe_magnitude_values(function.body, function.safe_magnitude)
    known = dict.fromkeys(moderate, True)
    return _RULES.rewrite(function, safe_magnitude=known, partial_sums=sums(function))


def _small_first(match: Match) -> Any:
    whole = match.op.result.type
    if not isinstance(whole, ArrayType) or not is_product(match.op):
        return None
    found = Factorisation(match, whole, False)
    found.of(match.op)
    return found.product() if found.after < found.before else None


def _added_twice(match: Match) -> Any:
    """``a + m + m``, where m has a small factor: that is doubled."""
    for first, m in (match.operands, match.operands[::-1]):
        inner, maker = match.made_by(first, "add"), match.makers.get(m)
        if inner is None or maker is None or not is_product(maker) or match.op.role == "primal":
            continue
        others = [operand for operand in inner.operands if operand is not m]
        alone = match.uses.get(first) == 1 and match.uses.get(m) == 2 and inner.role != "primal"
        if len(others) != 1 or not alone or not match.op.result.type == first.type == m.type:
            continue
        found = Factorisation(match, m.type, False)
        found.factor(2.0, False)
        found.of(maker, uses=2)
        if found.after <= found.before:
            return others[0] + found.product()
    return None


def _shared_first(match: Match) -> Any:
    """``f * a + f * b`` as ``f * (a + b)``, where f is small and moderate; what differs in a number
    alone as so many times that."""
    whole: Any = match.op.result.type
    makers = [match.makers.get(o) if isinstance(o, Value) else None for o in match.operands]
    if match.op.role == "primal" or not is_known(whole):
        return None
    sides = [Factorisation(match, whole, False) for _ in makers]
    for operand, maker, side in zip(match.operands, makers, sides):
        fits = maker is not None and is_product(maker) and operand.type == whole
        if maker is None or not fits or match.uses.get(operand) != 1:
            return None
        side.of(maker)
    one, other = sides
    before = one.before + other.before + 1
    numbers = alike(one, other)
    if numbers is not None:
        made = _together(match, sides, numbers, before)
        if made is not None:
            return made
    shared = [factor for factor in one.moderate_factors() if other.takes_out(factor)]
    for factor in shared:
        one.takes_out(factor)
    plus = (one.negative == other.negative) == (match.op.name == "add")
    negative, one.negative, other.negative = one.negative, False, False
    if not shared or one.after + other.after + 2 >= before:
        return None
    a, b = one.product(), other.product()
    inner = a + b if plus else b - a if negative else a - b
    outer = SmallFactors(above=shared).product()
    return (-outer if negative and plus else outer) * inner


def _together(
    match: Match, sides: Sequence[Factorisation], numbers: Sequence[float], before: int
) -> Any:
    """The sum of two products that differ in their numbers alone, as so many times one of them; but
    not if one takes away of the other."""
    signs = (-1.0 if one.negative else 1.0 for one in sides)
    left, right = (number * sign for number, sign in zip(numbers, signs))
    right = -right if match.op.name == "sub" else right
    for side, number in sorted(zip(sides, (left, right)), key=lambda each: each[0].after):
        times = (left + right) / number if number else 0.0
        if times.is_integer() and 1 < times <= costs().like_products and side.after < before:
            side.factor(times, False)
            side.negative ^= match.op.name == "sub" and side is sides[1]
            return side.product()
    return None


def _out_of_sum(match: Match) -> Any:
    """The sum of the large factors, times what does not change along the axes."""
    (x,), axes = match.operands, match.op.attrs["axes"]
    maker = match.makers.get(x)
    if match.op.role == "primal" or maker is None or not is_product(maker):
        return None
    whole = x.type
    if not is_known(whole) or not is_known(match.op.result.type):
        return None
    over = range(len(whole.shape)) if axes is None else axes
    # What is read elsewhere, too, is looked through where that takes no further operation.
    tried = [_Summands(match, maker, over, shared) for shared in (False, True)]
    found = min(tried, key=lambda each: (each.more, -len(each.fixed)))
    return found.sum() if found.more <= 0 and found.helps else None


class _Summands(Factorisation):
    """The factors of what is summed up over the axes ``over``."""

    def __init__(self, match: Match, maker: Op, over: Sequence[int], shared: bool):
        whole = maker.result.type
        assert isinstance(whole, ArrayType) and whole.shape is not None
        super().__init__(match, whole, shared)
        self.of(maker)
        self.rank, self.over = len(whole.shape), over
        fixed = [g for g in self.groups
                 if not (g.unsure_below or _changes(g.shape, over, self.rank))]  # fmt: skip
        unsure = [group for group in fixed if group.unsure]
        self.fixed = [group for group in fixed if group not in unsure[1:]]
        self.groups = [group for group in self.groups if group not in self.fixed]
        self.changes_sign, self.negative = self.negative, False

    @property
    def helps(self) -> bool:
        return self.has_numerator and (bool(self.fixed) or self.changes_sign)

    @property
    def more(self) -> int:
        """By how many operations on the whole array there are more without the fixed factors."""
        return self.after - self.before

    def sum(self) -> Any:
        """The sum of the others, times the fixed factors."""
        attrs, product = self.match.op.attrs, self.product()
        if type_of(product) != self.whole:
            return None  # what is left is not as large: the axes are others
        total = sum_(product, **attrs)
        total = -total if self.changes_sign else total
        for group in self.fixed:
            for factor in group.above:
                total = total * self.beside(factor)
            for factor in group.below:
                total = total / self.beside(factor)
        return total

    def beside(self, factor: Any) -> Any:
        """A fixed factor in the shape in which it meets the sum."""
        shape = shape_of(factor)
        left = shape if self.match.op.attrs["keepdims"] else self.left(shape)
        return factor if left == shape else reshape(factor, shape=left)

    def left(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """``shape`` without the axes that are gone after the sum."""
        first = self.rank - len(shape)
        return tuple(dim for place, dim in enumerate(shape) if place + first not in self.over)


def _changes(shape: Sequence[Any], axes: Sequence[int], rank: int) -> bool:
    """Whether a factor of this shape, stretched to ``rank`` axes, changes along some of them."""
    first = rank - len(shape)
    return any(axis >= first and shape[axis - first] != 1 for axis in axes)


_RULES = RuleSet(
    (
        *(Rule(f"small first in {name}", name, _small_first) for name in (*SIGNS, "add")),
        *(Rule(f"shared first in {name}", name, _shared_first) for name in ("add", "sub")),
        Rule("added twice", "add", _added_twice),
        Rule("out of a sum", "sum", _out_of_sum),
        *PARTIAL_SUMS,
    )
)
