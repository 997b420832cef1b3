"""``numpy.linalg``: linear systems, factorizations, norms."""

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
from autodiff_compiler.operators.linalg import matrix_functions
from autodiff_compiler.ops.core.shape_queries import (
    holds_complex,
    is_integral,
    known_rank,
    known_sizes,
)
from autodiff_compiler.ops.functions.gather_scatter import item_at


def _inexact(a: Any) -> Any:
    """Casts integers to float64, as NumPy does."""
    return structure.cast(a, dtype="float64") if PROMOTION.numpy and is_integral(a) else a


def det(a: Any) -> Tensor:
    """Returns the determinant."""
    return ops.det(_inexact(a))


def inv(a: Any) -> Tensor:
    """Returns the inverse."""
    return ops.inverse(_inexact(a))


def matrix_power(a: Any, n: int) -> Tensor:
    """Returns the n-th power of a matrix, also for n < 0; the matrix itself for n = 1."""
    if _index(n) == 1:
        return a
    return ops.matrix_power(_inexact(a) if _index(n) < 0 else a, _index(n))


def pinv(
    a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None, atol: Any = None
) -> Tensor:
    """Returns the pseudo-inverse; singular values up to ``rcond`` times the largest count as 0."""
    if PROMOTION.numpy and rtol is None:
        rtol = 1e-15 if rcond is None else rcond
    a = _inexact(a)
    if hermitian and PROMOTION.numpy:  # elements above the diagonal are not read
        upper = ops.swapaxes(ops.tril(a, -1), -1, -2)
        a = ops.tril(a) + (ops.conj(upper) if holds_complex(a) else upper)
    return ops.pinv(a, atol=atol, rtol=rtol, hermitian=hermitian)


def slogdet(a: Any) -> tuple[Any, Any]:
    """Returns the sign of the determinant, and the logarithm of its absolute value."""
    return ops.slogdet(_inexact(a))


def cholesky(a: Any, *, upper: bool = False) -> Tensor:
    """Returns the lower triangular L with L @ L.T = a; if ``upper``, the U with U.T @ U = a.

    In a plain function only this triangle of ``a`` is read, as by NumPy.
    """
    a = _inexact(a)
    factor = matrix_functions.cholesky if PROMOTION.numpy else ops.cholesky
    return _adjoint(factor(_adjoint(a))) if upper else factor(a)


def _adjoint(a: Any) -> Any:
    """Returns the conjugate transpose of matrices."""
    transposed = ops.swapaxes(a, -1, -2)
    return ops.conj(transposed) if holds_complex(a) else transposed


def solve(a: Any, b: Any) -> Tensor:
    """Solves a @ x = b for x, for a vector b or for the columns of a matrix."""
    a, b = _inexact(a), _inexact(b)
    if known_rank(b, "solve") == 1:
        return item_at(ops.matrix_solve(a, ops.expand_dims(b, -1)), (..., 0))
    return ops.matrix_solve(a, b)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Returns (u, s, vh) with a = u @ diag(s) @ vh; without ``compute_uv`` s alone."""
    a = _inexact(a)
    if not compute_uv:
        return ops.svd(a, compute_uv=False)
    sizes = known_sizes(a, "svd")
    if full_matrices and sizes[-1] != sizes[-2]:
        raise TypeError("svd with full_matrices=True has no derivative; use full_matrices=False")
    s, u, v = ops.svd(a)
    return u, s, ops.swapaxes(v, -1, -2)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Returns a norm of vectors or matrices; by default the Euclidean norm of all elements."""
    rank = known_rank(x, "norm")
    x = _inexact(x)
    if axis is None and ord is None:
        return _euclidean_norm(x, None, keepdims)
    axes = tuple(range(rank)) if axis is None else _ordered_axes(axis, rank)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes[0], keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    result = _matrix_norm(ops.moveaxis(x, axes, (-2, -1)), ord)
    return ops.expand_dims(result, tuple(sorted(axes))) if keepdims else result


def _ordered_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """Returns non-negative axes, in the order in which they are given."""
    listed = axis if isinstance(axis, (tuple, list)) else (axis,)
    normal_axes(tuple(listed), rank)  # raises for an axis that does not exist or comes twice
    return tuple(one % rank for one in listed)


def _euclidean_norm(x: Any, axis: Any, keepdims: bool) -> Any:
    squares = ops.square(ops.abs(x)) if holds_complex(x) else ops.square(x)
    return ops.sqrt(sum(squares, axis, keepdims=keepdims))


def _vector_norm(x: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    if ord is None or ord == 2:
        return _euclidean_norm(x, axis, keepdims)
    size = ops.abs(x)
    if ord == float("inf"):
        return max(size, axis, keepdims=keepdims)
    if ord == -float("inf"):
        return min(size, axis, keepdims=keepdims)
    if ord == 0:
        counted = ops.where(ops.not_equal(size, 0), ops.ones_like(size), ops.zeros_like(size))
        return sum(counted, axis, keepdims=keepdims)
    if not isinstance(ord, (int, float)):
        raise ValueError(f"vectors have no norm of order {ord!r}")
    total = sum(size if ord == 1 else size**ord, axis, keepdims=keepdims)
    return total if ord == 1 else total ** (1.0 / ord)


def _matrix_norm(x: Any, ord: Any) -> Any:
    if ord is None or ord == "fro":
        return _euclidean_norm(x, (-2, -1), False)
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
