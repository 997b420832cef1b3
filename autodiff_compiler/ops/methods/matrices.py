"""Tensor methods that are products of matrices, or functions of whole matrices."""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable
from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.operators.linalg import qr as qr_records
from autodiff_compiler.ops.core.shape_queries import known_sizes
from autodiff_compiler.ops.functions import arrays, gather_scatter, matrices, rearrange, reductions


def trace(self: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """Returns the sum of a diagonal of the plane of two axes."""
    return reductions.sum(rearrange.diagonal(self, offset, axis1, axis2), -1, dtype=dtype)


def qr(self: Any, some: bool = True) -> tuple[Tensor, Tensor]:
    """Returns Q with orthonormal columns and the upper triangular R of the product Q @ R.

    Of a wide matrix Q is that of its first columns.
    """
    if not some:
        raise ValueError(
            "qr in the mode 'complete' is not supported: the additional columns of Q are not "
            "unique, so they have no derivative"
        )
    shape = known_sizes(self, "qr")
    rows, columns = shape[-2:]
    first = self if rows >= columns else gather_scatter.narrow(self, len(shape) - 1, 0, rows)
    q, r = qr_records.orthogonal_factor(first), qr_records.triangular_factor(first)
    if rows < columns:
        rest = gather_scatter.narrow(self, len(shape) - 1, rows, columns - rows)
        r = arrays.concat((r, arrays.matmul(arrays.swapaxes(q, -1, -2), rest)), -1)
    return q, r


_SAME = (
    "addbmm addmm addr adjoint baddbmm cholesky cholesky_inverse cholesky_solve det ger inner "
    "inverse logdet matrix_power pinv slogdet svd"
)

MATRIX_METHODS: dict[str, Callable[..., Any]] = {
    **{name: getattr(matrices, name) for name in _SAME.split()},
    **dict(
        log_matrix_determinant=matrices.slogdet,
        matrix_determinant=matrices.det,
        qr=qr,
        trace=trace,
    ),
}
