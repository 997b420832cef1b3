"""Products of vectors and matrices, convolutions and polynomials."""

from __future__ import annotations

__macro__ = True

import string
from collections.abc import Sequence
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.types import PROMOTION
from autodiff_compiler.operators.core import structure
from autodiff_compiler.ops.core.shape_queries import (
    dtype_of,
    holds_complex,
    known_rank,
    known_sizes,
    rank_of,
    setting,
)
from autodiff_compiler.ops.functions.gather_scatter import item_at

matmul, kron = ops.matmul, ops.kron


def dot(a: Any, b: Any) -> Tensor:
    """Returns the sum of products over the last axis of ``a`` and the last but one of ``b``."""
    ranks = known_rank(a, "dot"), known_rank(b, "dot")
    if 0 in ranks:
        return a * b
    return ops.matmul(a, b) if ranks[1] <= 2 else tensordot(a, b, ((-1,), (-2,)))


def vdot(a: Any, b: Any) -> Tensor:
    """Returns the sum of products of all elements, those of ``a`` conjugated."""
    a, b = ops.reshape(a, (-1,)), ops.reshape(b, (-1,))
    if PROMOTION.numpy and holds_complex(a):
        a = ops.conj(a)
    return _total(a * b)


def _total(products: Any) -> Any:
    """Returns the sum of a vector, in its own dtype."""
    dtype = dtype_of(products)
    total = structure.sum_(products, axes=None, keepdims=False)
    return structure.cast(total, dtype=dtype) if dtype not in (None, dtype_of(total)) else total


def inner(a: Any, b: Any) -> Tensor:
    """Returns the sum of products over the last axes."""
    if 0 in (rank_of(a), rank_of(b)):
        return a * b
    return tensordot(a, b, ((-1,), (-1,)))


def outer(a: Any, b: Any) -> Tensor:
    """Returns the outer product: each element of ``a`` times each of ``b``."""
    return ops.reshape(a, (-1, 1)) * ops.reshape(b, (1, -1))


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """Returns the cross product of vectors along the axes ``axisa`` and ``axisb``."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = ops.moveaxis(a, axisa, -1), ops.moveaxis(b, axisb, -1)
    sizes = ops.shape(a)[-1], ops.shape(b)[-1]
    if not all(isinstance(size, int) for size in sizes):
        raise ShapeError(
            "np.cross needs the length of the vectors at compile time",
            "give the shape of the input in the signature, such as x=f32[2,3]",
        )
    if not all(size in (2, 3) for size in sizes):
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    parts: list[list[Any]] = [
        [item_at(x, (..., k)) if k < size else None for k in range(3)]
        for x, size in zip((a, b), sizes)
    ]
    (a0, a1, a2), (b0, b1, b2) = parts
    third = a0 * b1 - a1 * b0
    if sizes == (2, 2):
        return third
    first = a1 * b2 - a2 * b1 if None not in (a2, b2) else a1 * b2 if a2 is None else -(a2 * b1)
    second = a2 * b0 - a0 * b2 if None not in (a2, b2) else -(a0 * b2) if a2 is None else a2 * b0
    return ops.moveaxis(ops.stack((first, second, third), -1), -1, axisc)


def einsum(*operands: Any, optimize: Any = False) -> Tensor:
    """Evaluates the Einstein summation of the subscripts; without a sum or a product, a view."""
    if not operands or not isinstance(operands[0], str):
        raise TypeError(
            "np.einsum with lists of axes is not supported; write the subscripts as a "
            "string: 'ij,jk->ik'"
        )
    if len(operands) == 2:
        view = _einsum_view(operands[0].replace(" ", ""), operands[1])
        if view is not None:
            return view
    return ops.einsum(*operands)


def _einsum_view(subscripts: str, x: Any) -> Any:
    """Returns ``x`` with its axes permuted and diagonals taken; None if there is a sum."""
    term, arrow, out = subscripts.partition("->")
    if not arrow:
        out = "".join(sorted(c for c in set(term) - set(".") if term.count(c) == 1))
        out = ("..." if "." in term else "") + out
    if set(term) != set(out):
        return None
    rank = known_rank(x, "einsum without a sum")
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


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Returns the sum of products over pairs of axes.

    A number n stands for the last n axes of ``a`` and the first n of ``b``.
    """
    rank_a, rank_b = known_rank(a, "tensordot"), known_rank(b, "tensordot")
    axes = setting(axes)
    if isinstance(axes, int):
        over_a, over_b = list(range(rank_a - axes, rank_a)), list(range(axes))
    else:
        over_a, over_b = _axes(axes[0], rank_a), _axes(axes[1], rank_b)
    left = [axis for axis in range(rank_a) if axis not in over_a]
    right = [axis for axis in range(rank_b) if axis not in over_b]
    sizes_a, sizes_b = ops.shape(a), ops.shape(b)
    count, height, width = (
        _product([sizes[axis] for axis in axes])
        for sizes, axes in ((sizes_a, over_a), (sizes_a, left), (sizes_b, right))
    )
    rows = ops.reshape(ops.transpose(a, (*left, *over_a)), (height, count))
    columns = ops.reshape(ops.transpose(b, (*over_b, *right)), (count, width))
    shape = [sizes_a[axis] for axis in left] + [sizes_b[axis] for axis in right]
    return ops.reshape(ops.matmul(rows, columns), tuple(shape))


