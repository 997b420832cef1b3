"""The decomposition x = Q R of each matrix with at least as many rows as columns.

Q has orthonormal columns, R is upper triangular. Each has an operator of its own.
"""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.operators.core.structure import swap_last_axes
from autodiff_compiler.operators.linalg.matrix_functions import of_matrix, solve
from autodiff_compiler.operators.linalg.products import matmul
from autodiff_compiler.operators.windows.rearrange import tril, triu


def _tall(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    rows, columns = shape[-2:]
    if isinstance(rows, int) and isinstance(columns, int) and rows < columns:
        raise ShapeError(
            f"the QR decomposition needs at least as many rows as columns, not {rows} and {columns}"
        )
    return shape


def _divided(matrix: Any, x: Value, transposed: bool) -> Any:
    """Returns ``matrix`` times the inverse of R, or of its transpose."""
    r = triangular_factor(x)
    left = r if transposed else swap_last_axes(r)
    return swap_last_axes(solve(left, swap_last_axes(matrix)))


def _mirrored(matrix: Any) -> Any:
    """Returns the symmetric matrix with this lower triangle."""
    return tril(matrix, offset=0) + swap_last_axes(tril(matrix, offset=-1))


def _split(dot: Any, x: Value) -> tuple[Any, Any]:
    """Returns the tangent over R, and the upper triangular part of it in the coordinates of Q."""
    moved = _divided(dot, x, False)
    inner = matmul(swap_last_axes(orthogonal_factor(x)), moved)
    low = tril(inner, offset=-1)
    return moved, inner - low + swap_last_axes(low)


def _q_back(ct: Value, x: Value, out: Value) -> Any:
    inner = _mirrored(matmul(swap_last_axes(ct), out))
    return _divided(ct - matmul(out, inner), x, True)


def _q_forward(dot: Value, x: Value, out: Value) -> Any:
    moved, upper = _split(dot, x)
    return moved - matmul(out, upper)


def _r_back(ct: Value, x: Value, out: Value) -> Any:
    inner = _mirrored(matmul(out, swap_last_axes(triu(ct, offset=0))))
    return _divided(matmul(orthogonal_factor(x), inner), x, True)


orthogonal_factor: OpDef = of_matrix(
    "orthogonal_factor",
    "Q of x = Q R. With sym(M) the symmetric matrix that has the lower triangle of M, "
    "d_x = (ct - Q sym(ct.T Q)) R^-T.",
    "an orthogonal factor",
    square=False,
    numpy="np.linalg.qr({x})[0]",
    shape=_tall,
    adjoint={"x": _q_back},
    tangent={"x": _q_forward},
    label="q_{x}",
)

triangular_factor: OpDef = of_matrix(
    "triangular_factor",
    "R of x = Q R. d_x = Q sym(R ct.T) R^-T, sym as for Q.",
    "a triangular factor",
    square=False,
    numpy="np.linalg.qr({x})[1]",
    shape=lambda shape: (*_tall(shape)[:-2], shape[-1], shape[-1]),
    adjoint={"x": _r_back},
    tangent={"x": lambda dot, x, out: matmul(_split(dot, x)[1], out)},
    label="r_{x}",
)
