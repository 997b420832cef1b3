"""The factorisation of a product in a derivative, and the product made of the factors again.

Large factors keep their order. Small ones are collected in groups, whose product is computed first.
A factor of unknown magnitude is not multiplied before it meets the whole product. If x and s are
tiny, every step of ``x / s / s`` is finite, but ``1 / s / s`` is infinite. A group therefore holds
at most one factor whose magnitude is not known to be safe (``analysis/magnitude.py``).

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
>>> found.add_product(b)
>>> found.large, found.groups[0].numerator, (found.operations_before, found.operations_after)
([(%x: f32[8,9], False)], [%c: f32[], 2.0], (2, 1))
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeGuard

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import AnyOperand, Op, Value, is_real_literal, type_of
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core.declare import broadcast_shapes
from autodiff_compiler.passes.core.patterns import Match

#: The operations that a product consists of.
SIGNS = ("mul", "div", "neg")
#: The dtypes of factors. Half precision overflows too soon for a sum before the scaling.
DTYPES = ("float32", "float64")

#: A factor, and True if it divides.
Factor: TypeAlias = tuple[Any, bool]


@dataclass
class SmallFactors:
    """A group of factors whose product is small.

    The magnitude of one array among them may be unknown (``has_unsafe``), also if it divides
    (``divides_by_unsafe``).
    """

    shape: tuple[Any, ...] = ()
    numerator: list[Any] = field(default_factory=list)
    denominator: list[Any] = field(default_factory=list)
    has_unsafe: bool = False
    divides_by_unsafe: bool = False

    def try_add(self, operand: AnyOperand, divides: bool, product_size: int, is_safe: bool) -> bool:
        """True if the group takes the factor: it stays small and has one unsafe array at most."""
        shape = broadcast_shapes([self.shape, shape_of(operand)]) or ()
        size = ArrayType(shape=shape).element_count
        if size * costs().small_factor_ratio > product_size or self.has_unsafe and not is_safe:
            return False
        self.shape = shape
        (self.denominator if divides else self.numerator).append(operand)
        self.has_unsafe = self.has_unsafe or not is_safe
        self.divides_by_unsafe = self.divides_by_unsafe or divides and not is_safe
        return True

    @property
    def only_divides(self) -> bool:
        """True if the group stays a quotient: it divides by numbers, or by one array."""
        divisors = self.denominator
        return not self.numerator and (len(divisors) == 1 or all(map(_is_number, divisors)))

    def product(self) -> Any:
        """Computes the product of the group; each number meets an array, so numbers come last."""
        numerator, denominator = (
            sorted(factors, key=_is_number) for factors in (self.numerator, self.denominator)
        )
        product = numerator.pop(0) if numerator else 1.0
        for factor in numerator:
            product = product * factor
        for factor in denominator:
            product = product / factor
        return product


class Factorisation:
    """The factors of a product: the large ones in their order, and groups of small ones.

    ``through_shared`` says whether products that others read are taken apart, too.
    """

    def __init__(self, match: Match, type_: ArrayType, through_shared: bool):
        self.match, self.type, self.through_shared = match, type_, through_shared
        self.size = type_.element_count
        self.large: list[Factor] = []
        self.groups: list[SmallFactors] = []
        self.is_negative = False
        #: The operations on arrays of this shape that the product of the factors replaces.
        self.operations_before = 0
        self.visited_operations = 0

    def add_product(self, op: Op, divides: bool = False, uses: int = 1) -> None:
        """Adds the factors of the result of ``op``, which is read ``uses`` times here."""
        self.visited_operations += 1
        self.operations_before += shape_of(op.result) == self.type.shape and (
            op is self.match.op or self.match.uses.get(op.result) == uses
        )
        if _doubles(op):
            self.add_factor(2.0, divides)
            return self.add_factor(op.operands[0], divides, 2)
        if op.name == "neg":
            self.is_negative = not self.is_negative
        for place, operand in enumerate(op.operands):
            self.add_factor(operand, divides != (op.name == "div" and place == 1))

    def add_factor(self, operand: AnyOperand, divides: bool, uses: int = 1) -> None:
        """Adds ``operand``, or its factors if it is a large product itself."""
        maker = self.match.makers.get(operand) if isinstance(operand, Value) else None
        is_large = shape_of(operand) == self.type.shape
        if is_large and maker is not None and self.takes_apart(maker, uses):
            self.add_product(maker, divides, uses)
        elif is_large or not _is_small(operand, self.type):
            self.large.append((operand, divides))
        else:
            self.add_small(operand, divides)

    def takes_apart(self, maker: Op, uses: int) -> bool:
        if self.visited_operations >= costs().factor_search_operations or not is_product(maker):
            return False
        return self.through_shared or self.match.uses.get(maker.result) == uses

    def add_small(self, operand: AnyOperand, divides: bool) -> None:
        """Adds a small factor to the first group that takes it, or to a new group."""
        is_safe = self.match.has_safe_magnitude(operand)
        if not any(group.try_add(operand, divides, self.size, is_safe) for group in self.groups):
            self.groups.append(SmallFactors())
            self.groups[-1].try_add(operand, divides, self.size, is_safe)

    @property
    def has_large_numerator(self) -> bool:
        return any(not divides for _, divides in self.large)

    def product(self) -> Any:
        """Computes the product, small factors first and large ones in their order."""
        late = [group for group in self.groups if self.has_large_numerator and group.only_divides]
        small = [group.product() for group in self.groups if group not in late]
        factors = [*((f, False) for f in small if not (_is_number(f) and f == 1)), *self.large]
        start = next((factor for factor in factors if not factor[1]), None)
        if start is not None:
            factors.remove(start)
        product = start[0] if start is not None else 1.0
        if self.is_negative:
            product = -product
        for factor, divides in factors:
            product = product / factor if divides else product * factor
        for factor in [each for group in late for each in group.denominator]:
            product = product / factor
        return product

    def all_factors(self) -> list[Factor]:
        """Returns every factor; a product that others read is replaced by its own factors."""
        small = [(f, False) for group in self.groups for f in group.numerator]
        small += [(f, True) for group in self.groups for f in group.denominator]
        waiting, factors = [*self.large, *small], []
        while waiting:
            factor, divides = waiting.pop()
            maker = self.match.made_by(factor, "mul")
            if maker is not None and all(map(self.is_as_exact, (factor, *maker.operands))):
                waiting += [(operand, divides) for operand in maker.operands]
            else:
                factors.append((factor, divides))
        return factors

    def is_as_exact(self, factor: Any) -> bool:
        """True if ``factor`` is a number, or has the dtype of the product."""
        type_ = type_of(factor)
        return not isinstance(type_, ArrayType) or type_.dtype == self.type.dtype

    def safe_small_factors(self) -> list[Any]:
        """Returns the small factors of the numerator of safe magnitude, without their signs."""
        factors = [self.without_sign(f) for group in self.groups for f in group.numerator]
        return [factor for factor in factors if self.match.has_safe_magnitude(factor)]

    def without_sign(self, factor: Any) -> Any:
        inner = self.match.argument_of(factor, "neg")
        return factor if inner is ... else inner

    def remove(self, factor: Any) -> bool:
        """Removes ``factor``, or ``-factor``, from the small numerators; True if it was there."""
        for group in self.groups:
            for place, each in enumerate(group.numerator):
                if _same((self.without_sign(each), False), (factor, False)):
                    self.is_negative ^= each is not self.without_sign(each)
                    del group.numerator[place]
                    self.groups = [g for g in self.groups if g.numerator or g.denominator]
                    return True
        return False

    @property
    def operations_after(self) -> int:
        """The operations on arrays of this shape that the product of the factors takes."""
        numerators = sum(not divides for _, divides in self.large)
        sign = self.is_negative and not self.groups and self.has_large_numerator
        multiplications = max(numerators + len(self.groups) - 1, 0)
        return multiplications + len(self.large) - numerators + sign


def coefficients(one: Factorisation, other: Factorisation) -> tuple[float, float] | None:
    """Returns the numbers of both products, or None if they differ in more than these."""
    factors, unmatched = one.all_factors(), other.all_factors()
    left, right = (
        math.prod(f for f, divides in each if is_real_literal(f) and not divides)
        for each in (factors, unmatched)
    )
    unmatched = [each for each in unmatched if not is_real_literal(each[0]) or each[1]]
    for factor in factors:
        if is_real_literal(factor[0]) and not factor[1]:
            continue
        place = next((k for k, each in enumerate(unmatched) if _same(each, factor)), None)
        if place is None:
            return None
        del unmatched[place]
    return None if unmatched else (left, right)


def _same(one: Factor, other: Factor) -> bool:
    (a, divides), (b, other_divides) = one, other
    equal = a is b or not isinstance(a, Value) and type(a) is type(b) and a == b
    return divides == other_divides and equal


def is_product(op: Op) -> bool:
    """True if ``op`` may be taken apart: numbers that are 0 or infinite stay where they are."""
    multiplies = op.name in SIGNS or _doubles(op)
    ordinary = all(x and math.isfinite(x) for x in op.operands if is_real_literal(x))
    return multiplies and ordinary and op.role != "primal" and is_static_float(op.result.type)


def _doubles(op: Op) -> bool:
    return (
        op.name == "add" and isinstance(op.operands[0], Value) and op.operands[0] is op.operands[1]
    )


def is_static_float(type_: Any) -> TypeGuard[ArrayType]:
    """True if it is an array of known sizes of one of ``DTYPES``."""
    return isinstance(type_, ArrayType) and type_.is_static and type_.dtype in DTYPES


def _is_number(operand: AnyOperand) -> bool:
    return not isinstance(type_of(operand), ArrayType)


def shape_of(operand: AnyOperand) -> Any:
    """Returns the shape of an operand, that of a number being ``()``."""
    type_ = type_of(operand)
    return type_.shape if isinstance(type_, ArrayType) else ()


def _is_small(operand: AnyOperand, product: ArrayType) -> bool:
    """True if ``operand`` is much smaller than ``product``, and of its precision and range.

    The product of two factors in half precision may have neither.
    """
    type_ = type_of(operand)
    if isinstance(type_, ArrayType) and not (type_.is_static and type_.dtype == product.dtype):
        return False
    return math.prod(shape_of(operand)) * costs().small_factor_ratio <= product.element_count
