"""Products in a derivative: what is small is multiplied first, and taken out of sums.

The chain rule makes long products of arrays, of numbers, and of arrays that are stretched. In
``c * (2.0 * x)`` the array is gone through twice, in ``(c * 2.0) * x`` once. A sum over axes along
which a factor does not change is a sum without it, which often is at hand: the mean of a
normalization and its scale ask for the same one. What is added to itself is a product with two.
So much is done only where fewer operations on whole arrays remain, and only in what differentiation
added: the user's own text is computed as it is written. Rounding differs in the last bit, as with
another order of the factors.

What is far from 1 is not multiplied before it meets its like: of ``x / s / s``, where all are tiny,
every step is a number, and ``1 / s / s`` is none. So there is at most one array among small factors
of which nothing is known, and none that divides is taken out of a sum. Of the root of a sum with a
number, as normalizations have it, enough is known.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.text import parse_function, print_function
>>> from autodiff_compiler.passes.dce import dce
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
>>> print(print_function(dce(products(before))), end='')
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

import math
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from autodiff_compiler.analysis.moderate import is_moderate, moderate_values
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Value, type_of
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.declare import broadcast_shapes
from autodiff_compiler.operators.structure import reshape, sum_
from autodiff_compiler.passes.rows import Row, View, apply_rows
from autodiff_compiler.passes.subtotals import subtotals

#: What a product is made of.
SIGNS = ("mul", "div", "neg")
#: Halves overflow too soon to be added up before they are scaled.
DTYPES = ("float32", "float64")
#: How many times smaller than the product a factor is that is multiplied first.
SMALL = 4


def products(function: Function) -> Function:
    """``function`` with fewer operations on whole arrays in what was added to the user's text."""
    moderate = moderate_values(function.body, function.moderate)
    rows = [Row(text, name, partial(rewrite, moderate)) for text, name, rewrite in ROWS]
    rows.append(subtotals(function))
    return apply_rows(function, rows, lambda row, op: None)


@dataclass
class _Group:
    """Small factors whose product is small: what multiplies, and what divides; of one array among
    them nothing need be known, and it may be what divides."""

    shape: tuple[Any, ...] = ()
    above: list[Any] = field(default_factory=list)
    below: list[Any] = field(default_factory=list)
    unsure: bool = False
    unsure_below: bool = False

    def takes(self, operand: AnyOperand, below: bool, whole: int, sure: bool) -> bool:
        """Takes a factor in, if the product stays small, and in the range of numbers."""
        shape = broadcast_shapes([self.shape, _shape(operand)])
        if math.prod(shape or ()) * SMALL > whole or self.unsure and not sure:  # type: ignore[arg-type]
            return False
        self.shape = shape or ()
        (self.below if below else self.above).append(operand)
        self.unsure = self.unsure or not sure
        self.unsure_below = self.unsure_below or below and not sure
        return True

    @property
    def only_divides(self) -> bool:
        """Whether it is a quotient, which stays one: by numbers, or by one array."""
        return not self.above and (len(self.below) == 1 or all(map(_is_number, self.below)))

    def product(self) -> Any:
        """The product; numbers last, so that each of them meets an array."""
        above, below = sorted(self.above, key=_is_number), sorted(self.below, key=_is_number)
        made = above.pop(0) if above else 1.0
        for factor in above:
            made = made * factor
        for factor in below:
            made = made / factor
        return made


