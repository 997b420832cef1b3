"""Products of vectors and matrices."""

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
    """The product over the last axis of ``a`` and the last but one of ``b``."""
    ranks = known_rank(a, "dot"), known_rank(b, "dot")
    if 0 in ranks:
        return a * b
    return ops.matmul(a, b) if ranks[1] <= 2 else tensordot(a, b, ((-1,), (-2,)))


def vdot(a: Any, b: Any) -> Tensor:
    """The sum of the products of all elements, those of ``a`` conjugated."""
    a, b = ops.reshape(a, (-1,)), ops.reshape(b, (-1,))
    if PROMOTION.numpy and holds_complex(a):
        a = ops.conj(a)
    return _total(a * b)


def _total(products: Any) -> Any:
    """The sum of a row, in its own dtype as that of a product is."""
    own = dtype_of(products)
    total = structure.sum_(products, axes=None, keepdims=False)
    return structure.cast(total, dtype=own) if own not in (None, dtype_of(total)) else total


def inner(a: Any, b: Any) -> Tensor:
    """The product over the last axes."""
    if 0 in (rank_of(a), rank_of(b)):
        return a * b
    return tensordot(a, b, ((-1,), (-1,)))


def outer(a: Any, b: Any) -> Tensor:
    """Every element of ``a`` times every one of ``b``."""
    return ops.reshape(a, (-1, 1)) * ops.reshape(b, (1, -1))


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """The vector that stands upright on two others, along the axes of each."""
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
    upright = a0 * b1 - a1 * b0
    if sizes == (2, 2):
        return upright
    first = a1 * b2 - a2 * b1 if None not in (a2, b2) else a1 * b2 if a2 is None else -(a2 * b1)
    second = a2 * b0 - a0 * b2 if None not in (a2, b2) else -(a0 * b2) if a2 is None else a2 * b0
    return ops.moveaxis(ops.stack((first, second, upright), -1), -1, axisc)


def einsum(*operands: Any, optimize: Any = False) -> Tensor:
    """The sum of products that the subscripts say; without a sum or a product, a view."""
    if not operands or not isinstance(operands[0], str):
        raise TypeError(
            "np.einsum with lists of axes is not supported; write the subscripts as a "
            "string: 'ij,jk->ik'"
        )
    if len(operands) == 2:
        found = _viewed(operands[0].replace(" ", ""), operands[1])
        if found is not None:
            return found
    if len(operands) == 2:
        found = _viewed(operands[0].replace(" ", ""), operands[1])
        if found is not None:
            return found
    return ops.einsum(*operands)


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


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """The sum of products over pairs of axes, or over the last ones of ``a``, first of ``b``."""
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
    """The product of sizes, which a run may tell."""
    total = 1
    for size in sizes:
        total = total * size
    return total


def _axes(given: Any, rank: int) -> list[int]:
    return [axis % rank for axis in ((given,) if isinstance(given, int) else given)]


def convolve(a: Any, v: Any, mode: Any = "full") -> Tensor:
    """The discrete convolution of two rows."""
    a, v = (ops.reshape(x, (1,)) if rank_of(x) == 0 else x for x in (a, v))
    (long,), (short,) = known_sizes(a, "convolve"), known_sizes(v, "convolve")
    if long < short:
        return convolve(v, a, mode)
    if not short:
        raise ValueError("v cannot be empty")
    mode = {0: "valid", 1: "same", 2: "full"}.get(mode, mode)
    rows = [_shifted(a, place, short - 1) * item_at(v, place) for place in range(short)]
    whole = rows[0]
    for row in rows[1:]:
        whole = ops.logical_or(whole, row) if dtype_of(whole) == "bool" else whole + row
    cut = {"full": 0, "same": (short - 1) // 2, "valid": short - 1}[mode]
    size = {"full": long + short - 1, "same": long, "valid": long - short + 1}[mode]
    return item_at(whole, slice(cut, cut + size))


def _shifted(a: Any, before: int, whole: int) -> Any:
    """``a`` with ``before`` zeros in front and ``whole`` zeros in all."""
    zero = ops.zeros_like(item_at(a, slice(0, 1)))
    return ops.concat([zero] * before + [a] + [zero] * (whole - before))


def polyval(p: Any, x: Any) -> Tensor:
    """The polynomial with the coefficients ``p``, of the highest power first, by Horner's rule."""
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
    """The product of several matrices, from the left."""
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
