"""Products of vectors and matrices."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.operators import structure
from autodiff_compiler.ops._shapes import known_rank, known_sizes, rank_of
from autodiff_compiler.ops.parts import item_at

matmul, kron = ops.matmul, ops.kron


def dot(a: Any, b: Any) -> Any:
    """The product over the last axis of ``a`` and the last but one of ``b``."""
    if 0 in (rank_of(a), rank_of(b)):
        return a * b
    return ops.matmul(a, b) if known_rank(b, "dot") <= 2 else tensordot(a, b, ((-1,), (-2,)))


def vdot(a: Any, b: Any) -> Any:
    """The sum of the products of all elements."""
    return structure.sum_(ops.reshape(a, (-1,)) * ops.reshape(b, (-1,)), axes=None, keepdims=False)


def inner(a: Any, b: Any) -> Any:
    """The product over the last axes."""
    if 0 in (rank_of(a), rank_of(b)):
        return a * b
    return tensordot(a, b, ((-1,), (-1,)))


def outer(a: Any, b: Any) -> Any:
    """Every element of ``a`` times every one of ``b``."""
    return ops.reshape(a, (-1, 1)) * ops.reshape(b, (1, -1))


def cross(a: Any, b: Any, axis: int = -1) -> Any:
    """The vector that stands upright on two others."""
    if known_sizes(a, "cross")[axis] == 3:
        return ops.cross(a, b, axis)
    a, b = ops.moveaxis(a, axis, -1), ops.moveaxis(b, axis, -1)
    return item_at(a, (..., 0)) * item_at(b, (..., 1)) - item_at(a, (..., 1)) * item_at(b, (..., 0))


def einsum(subscripts: str, *operands: Any, optimize: Any = False) -> Any:
    """The sum of products that the subscripts say; without a sum or a product, a view."""
    if len(operands) == 1 and isinstance(subscripts, str):
        found = _viewed(subscripts.replace(" ", ""), operands[0])
        if found is not None:
            return found
    return ops.einsum(subscripts, *operands)


def _viewed(subscripts: str, x: Any) -> Any:
    """The axes and diagonals of ``x`` in another order; None where something is summed."""
    term, arrow, out = subscripts.partition("->")
    if not arrow:
        out = "".join(sorted(c for c in set(term) - set(".") if term.count(c) == 1))
        out = ("..." if "." in term else "") + out
    rank = rank_of(x)
    if rank is None or set(term) != set(out):
        return None
    if "." in term:
        lead = "".join(c for c in string.ascii_letters if c not in term)
        lead = lead[: rank - len(term.replace(".", ""))]
        term, out = term.replace("...", lead), out.replace("...", lead)
    if len(term) != rank or len(set(out)) != len(out):
        return None
    for letter in [c for c in out if term.count(c) > 1]:
        while term.count(letter) > 1:
            first = term.index(letter)
            second = term.index(letter, first + 1)
            x = ops.diagonal(x, 0, first, second)
            term = term[:first] + term[first + 1 : second] + term[second + 1 :] + letter
    return ops.transpose(x, tuple(term.index(letter) for letter in out))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """The sum of products over pairs of axes, or over the last ones of ``a``, first of ``b``."""
    rank_a, rank_b = known_rank(a, "tensordot"), known_rank(b, "tensordot")
    if isinstance(axes, int):
        over_a, over_b = list(range(rank_a - axes, rank_a)), list(range(axes))
    else:
        over_a, over_b = _axes(axes[0], rank_a), _axes(axes[1], rank_b)
    left = [axis for axis in range(rank_a) if axis not in over_a]
    right = [axis for axis in range(rank_b) if axis not in over_b]
    sizes_a, sizes_b = known_sizes(a, "tensordot"), known_sizes(b, "tensordot")
    count = 1
    for axis in over_a:
        count *= sizes_a[axis]
    rows = ops.reshape(ops.transpose(a, (*left, *over_a)), (-1, count))
    columns = ops.reshape(ops.transpose(b, (*over_b, *right)), (count, -1))
    shape = [sizes_a[axis] for axis in left] + [sizes_b[axis] for axis in right]
    return ops.reshape(ops.matmul(rows, columns), tuple(shape))


def _axes(given: Any, rank: int) -> list[int]:
    return [axis % rank for axis in ((given,) if isinstance(given, int) else given)]


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The discrete convolution of two rows."""
    (long,), (short,) = known_sizes(a, "convolve"), known_sizes(v, "convolve")
    if long < short:
        return convolve(v, a, mode)
    rows = [_shifted(a, place, short - 1) * item_at(v, place) for place in range(short)]
    whole = sum(rows[1:], rows[0])
    cut = {"full": 0, "same": (short - 1) // 2, "valid": short - 1}[mode]
    size = {"full": long + short - 1, "same": long, "valid": long - short + 1}[mode]
    return item_at(whole, slice(cut, cut + size))


def _shifted(a: Any, before: int, whole: int) -> Any:
    """``a`` with ``before`` zeros in front and ``whole`` zeros in all."""
    zero = ops.zeros_like(item_at(a, slice(0, 1)))
    return ops.concat([zero] * before + [a] + [zero] * (whole - before))


def polyval(p: Any, x: Any) -> Any:
    """The polynomial with the coefficients ``p``, of the highest power first, by Horner's rule."""
    if not isinstance(p, (list, tuple)):
        (count,) = known_sizes(p, "polyval")
        p = [item_at(p, place) for place in range(count)]
    total = x * 0
    for place, coefficient in enumerate(p):
        total = (total * x if place else total) + coefficient
    return total


def multi_dot(arrays: Sequence[Any]) -> Any:
    """The product of several matrices, from the left."""
    product = arrays[0]
    for array in arrays[1:]:
        product = ops.matmul(product, array)
    return product


__all__ = [
    "convolve", "cross", "dot", "einsum", "inner", "kron", "matmul", "multi_dot", "outer",
    "polyval", "tensordot", "vdot",
]  # fmt: skip
