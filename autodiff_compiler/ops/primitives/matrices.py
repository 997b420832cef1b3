"""The operator classes of matrices and of distances."""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ops.core.primitive_base import Primitive, primitive
from autodiff_compiler.ops.functions import matrices
from autodiff_compiler.ops.neural import distances

Cdist = primitive("Cdist", distances.cdist, p=2.0)
Cholesky = primitive("Cholesky", matrices.cholesky)
CholeskyInverse = primitive("CholeskyInverse", matrices.cholesky_inverse, upper=False)
CholeskySolve = primitive("CholeskySolve", matrices.cholesky_solve, upper=False)
Ger = primitive("Ger", matrices.ger)
LogMatrixDeterminant = primitive("LogMatrixDeterminant", matrices.slogdet)
MatrixDeterminant = primitive("MatrixDeterminant", matrices.det)
MatrixPower = primitive("MatrixPower", matrices.matrix_power, n=1)
MatrixSolve = primitive("MatrixSolve", matrices.matrix_solve, adjoint=False)
Pdist = primitive("Pdist", distances.pdist, p=2.0)
Svd = primitive("Svd", matrices.svd, full_matrices=False, compute_uv=True)
Trace = primitive("Trace", matrices.trace)


class MatrixInverse(Primitive):
    """The inverse of each matrix, or of its transpose."""

    def __init__(self, adjoint: bool = False):
        super().__init__()
        self.adjoint = adjoint

    def __call__(self, x: Any) -> Tensor:
        return matrices.inverse(matrices.adjoint(x) if self.adjoint else x)


__all__ = [
    "Cdist",
    "Cholesky",
    "CholeskyInverse",
    "CholeskySolve",
    "Ger",
    "LogMatrixDeterminant",
    "MatrixDeterminant",
    "MatrixInverse",
    "MatrixPower",
    "MatrixSolve",
    "Pdist",
    "Svd",
    "Trace",
]
