"""Operator classes of determinants and of Cholesky factors, against NumPy."""

from __future__ import annotations

import numpy as np

from autodiff_compiler import Tensor, ops

A = np.array([[4.0, 1.0, -0.5], [1.0, 3.0, 0.25], [-0.5, 0.25, 2.0]])
MANY = np.stack([A, A[::-1] + np.eye(3)])
B = np.arange(6.0).reshape(3, 2)


def close(found: Tensor, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-12, atol=1e-14)


def test_determinants() -> None:
    close(ops.MatrixDeterminant()(Tensor(MANY)), np.linalg.det(MANY))
    for found, wanted in zip(ops.LogMatrixDeterminant()(Tensor(MANY)), np.linalg.slogdet(MANY)):
        close(found, wanted)


def test_cholesky_factors() -> None:
    factor = np.linalg.cholesky(A)
    close(ops.Cholesky()(Tensor(A)), factor)
    for upper in (False, True):
        given = Tensor(factor.T.copy() if upper else factor)
        close(ops.CholeskyInverse(upper=upper)(given), np.linalg.inv(A))
        close(ops.CholeskySolve(upper=upper)(Tensor(B), given), np.linalg.solve(A, B))


def test_an_inverse_of_the_transpose() -> None:
    for adjoint, of in ((False, MANY), (True, MANY.swapaxes(1, 2))):
        close(ops.MatrixInverse(adjoint=adjoint)(Tensor(MANY)), np.linalg.inv(of))
