"""The factors of an array: what a product in a derivative is made of, and how it is made again.

Large factors stay as they stood; small ones are collected in groups, whose product is made first.
What is far from 1 is not multiplied before it meets its like: of ``x / s / s``, where all are tiny,
every step is a number, and ``1 / s / s`` is none. So there is at most one array in a group of which
nothing is known (``analysis/magnitude.py``).

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.passes.core.patterns import Match
>>> made = parse_function('''
... func @f(%x: f32[8,9], %c: f32[]) -> (f32[8,9]) {
...   %a: f32[8,9] = mul 2.0, %x  # adjoint
...   %b: f32[8,9] = mul %c, %a  # adjoint
...   return %b
... }
... ''')
>>> a, b = made.body.ops
>>> found = Factorisation(Match(b, {a.result: a}, {a.result: 1}), b.result.type, False)
>>> found.of(b)
>>> found.large, found.groups[0].above, (found.before, found.after)
([(%x: f32[8,9], False)], [%c: f32[], 2.0], (2, 1))
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import AnyOperand, Op, Value, type_of
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core.declare import broadcast_shapes
from autodiff_compiler.passes.core.patterns import Match

#: What a product is made of.
SIGNS = ("mul", "div", "neg")
#: Halves overflow too soon to be added up before they are scaled.
DTYPES = ("float32", "float64")


@dataclass
class SmallFactors:
    """Small factors whose product is small: what multiplies, and what divides; of one array among
    them nothing need be known, and it may be what divides."""

    shape: tuple[Any, ...] = ()
    above: list[Any] = field(default_factory=list)
    below: list[Any] = field(default_factory=list)
    unsure: bool = False
    unsure_below: bool = False

    def takes(self, operand: AnyOperand, below: bool, whole: int, sure: bool) -> bool:
        """Takes a factor in, if the product stays small, and in the range of numbers."""
        shape = broadcast_shapes([self.shape, shape_of(operand)])
        size = math.prod(shape or ())  # type: ignore[arg-type]
        if size * costs().small_factor_ratio > whole or self.unsure and not sure:
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


class Factorisation:
    """The factors of an array: the large ones, in their order, and groups of small ones."""

    def __init__(self, match: Match, whole: ArrayType, shared: bool):
        self.match, self.whole, self.shared = match, whole, shared
        self.size = math.prod(whole.shape or ())  # type: ignore[arg-type]
        #: Each large factor, and whether it divides.
        self.large: list[tuple[Any, bool]] = []
        self.groups: list[SmallFactors] = []
        self.negative = False
        #: The operations on the whole array that a product of the factors would make unnecessary.
        self.before = 0
        self.taken = 0

    def of(self, op: Op, below: bool = False, uses: int = 1) -> None:
        """Takes in the factors of what ``op`` makes, of which there are so many ``uses`` here."""
        self.taken += 1
        self.before += shape_of(op.result) == self.whole.shape and (
            op is self.match.op or self.match.uses.get(op.result) == uses
        )
        if _doubles(op):
            self.factor(2.0, below)
            return self.factor(op.operands[0], below, 2)
        if op.name == "neg":
            self.negative = not self.negative
        for place, operand in enumerate(op.operands):
            self.factor(operand, below != (op.name == "div" and place == 1))

    def factor(self, operand: AnyOperand, below: bool, uses: int = 1) -> None:
        maker = self.match.makers.get(operand) if isinstance(operand, Value) else None
        alone = maker is not None and (self.shared or self.match.uses.get(operand) == uses)
        large, sure = shape_of(operand) == self.whole.shape, self.match.has_safe_magnitude(operand)
        far = self.taken >= costs().factor_search_operations
        if large and alone and not far and maker is not None and is_product(maker):
            self.of(maker, below, uses)
        elif large or not _is_small(operand, self.whole):
            self.large.append((operand, below))
        elif not any(group.takes(operand, below, self.size, sure) for group in self.groups):
            self.groups.append(SmallFactors())
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
        """Every factor, and whether it divides; a product that is read elsewhere too is those that
        it is made of."""
        small = [(f, False) for group in self.groups for f in group.above]
        small += [(f, True) for group in self.groups for f in group.below]
        waiting, found = [*self.large, *small], []
        while waiting:
            factor, below = waiting.pop()
            maker = self.match.made_by(factor, "mul")
            if maker is not None and all(map(self.is_as_exact, (factor, *maker.operands))):
                waiting += [(operand, below) for operand in maker.operands]
            else:
                found.append((factor, below))
        return found

    def is_as_exact(self, factor: Any) -> bool:
        """Whether ``factor`` is a number, or of the dtype of the product."""
        return _is_number(factor) or type_of(factor).dtype == self.whole.dtype  # type: ignore[attr-defined]

    def moderate_factors(self) -> list[Any]:
        """What is small and moderate of that which multiplies, without its sign."""
        found = [self.positive(f) for group in self.groups for f in group.above]
        return [factor for factor in found if self.match.has_safe_magnitude(factor)]

    def positive(self, factor: Any) -> Any:
        inner = self.match.argument_of(factor, "neg")
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


def alike(one: Factorisation, other: Factorisation) -> tuple[float, float] | None:
    """The numbers of both, if they have the same factors but for these."""
    factors, left = one.each(), other.each()
    numbers = [math.prod(f for f, below in each if _is_plain(f) and not below)
               for each in (factors, left)]  # fmt: skip
    left = [each for each in left if not _is_plain(each[0]) or each[1]]
    for factor in factors:
        if _is_plain(factor[0]) and not factor[1]:
            continue
        place = next((k for k, each in enumerate(left) if _same(each, factor)), None)
        if place is None:
            return None
        del left[place]
    return None if left else (numbers[0], numbers[1])


def _is_plain(factor: Any) -> bool:
    return type(factor) in (int, float)


def _same(one: tuple[Any, bool], other: tuple[Any, bool]) -> bool:
    (a, below), (b, under) = one, other
    equal = a is b or not isinstance(a, Value) and type(a) is type(b) and a == b
    return below == under and equal


def is_product(op: Op) -> bool:
    """Decide whether it may be taken apart: numbers that are 0 or infinite stay where they are."""
    signs = op.name in SIGNS or _doubles(op)
    ordinary = all(not _is_plain(x) or x and math.isfinite(x) for x in op.operands)  # type: ignore[arg-type]
    return signs and ordinary and op.role != "primal" and is_known(op.result.type)


def _doubles(op: Op) -> bool:
    return (
        op.name == "add" and isinstance(op.operands[0], Value) and op.operands[0] is op.operands[1]
    )


def is_known(type_: Any) -> bool:
    return isinstance(type_, ArrayType) and type_.is_static and type_.dtype in DTYPES


def _is_number(operand: AnyOperand) -> bool:
    return not isinstance(type_of(operand), ArrayType)


def shape_of(operand: AnyOperand) -> Any:
    type_ = type_of(operand)
    return type_.shape if isinstance(type_, ArrayType) else ()


def _is_small(operand: AnyOperand, whole: ArrayType) -> bool:
    """Whether ``operand`` is much smaller than ``whole``, and as precise and wide in its range: the
    product of two halves may be none of these."""
    type_ = type_of(operand)
    known = not isinstance(type_, ArrayType) or type_.is_static and type_.dtype == whole.dtype
    ratio = costs().small_factor_ratio
    return known and math.prod(shape_of(operand)) * ratio <= math.prod(whole.shape or ())  # type: ignore[arg-type]
