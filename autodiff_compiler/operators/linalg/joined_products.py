"""Rewrites of products that are one call of BLAS, or a few.

A batch of matrices times one matrix is one product of all rows. An Einstein sum is products of
matrices, two operands at a time in the cheapest order. Compiled code applies these rewrites as
rules of algebra (``passes/simplify/algebra/einsum.py``); eager kernels apply them when they are
generated. All sizes must be known.
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import Op, Value, type_of
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core.structure import (
    expand_dims,
    reshape,
    sum_,
    swap_last_axes,
    transpose,
)
from autodiff_compiler.operators.linalg.einsum import split_equation
from autodiff_compiler.operators.linalg.products import BLAS, matmul

#: Returns the operation that computes a value, if it is known.
Producer = Callable[[Any], Op | None]


def of_blas(operands: Sequence[Any]) -> bool:
    """True if all operands are arrays of known sizes, not empty, in one dtype of BLAS."""
    types = [type_ for type_ in map(type_of, operands) if isinstance(type_, ArrayType)]
    if len(types) < len(operands) or not all(type_.is_static for type_ in types):
        return False
    if any(0 in type_.static_shape for type_ in types):
        return False
    return types[0].dtype in BLAS and len({type_.dtype for type_ in types}) == 1


def product_of_all_rows(
    operands: Sequence[Any], attrs: Mapping[str, Any], producer: Producer
) -> Any:
    """Returns a batch of matrices times one matrix as one product, where that is faster."""
    a, b = operands
    if not of_blas(operands) or len(a.type.shape) < 3 or len(b.type.shape) != 2:
        return None
    if _moves_axes(producer(a)):  # its rows do not lie one below the other
        return None
    *batch, rows, inner = a.type.shape
    columns = b.type.shape[1]
    if not _pays(math.prod(batch), rows, inner, columns, _moves_axes(producer(b))):
        return None
    below = reshape(a, shape=(math.prod(batch) * rows, inner))
    return reshape(matmul(below, b), shape=(*batch, rows, columns))


def _pays(batch: int, rows: int, inner: int, columns: int, transposed: bool) -> bool:
    """True if one product is clearly faster than ``batch`` products of so many rows.

    Each of them copies the right factor into BLAS's own layout. A small one in memory order is
    read as it is.
    """
    limits = costs()
    if batch == 1 or batch * rows * inner * columns < limits.joined_product_terms:
        return False
    if rows <= limits.joined_product_rows:
        return True
    if transposed:
        return min(inner, columns) >= limits.joined_product_columns
    copied = inner * columns >= limits.copied_factor_elements
    return copied and rows < limits.copied_factor_rows


def _moves_axes(maker: Op | None) -> bool:
    return maker is not None and maker.name in ("transpose", "swap_last_axes")


def einsum_products(operands: Sequence[Any], attrs: Mapping[str, Any], producer: Producer) -> Any:
    """Returns an einsum of several operands as products of two operands at a time."""
    if not of_blas(operands):
        return None
    terms, out = split_equation(attrs["equation"])
    factors = [*zip(operands, terms)]
    while len(factors) > 1:
        at, then = _cheapest(factors, out)
        right, left = factors.pop(then), factors.pop(at)
        wanted = {*out, *"".join(term for _, term in factors)}
        factors.append(_product(left, right, wanted, out))
    ((x, term),) = factors
    x, term = _summed(x, term, out)
    return _transposed(x, term, out)


#: The rewrites by the name of the operator.
JOINED: dict[str, Callable[[Sequence[Any], Mapping[str, Any], Producer], Any]] = {
    "einsum": einsum_products,
    "matmul": product_of_all_rows,
}


#: An operand with the letters of its axes.
Named = tuple[Any, str]


def _cheapest(factors: Sequence[Named], out: str) -> tuple[int, int]:
    """Returns the two factors whose product takes the fewest multiplications.

    Of several pairs it is the first whose product is no larger than its factors.
    """
    sizes = {c: size for x, term in factors for c, size in zip(term, x.type.shape)}

    def size(letters: Iterable[str]) -> int:
        return math.prod(sizes[letter] for letter in letters)

    def cost(pair: tuple[int, int]) -> tuple[int, bool]:
        others = (term for place, (_, term) in enumerate(factors) if place not in pair)
        wanted, terms = {*out, *"".join(others)}, [{*factors[place][1]} for place in pair]
        product = terms[0] | terms[1]
        return size(product), size(product & wanted) > max(map(size, terms))

    return min(combinations(range(len(factors)), 2), key=cost)


def _product(left: Named, right: Named, wanted: Iterable[str], out: str) -> Named:
    """Returns the product of two operands, summed over the letters that are not ``wanted``."""
    (a, s), (b, t) = left, right
    a, s = _summed(a, s, {*wanted, *t})
    b, t = _summed(b, t, {*wanted, *s})
    batch = [c for c in s if c in t and c in wanted]
    inner = [c for c in s if c in t and c not in wanted]
    rows, columns = [c for c in s if c not in t], [c for c in t if c not in s]
    if not inner or not rows and not columns:
        letters = [*dict.fromkeys(c for c in out + s + t if c in s + t)]
        a, b = (_aligned(x, term, letters) for x, term in ((a, s), (b, t)))
        return _summed(a * b, "".join(letters), wanted)
    if not rows or "".join((*batch, *columns, *rows)) == out:  # no transpose after it
        a, s, b, t, rows, columns = b, t, a, s, columns, rows
    sizes = {c: size for x, term in ((a, s), (b, t)) for c, size in zip(term, x.type.shape)}
    a = _matrices(a, s, batch, rows, inner)
    b = _matrices(b, t, batch, inner, columns)
    product = matmul(a, b)
    letters = [*batch, *rows, *columns]
    shape = tuple(sizes[c] for c in letters)
    product = product if product.type.shape == shape else reshape(product, shape=shape)
    return product, "".join(letters)


def _summed(x: Any, term: str, wanted: Iterable[str]) -> Named:
    """Returns the sum of ``x`` over the letters that are not wanted."""
    summed = tuple(axis for axis, letter in enumerate(term) if letter not in wanted)
    x = sum_(x, axes=summed, keepdims=False) if summed else x
    return x, "".join(letter for letter in term if letter in wanted)


def _transposed(x: Any, term: str, letters: Sequence[str]) -> Any:
    """Returns ``x`` with its axes in the order of ``letters``."""
    perm = tuple(term.index(letter) for letter in letters)
    if perm == tuple(range(len(perm))):
        return x
    *leading, last, least = perm
    if leading == [*range(len(leading))] and last > least:
        return swap_last_axes(x)
    return transpose(x, perm=perm)


def _aligned(x: Any, term: str, letters: Sequence[str]) -> Any:
    """Returns ``x`` with an axis for each of ``letters``, of size one if it has none."""
    x = _transposed(x, term, [letter for letter in letters if letter in term])
    first = next((place for place, letter in enumerate(letters) if letter in term), 0)
    missing = tuple(k for k, c in enumerate(letters) if c not in term and k > first)
    # Arithmetic puts leading ones before a shape by itself.
    missing = tuple(k - first for k in missing)
    return expand_dims(x, axes=missing) if missing else x


def _matrices(
    x: Any, term: str, batch: Sequence[str], rows: Sequence[str], columns: Sequence[str]
) -> Value:
    """Returns ``x`` as matrices with the letters of each side on one axis.

    Without a batch a vector stays a vector.
    """
    x = _transposed(x, term, [*batch, *rows, *columns])
    sizes = x.type.shape
    few, many = len(batch), len(batch) + len(rows)
    sides = [math.prod(sizes[few:many]), math.prod(sizes[many:])]
    if not batch:
        sides = [side for side, letters in zip(sides, (rows, columns)) if letters]
    shape = (*sizes[:few], *sides)
    return x if shape == sizes else reshape(x, shape=shape)
