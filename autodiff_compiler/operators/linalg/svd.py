"""The singular value decomposition x = U S V.T of each matrix, an operator for each of its parts.

The vectors are as many as the smaller size of x. Derivatives: M. Giles (2008), section 3.4, for the
values; J. Townsend, "Differentiating the singular value decomposition" (2016), for the vectors.
Vectors have a slope where all singular values differ; equal ones count as not turning each other.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import Dim
from autodiff_compiler.operators.core.structure import expand_dims, swap_last_axes
from autodiff_compiler.operators.elementwise.arithmetic import where
from autodiff_compiler.operators.elementwise.comparisons import equal
from autodiff_compiler.operators.linalg.matrix_functions import of_matrix
from autodiff_compiler.operators.linalg.products import matmul
from autodiff_compiler.operators.windows.rearrange import diagonal


def _smaller(shape: Sequence[Dim]) -> Dim:
    rows, columns = shape[-2:]
    if isinstance(rows, int) and isinstance(columns, int):
        return min(rows, columns)
    return rows if rows == columns else None


def _part(name: str, doc: str, numpy: str, shape: Callable[..., Any], **facts: Any) -> OpDef:
    return of_matrix(
        name,
        doc,
        "a singular value decomposition",
        square=False,
        numpy=numpy,
        shape=shape,
        label=f"{name}_{{x}}",
        **facts,
    )


def _column(s: Any) -> Any:
    return expand_dims(s, axes=(-1,))


def _row(s: Any) -> Any:
    return expand_dims(s, axes=(-2,))


def _inverse_gaps(s: Any) -> Any:
    """Returns the matrix of 1 / (s[j]² - s[i]²), and 0 where both are equal."""
    gaps = _row(s * s) - _column(s * s)
    same = equal(gaps, 0.0)
    return where(same, 0.0, 1.0 / where(same, 1.0, gaps))


def _core(x: Value, dot: Any) -> Any:
    """Returns ``dot`` in the coordinates of the singular vectors."""
    return matmul(matmul(swap_last_axes(left_vectors(x)), dot), swap_last_axes(right_vectors(x)))


singular_values: OpDef = _part(
    "singular_values",
    "The singular values of each matrix, largest first. d_x = U diag(ct) V.T.",
    "np.linalg.svd({x}, compute_uv=False)",
    lambda shape: (*shape[:-2], _smaller(shape)),
    adjoint={"x": lambda ct, x: matmul(left_vectors(x) * _row(ct), right_vectors(x))},
    tangent={"x": lambda dot, x: diagonal(_core(x, dot), offset=0)},
)


def _left_back(ct: Value, x: Value, out: Value) -> Any:
    s = singular_values(x)
    inner = matmul(swap_last_axes(out), ct)
    rotated = matmul(out, _inverse_gaps(s) * (inner - swap_last_axes(inner)) * _row(s))
    outside = (ct - matmul(out, inner)) / _row(s)
    return matmul(rotated + outside, right_vectors(x))


def _left_forward(dot: Value, x: Value, out: Value) -> Any:
    s, core, right = singular_values(x), _core(x, dot), swap_last_axes(right_vectors(x))
    rotation = _inverse_gaps(s) * (core * _row(s) + _column(s) * swap_last_axes(core))
    return matmul(out, rotation) + (matmul(dot, right) - matmul(out, core)) / _row(s)


left_vectors: OpDef = _part(
    "left_vectors",
    "U, the left singular vectors of each matrix, as columns. With F[i, j] = 1 / (s[j]² - s[i]²), "
    "d_x = (U (F * (U.T ct - ct.T U)) S + (1 - U U.T) ct / S) V.T.",
    "np.linalg.svd({x}, full_matrices=False)[0]",
    lambda shape: (*shape[:-1], _smaller(shape)),
    adjoint={"x": _left_back},
    tangent={"x": _left_forward},
)


def _right_back(ct: Value, x: Value, out: Value) -> Any:
    s = singular_values(x)
    inner = matmul(out, swap_last_axes(ct))
    rotated = matmul(_column(s) * _inverse_gaps(s) * (inner - swap_last_axes(inner)), out)
    outside = (ct - matmul(swap_last_axes(inner), out)) / _column(s)
    return matmul(left_vectors(x), rotated + outside)


def _right_forward(dot: Value, x: Value, out: Value) -> Any:
    s, core, left = singular_values(x), _core(x, dot), swap_last_axes(left_vectors(x))
    rotation = swap_last_axes(
        _inverse_gaps(s) * (_column(s) * core + swap_last_axes(core) * _row(s))
    )
    return matmul(rotation, out) + (matmul(left, dot) - matmul(core, out)) / _column(s)


right_vectors: OpDef = _part(
    "right_vectors",
    "V.T, the right singular vectors of each matrix, as rows. d_x = U (S (F * (V.T ct.T - ct V)) "
    "V.T + (ct - ct V V.T) / S), F as for the left ones.",
    "np.linalg.svd({x}, full_matrices=False)[2]",
    lambda shape: (*shape[:-2], _smaller(shape), shape[-1]),
    adjoint={"x": _right_back},
    tangent={"x": _right_forward},
)