def _product(sizes: Sequence[Any]) -> Any:
    """Returns the product of sizes, which may be run-time values."""
    total = 1
    for size in sizes:
        total = total * size
    return total


def _axes(given: Any, rank: int) -> list[int]:
    return [axis % rank for axis in ((given,) if isinstance(given, int) else given)]


def convolve(a: Any, v: Any, mode: Any = "full") -> Tensor:
    """Returns the discrete convolution of two vectors."""
    a, v = (ops.reshape(x, (1,)) if rank_of(x) == 0 else x for x in (a, v))
    (long,), (short,) = known_sizes(a, "convolve"), known_sizes(v, "convolve")
    if long < short:
        return convolve(v, a, mode)
    if not short:
        raise ValueError("v cannot be empty")
    mode = {0: "valid", 1: "same", 2: "full"}.get(mode, mode)
    rows = [_shifted(a, k, short - 1) * item_at(v, k) for k in range(short)]
    total = rows[0]
    for row in rows[1:]:
        total = ops.logical_or(total, row) if dtype_of(total) == "bool" else total + row
    first = {"full": 0, "same": (short - 1) // 2, "valid": short - 1}[mode]
    size = {"full": long + short - 1, "same": long, "valid": long - short + 1}[mode]
    return item_at(total, slice(first, first + size))


def _shifted(a: Any, before: int, padding: int) -> Any:
    """Pads ``a`` with ``padding`` zeros, ``before`` of them in front."""
    zero = ops.zeros_like(item_at(a, slice(0, 1)))
    return ops.concat([zero] * before + [a] + [zero] * (padding - before))


def polyval(p: Any, x: Any) -> Tensor:
    """Evaluates a polynomial by Horner's rule; the coefficient of the highest power comes first."""
    if not isinstance(p, (list, tuple)):
        (count,) = known_sizes(p, "polyval")
        p = [item_at(p, place) for place in range(count)]
    if PROMOTION.numpy:
        total = ops.zeros_like(x)
        for coefficient in p:
            total = total * x + coefficient
        return total
    total = x * 0
    for place, coefficient in enumerate(p):
        total = (total * x if place else total) + coefficient
    return total


def multi_dot(arrays: Sequence[Any]) -> Tensor:
    """Returns the product of several matrices, computed from the left."""
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    product = arrays[0]
    for array in arrays[1:]:
        product = ops.matmul(product, array)
    return product


__all__ = [
    "convolve",
    "cross",
    "dot",
    "einsum",
    "inner",
    "kron",
    "matmul",
    "multi_dot",
    "outer",
    "polyval",
    "tensordot",
    "vdot",
]