class _Factors:
    """The factors of an array: the large ones, in their order, and groups of small ones."""

    def __init__(self, view: View, whole: ArrayType, shared: bool, moderate: Set[Value]):
        self.view, self.whole, self.shared, self.moderate = view, whole, shared, moderate
        self.size = math.prod(whole.shape or ())  # type: ignore[arg-type]
        #: Each large factor, and whether it divides.
        self.large: list[tuple[Any, bool]] = []
        self.groups: list[_Group] = []
        self.negative = False
        #: The operations on the whole array that a product of the factors would make unnecessary.
        self.before = 0

    def of(self, op: Op, below: bool = False, uses: int = 1) -> None:
        """Takes in the factors of what ``op`` makes, of which there are so many ``uses`` here."""
        self.before += _shape(op.result) == self.whole.shape and (
            op is self.view.op or self.view.uses.get(op.result) == uses
        )
        if _doubles(op):
            self.factor(2.0, below)
            return self.factor(op.operands[0], below, 2)
        if op.name == "neg":
            self.negative = not self.negative
        for place, operand in enumerate(op.operands):
            self.factor(operand, below != (op.name == "div" and place == 1))

    def factor(self, operand: AnyOperand, below: bool, uses: int = 1) -> None:
        maker = self.view.makers.get(operand) if isinstance(operand, Value) else None
        alone = maker is not None and (self.shared or self.view.uses.get(operand) == uses)  # type: ignore
        large, sure = _shape(operand) == self.whole.shape, is_moderate(operand, self.moderate)
        if large and alone and maker is not None and _is_product(maker):
            self.of(maker, below, uses)
        elif large or not _is_small(operand, self.whole):
            self.large.append((operand, below))
        elif not any(group.takes(operand, below, self.size, sure) for group in self.groups):
            self.groups.append(_Group())
            self.groups[-1].takes(operand, below, self.size, sure)

    @property
    def has_numerator(self) -> bool:
        """Whether a large factor is multiplied with."""
        return any(not below for _, below in self.large)

    def product(self) -> Any:
        """The product, small factors first, and large ones as they stood."""
        late = [group for group in self.groups if self.has_numerator and group.only_divides]
        small = [group.product() for group in self.groups if group not in late]
        factors = [*((f, False) for f in small if not (_is_number(f) and f == 1)), *self.large]
        start = next((factor for factor in factors if not factor[1]), None)
        if start is not None:
            factors.remove(start)
        first = start[0] if start is not None else 1.0
        if self.negative:
            first = -first
        for factor, below in factors:
            first = first / factor if below else first * factor
        for factor in [each for group in late for each in group.below]:
            first = first / factor
        return first

    def each(self) -> list[tuple[Any, bool]]:
        """Every factor, and whether it divides; a number times an array is both."""
        small = [(f, False) for group in self.groups for f in group.above]
        small += [(f, True) for group in self.groups for f in group.below]
        found: list[tuple[Any, bool]] = []
        for factor, below in (*self.large, *small):
            maker = self.view.made_by(factor, "mul")
            scaled = maker is not None and any(map(_is_number, maker.operands))
            found += [(f, below) for f in (maker.operands if scaled else (factor,))]  # type: ignore[union-attr]
        return found

    def moderate_factors(self) -> list[Any]:
        """What is small and moderate of that which multiplies, without its sign."""
        found = [self.positive(f) for group in self.groups for f in group.above]
        return [factor for factor in found if is_moderate(factor, self.moderate)]

    def positive(self, factor: Any) -> Any:
        inner = self.view.inner(factor, "neg")
        return factor if inner is ... else inner

    def takes_out(self, factor: Any) -> bool:
        """Takes ``factor``, or ``-factor``, out of what multiplies, if it is there."""
        for group in self.groups:
            for place, each in enumerate(group.above):
                if _same((self.positive(each), False), (factor, False)):
                    self.negative ^= each is not self.positive(each)
                    del group.above[place]
                    self.groups = [g for g in self.groups if g.above or g.below]
                    return True
        return False

    @property
    def after(self) -> int:
        """The operations on the whole array that the product takes."""
        above = sum(not below for _, below in self.large)
        sign = self.negative and not self.groups and self.has_numerator
        return max(above + len(self.groups) - 1, 0) + len(self.large) - above + sign


def _small_first(moderate: Set[Value], view: View) -> Any:
    whole = view.op.result.type
    if not isinstance(whole, ArrayType) or not _is_product(view.op):
        return None
    found = _Factors(view, whole, False, moderate)
    found.of(view.op)
    return found.product() if found.after < found.before else None


def _added_twice(moderate: Set[Value], view: View) -> Any:
    """``a + m + m``, where m has a small factor: that is doubled."""
    for first, m in (view.operands, view.operands[::-1]):
        inner, maker = view.made_by(first, "add"), view.makers.get(m)
        if inner is None or maker is None or not _is_product(maker) or view.op.about == "primal":
            continue
        others = [operand for operand in inner.operands if operand is not m]
        alone = view.uses.get(first) == 1 and view.uses.get(m) == 2 and inner.about != "primal"
        if len(others) != 1 or not alone or not view.op.result.type == first.type == m.type:
            continue
        found = _Factors(view, m.type, False, moderate)
        found.factor(2.0, False)
        found.of(maker, uses=2)
        if found.after <= found.before:
            return others[0] + found.product()
    return None


