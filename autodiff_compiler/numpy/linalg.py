"""``numpy.linalg``: solving, factors, norms."""

from __future__ import annotations

__macro__ = True

from operator import index as _index
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ir.types import PROMOTION
from autodiff_compiler.numpy.products import multi_dot
from autodiff_compiler.numpy.reductions import max, min, sum
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.core.declare import normal_axes
from autodiff_compiler.ops.core.shape_queries import (
    holds_complex,
    is_integral,
    known_rank,
    known_sizes,
)
from autodiff_compiler.ops.functions.gather_scatter import item_at


def _inexact(a: Any) -> Any:
    """Whole numbers as float64, in which NumPy computes with them."""
    return structure.cast(a, dtype="float64") if PROMOTION.numpy and is_integral(a) else a


def det(a: Any) -> Tensor:
    """The determinant."""
    return ops.det(_inexact(a))


def inv(a: Any) -> Tensor:
    """The inverse."""
    return ops.inverse(_inexact(a))


def matrix_power(a: Any, n: int) -> Tensor:
    """A product of so many equal matrices, or of their inverses; itself for one."""
    if _index(n) == 1:
        return a
    return ops.matrix_power(_inexact(a) if _index(n) < 0 else a, _index(n))


def pinv(
    a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None, atol: Any = None
) -> Tensor:
    """The pseudo-inverse, where singular values are zero up to ``rcond`` times the largest."""
    if PROMOTION.numpy and rtol is None:
        rtol = 1e-15 if rcond is None else rcond
    a = _inexact(a)
    if hermitian and PROMOTION.numpy:  # what stands above the diagonal is not read
        below = ops.tril(a, -1)
        turned = ops.swapaxes(below, -1, -2)
        a = ops.tril(a) + (ops.conj(turned) if holds_complex(a) else turned)
    return ops.pinv(a, atol=atol, rtol=rtol, hermitian=hermitian)


def slogdet(a: Any) -> tuple[Any, Any]:
    """The sign of the determinant and the logarithm of its size."""
    return ops.slogdet(_inexact(a))


def cholesky(a: Any, *, upper: bool = False) -> Tensor:
    """The triangle L with L @ L.T = a; where ``upper``, the U with U.T @ U = a."""
    a = _inexact(a)
    if not upper:
        return ops.cholesky(a)
    lower = ops.cholesky(
        ops.conj(ops.swapaxes(a, -1, -2)) if holds_complex(a) else ops.swapaxes(a, -1, -2)
    )
    turned = ops.swapaxes(lower, -1, -2)
    return ops.conj(turned) if holds_complex(a) else turned


def solve(a: Any, b: Any) -> Tensor:
    """x with a @ x = b, for a vector or for the columns of a matrix."""
    a, b = _inexact(a), _inexact(b)
    if known_rank(b, "solve") == 1:
        return item_at(ops.matrix_solve(a, ops.expand_dims(b, -1)), (..., 0))
    return ops.matrix_solve(a, b)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """(u, s, vh) with a = u @ diag(s) @ vh; without vectors s alone."""
    a = _inexact(a)
    if not compute_uv:
        return ops.svd(a, compute_uv=False)
    sizes = known_sizes(a, "svd")
    if full_matrices and sizes[-1] != sizes[-2]:
        raise TypeError("svd with full_matrices=True has no derivative; use full_matrices=False")
    s, u, v = ops.svd(a)
    return u, s, ops.swapaxes(v, -1, -2)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The norm of vectors or matrices; the Euclidean one of all elements by default."""
    rank = known_rank(x, "norm")
    x = _inexact(x)
    if axis is None and ord is None:
        return _root(x, None, keepdims)
    axes = tuple(range(rank)) if axis is None else _in_order(axis, rank)
    if len(axes) == 1:
        return _of_vectors(x, ord, axes[0], keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    found = _of_matrices(ops.moveaxis(x, axes, (-2, -1)), ord)
    return ops.expand_dims(found, tuple(sorted(axes))) if keepdims else found


def _in_order(axis: Any, rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in the order in which they are given."""
    listed = axis if isinstance(axis, (tuple, list)) else (axis,)
    normal_axes(tuple(listed), rank)  # raises where one is not there, or named twice
    return tuple(one % rank for one in listed)


def _root(x: Any, axis: Any, keepdims: bool) -> Any:
    squares = ops.square(ops.abs(x)) if holds_complex(x) else ops.square(x)
    return ops.sqrt(sum(squares, axis, keepdims=keepdims))


def _of_vectors(x: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    if ord is None or ord == 2:
        return _root(x, axis, keepdims)
    size = ops.abs(x)
    if ord == float("inf"):
        return max(size, axis, keepdims=keepdims)
    if ord == -float("inf"):
        return min(size, axis, keepdims=keepdims)
    if ord == 0:
        return sum(
            ops.where(ops.not_equal(size, 0), ops.ones_like(size), ops.zeros_like(size)),
            axis,
            keepdims=keepdims,
        )
    if not isinstance(ord, (int, float)):
        raise ValueError(f"vectors have no norm of order {ord!r}")
    total = sum(size if ord == 1 else size**ord, axis, keepdims=keepdims)
    return total if ord == 1 else total ** (1.0 / ord)


def _of_matrices(x: Any, ord: Any) -> Any:
    if ord is None or ord == "fro":
        return _root(x, (-2, -1), False)
    if ord in (1, -1, float("inf"), -float("inf")):
        sums = sum(ops.abs(x), -2 if abs(ord) == 1 else -1)
        return (max if ord > 0 else min)(sums, -1)
    if ord in ("nuc", 2, -2):
        values = ops.svd(x, compute_uv=False)
        return {"nuc": sum, 2: max, -2: min}[ord](values, -1)
    raise ValueError(f"matrices have no norm of order {ord!r}")


__all__ = [
    "cholesky",
    "det",
    "inv",
    "matrix_power",
    "multi_dot",
    "norm",
    "pinv",
    "slogdet",
    "solve",
    "svd",
]
