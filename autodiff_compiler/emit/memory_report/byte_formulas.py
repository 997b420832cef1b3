"""Bytes as formulas: sums of products of integers and names. A name stands for a dimension.

>>> n = ByteFormula.named("n")
>>> print(formula_of(ArrayType("float32", (2, "b"))) * (n + ByteFormula.of(1)))
8*b*n + 8*b
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from autodiff_compiler.ir.types import (
    ArrayType,
    DictType,
    Dim,
    ListType,
    TupleType,
    Type,
    item_size,
)

#: The name of a number that is unknown at compile time.
UNKNOWN = "?"


@dataclass(frozen=True)
class ByteFormula:
    """A polynomial: a factor for each product of names. The names of a product are sorted."""

    terms: Mapping[tuple[str, ...], int] = field(default_factory=dict)

    @staticmethod
    def of(number: int) -> ByteFormula:
        return ByteFormula({(): number} if number else {})

    @staticmethod
    def named(name: str) -> ByteFormula:
        return ByteFormula({(name,): 1})

    @property
    def number(self) -> int | None:
        """The value of a constant formula, or None."""
        return None if any(self.terms) else self.terms.get((), 0)

    def __add__(self, other: ByteFormula) -> ByteFormula:
        terms = Counter(self.terms)
        terms.update(other.terms)
        return ByteFormula({names: factor for names, factor in terms.items() if factor})

    def __sub__(self, other: ByteFormula) -> ByteFormula:
        return self + other * ByteFormula.of(-1)

    def __mul__(self, other: ByteFormula) -> ByteFormula:
        products: Counter[tuple[str, ...]] = Counter()
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                products[tuple(sorted(left + right))] += a * b
        return ByteFormula(dict(products))

    def __str__(self) -> str:
        ordered = sorted(self.terms.items(), key=lambda term: (-len(term[0]), term[0]))
        text = " + ".join(_product(names, factor) for names, factor in ordered)
        return text.replace("+ -", "- ") or "0"


def _product(names: tuple[str, ...], factor: int) -> str:
    number = [f"{factor:,}"] if factor != 1 or not names else []
    return "*".join([*number, *names])


def formula_of(type_: Type) -> ByteFormula:
    """Returns the bytes of the arrays in a value of this type. Python's numbers count nothing.

    >>> print(formula_of(ArrayType("bool", (3,))), formula_of(ArrayType("float64", (None, 2))))
    3 16*?
    """
    if isinstance(type_, ArrayType):
        known = type_.dtype is not None and type_.shape is not None
        size = ByteFormula.of(item_size(type_.dtype)) if type_.dtype else ByteFormula.named(UNKNOWN)
        for dim in (type_.shape or ()) if known else (UNKNOWN,):
            size = size * _dimension(dim)
        return size
    if isinstance(type_, (TupleType, DictType)):
        return sum(map(formula_of, type_.items), ByteFormula())
    if isinstance(type_, ListType):
        return formula_of(type_.item) * ByteFormula.named(UNKNOWN)
    return ByteFormula()


def _dimension(dim: Dim) -> ByteFormula:
    return ByteFormula.of(dim) if isinstance(dim, int) else ByteFormula.named(dim or UNKNOWN)
