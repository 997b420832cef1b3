"""``numpy.linalg``: solving, factors, norms."""

from __future__ import annotations

from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.numpy.products import multi_dot
from autodiff_compiler.numpy.reductions import max, min, sum
from autodiff_compiler.ops._shapes import known_rank, known_sizes
from autodiff_compiler.ops.parts import item_at

det, inv, pinv = ops.det, ops.inverse, ops.pinv


def matrix_power(a: Any, n: int) -> Any:
    """Each matrix multiplied by itself, n in all; itself for one."""
    return a if n == 1 else ops.matrix_power(a, n)


def slogdet(a: Any) -> tuple[Any, Any]:
    """The sign of the determinant and the logarithm of its size."""
    return ops.slogdet(a)


def cholesky(a: Any) -> Any:
    """The triangle L with L @ L.T = a."""
    return ops.cholesky(a)


def solve(a: Any, b: Any) -> Any:
    """x with a @ x = b, for a vector or for the columns of a matrix."""
    if known_rank(b, "solve") == 1:
        return item_at(ops.matrix_solve(a, ops.expand_dims(b, -1)), (..., 0))
    return ops.matrix_solve(a, b)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """(u, s, vh) with a = u @ diag(s) @ vh; without vectors s alone."""
    if not compute_uv:
        return ops.svd(a, compute_uv=False)
    sizes = known_sizes(a, "svd")
    if full_matrices and sizes[-1] != sizes[-2]:
        raise TypeError("svd with full_matrices=True has no derivative; use full_matrices=False")
    s, u, v = ops.svd(a)
    return u, s, ops.swapaxes(v, -1, -2)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors or matrices; the Euclidean one of all elements by default."""
    rank = known_rank(x, "norm")
    if ord is None or (ord == 2 and (isinstance(axis, int) or axis is None and rank == 1)):
        return _root(x, axis, keepdims)
    if isinstance(axis, int) or axis is None and rank == 1:
        return _of_vectors(x, ord, -1 if axis is None else axis, keepdims)
    if axis is None and rank != 2 or keepdims:
        raise TypeError(f"the norm of order {ord!r} of these axes has no operator")
    if axis is not None:
        x = ops.moveaxis(x, tuple(axis), (-2, -1))
    return _of_matrices(x, ord)


def _root(x: Any, axis: Any, keepdims: bool) -> Any:
    axes = tuple(range(known_rank(x, "norm"))) if axis is None else axis
    return ops.sqrt(sum(ops.square(x), axes, keepdims=keepdims))


def _of_vectors(x: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    size = ops.abs(x)
    if ord == float("inf"):
        return max(size, axis, keepdims=keepdims)
    if ord == -float("inf"):
        return min(size, axis, keepdims=keepdims)
    if ord == 0:
        return sum(ops.where(ops.not_equal(x, 0), 1.0, 0.0), axis, keepdims=keepdims)
    if not isinstance(ord, (int, float)):
        raise TypeError(f"vectors have no norm of order {ord!r}")
    total = sum(size if ord == 1 else size**ord, axis, keepdims=keepdims)
    return total if ord == 1 else total ** (1.0 / ord)


def _of_matrices(x: Any, ord: Any) -> Any:
    if ord == "fro":
        return _root(x, (-2, -1), False)
    if ord in (1, -1, float("inf"), -float("inf")):
        sums = sum(ops.abs(x), -2 if abs(ord) == 1 else -1)
        return (max if ord > 0 else min)(sums, -1)
    if ord in ("nuc", 2, -2):
        values = ops.svd(x, compute_uv=False)
        return {"nuc": sum, 2: max, -2: min}[ord](values, -1)
    raise TypeError(f"matrices have no norm of order {ord!r}")


__all__ = [
    "cholesky", "det", "inv", "matrix_power", "multi_dot", "norm", "pinv", "slogdet", "solve",
    "svd",
]  # fmt: skip