def _shared_first(moderate: Set[Value], view: View) -> Any:
    """``f * a + f * b`` as ``f * (a + b)``, where f is small and moderate; twice the same as that,
    doubled."""
    whole: Any = view.op.result.type
    makers = [view.makers.get(o) if isinstance(o, Value) else None for o in view.operands]
    if view.op.about == "primal" or not _is_known(whole):
        return None
    sides = [_Factors(view, whole, False, moderate) for _ in makers]
    for operand, maker, side in zip(view.operands, makers, sides):
        fits = maker is not None and _is_product(maker) and operand.type == whole
        if maker is None or not fits or view.uses.get(operand) != 1:
            return None
        side.of(maker)
    one, other = sides
    before = one.before + other.before + 1
    if (one.negative == other.negative) == (view.op.name == "add") and _alike(one, other):
        one.factor(2.0, False)
        return one.product() if one.after < before else None
    shared = [factor for factor in one.moderate_factors() if other.takes_out(factor)]
    for factor in shared:
        one.takes_out(factor)
    plus = (one.negative == other.negative) == (view.op.name == "add")
    negative, one.negative, other.negative = one.negative, False, False
    if not shared or one.after + other.after + 2 >= before:
        return None
    a, b = one.product(), other.product()
    inner = a + b if plus else b - a if negative else a - b
    outer = _Group(above=shared).product()
    return (-outer if negative and plus else outer) * inner


def _alike(one: _Factors, other: _Factors) -> bool:
    """Whether both have the same factors."""
    left = other.each()
    for factor in one.each():
        place = next((k for k, each in enumerate(left) if _same(each, factor)), None)
        if place is None:
            return False
        del left[place]
    return not left


def _same(one: tuple[Any, bool], other: tuple[Any, bool]) -> bool:
    (a, below), (b, under) = one, other
    equal = a is b or not isinstance(a, Value) and type(a) is type(b) and a == b
    return below == under and equal


def _out_of_sum(moderate: Set[Value], view: View) -> Any:
    """The sum of the large factors, times what does not change along the axes."""
    (x,), axes = view.operands, view.op.attrs["axes"]
    maker = view.makers.get(x)
    if view.op.about == "primal" or maker is None or not _is_product(maker):
        return None
    whole = x.type
    if not _is_known(whole) or not _is_known(view.op.result.type):
        return None
    over = range(len(whole.shape)) if axes is None else axes
    # What is read elsewhere, too, is looked through where that takes no further operation.
    tried = [_Summands(view, maker, over, shared, moderate) for shared in (False, True)]
    found = min(tried, key=lambda each: (each.more, -len(each.fixed)))
    return found.sum() if found.more <= 0 and found.helps else None


class _Summands(_Factors):
    """The factors of what is summed up over the axes ``over``."""

    def __init__(
        self, view: View, maker: Op, over: Sequence[int], shared: bool, moderate: Set[Value]
    ):
        whole = maker.result.type
        assert isinstance(whole, ArrayType) and whole.shape is not None
        super().__init__(view, whole, shared, moderate)
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
        attrs, product = self.view.op.attrs, self.product()
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
        shape = _shape(factor)
        left = shape if self.view.op.attrs["keepdims"] else self.left(shape)
        return factor if left == shape else reshape(factor, shape=left)

    def left(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """``shape`` without the axes that are gone after the sum."""
        first = self.rank - len(shape)
        return tuple(dim for place, dim in enumerate(shape) if place + first not in self.over)


def _changes(shape: Sequence[Any], axes: Sequence[int], rank: int) -> bool:
    """Whether a factor of this shape, stretched to ``rank`` axes, changes along some of them."""
    first = rank - len(shape)
    return any(axis >= first and shape[axis - first] != 1 for axis in axes)


def _is_product(op: Op) -> bool:
    signs = op.name in SIGNS or _doubles(op)
    return signs and op.about != "primal" and _is_known(op.result.type)


def _doubles(op: Op) -> bool:
    return (
        op.name == "add" and isinstance(op.operands[0], Value) and op.operands[0] is op.operands[1]
    )


def _is_known(type_: Any) -> bool:
    return isinstance(type_, ArrayType) and type_.is_static and type_.dtype in DTYPES


def _is_number(operand: AnyOperand) -> bool:
    return not isinstance(type_of(operand), ArrayType)


def _shape(operand: AnyOperand) -> Any:
    type_ = type_of(operand)
    return type_.shape if isinstance(type_, ArrayType) else ()


def _is_small(operand: AnyOperand, whole: ArrayType) -> bool:
    """Whether ``operand`` is much smaller than ``whole``, and as precise and wide in its range: the
    product of two halves may be none of these."""
    type_ = type_of(operand)
    known = not isinstance(type_, ArrayType) or type_.is_static and type_.dtype == whole.dtype
    return known and math.prod(_shape(operand)) * SMALL <= math.prod(whole.shape or ())  # type: ignore[arg-type]


ROWS: tuple[tuple[str, str, Callable[[Set[Value], View], Any]], ...] = (
    *((f"small first in {name}", name, _small_first) for name in (*SIGNS, "add")),
    *((f"shared first in {name}", name, _shared_first) for name in ("add", "sub")),
    ("added twice", "add", _added_twice),
    ("out of a sum", "sum", _out_of_sum),
)
