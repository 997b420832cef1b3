"""Tensor methods that are products of matrices, or functions of whole matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autodiff_compiler.ops import layout, matrices, reductions


def trace(self: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum of a diagonal of the plane of two axes."""
    return reductions.sum(layout.diagonal(self, offset, axis1, axis2), -1, dtype=dtype)


_SAME = (
    "addbmm addmm addr adjoint baddbmm cholesky cholesky_inverse cholesky_solve det ger inner "
    "inverse logdet matrix_power pinv slogdet svd"
)

MATRIX_METHODS: dict[str, Callable[..., Any]] = {
    **{name: getattr(matrices, name) for name in _SAME.split()},
    **dict(
        log_matrix_determinant=matrices.slogdet, matrix_determinant=matrices.det, trace=trace,
    ),
}  # fmt: skip
