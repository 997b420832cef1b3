"""Products of matrices with sums, and functions of whole matrices, under MindSpore's names."""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.linalg import matrix_functions
from autodiff_compiler.operators.linalg import svd as svd_records
from autodiff_compiler.operators.windows import rearrange, sliding_windows
from autodiff_compiler.ops.core.shape_queries import (
    axis_of,
    dtype_of,
    in_dtype,
    known_rank,
    known_sizes,
    unaliased,
)
from autodiff_compiler.ops.functions import arrays, creation, elementwise, reductions

# ---- products


def _times(factor: Any, x: Any) -> Any:
    return x if isinstance(factor, (int, float)) and factor == 1 else factor * x


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Returns beta * input + alpha * mat1 @ mat2."""
    return _times(beta, input) + _times(alpha, arrays.matmul(mat1, mat2))


def baddbmm(input: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Returns beta * input + alpha * batch1 @ batch2, for stacks of matrices."""
    return addmm(input, batch1, batch2, beta=beta, alpha=alpha)


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Returns beta * input + alpha * the sum of the products of two stacks of matrices."""
    product = reductions.sum(arrays.matmul(batch1, batch2), 0)
    return _times(beta, input) + _times(alpha, product)


def addr(x: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Returns beta * x + alpha * the outer product of two vectors. None stands for 1."""
    product = _times(1 if alpha is None else alpha, arrays.outer(vec1, vec2))
    return _times(1 if beta is None else beta, x) + product


def tensor_dot(x1: Any, x2: Any, axes: Any) -> Tensor:
    """Returns the sum over pairs of axes: the last k of x1 and the first k of x2, or (of x1, of
    x2)."""
    left, right = known_rank(x1, "tensor_dot"), known_rank(x2, "tensor_dot")
    if isinstance(axes, int):
        if not 0 <= axes <= min(left, right):
            raise ShapeError(f"tensor_dot over {axes} axes of {left} and {right}")
        pairs = tuple(range(left - axes, left)), tuple(range(axes))
    else:
        first, second = ((one,) if isinstance(one, int) else tuple(one) for one in axes)
        if len(first) != len(second):
            raise ShapeError(
                f"tensor_dot over {len(first)} axes of the one and {len(second)} of the other",
                "give as many axes of the one as of the other",
            )
        pairs = tuple(axis_of(k, left) for k in first), tuple(axis_of(k, right) for k in second)
    return sliding_windows.tensordot(x1, x2, axes=pairs)


def inner(input: Any, other: Any) -> Tensor:
    """Returns the sum of products over the last axes of both; the plain product with a 0-d
    tensor."""
    left, right = known_rank(input, "inner"), known_rank(other, "inner")
    if 0 in (left, right):
        return input * other
    if right <= 2:
        return arrays.matmul(input, other if right == 1 else structure.swap_last_axes(other))
    return sliding_windows.tensordot(input, other, axes=((left - 1,), (right - 1,)))


def vecdot(x: Any, y: Any, *, axis: int = -1) -> Tensor:
    """Returns the sum of x * y along an axis; the others broadcast."""
    return reductions.sum(x * y, axis)


def kron(input: Any, other: Any) -> Tensor:
    """Returns the product of every element of input with the whole of other, block by block."""
    rank = max(known_rank(input, "kron"), known_rank(other, "kron"))
    left, right = _with_rank(input, rank), _with_rank(other, rank)
    sizes = [m * n for m, n in zip(arrays.shape(left), arrays.shape(right))]
    spread = arrays.expand_dims(left, tuple(range(1, 2 * rank, 2))) if rank else left
    blocks = arrays.expand_dims(right, tuple(range(0, 2 * rank, 2))) if rank else right
    return arrays.reshape(spread * blocks, tuple(sizes))


def _with_rank(x: Any, rank: int) -> Any:
    missing = rank - known_rank(x, "kron")
    return arrays.expand_dims(x, tuple(range(missing))) if missing else x


# ---- parts of matrices, matrices from parts


def adjoint(x: Any) -> Tensor:
    """Returns the transpose of each matrix (tensors are real)."""
    return structure.swap_last_axes(x)


def trace(input: Any) -> Tensor:
    """Returns the sum of the diagonal of a matrix."""
    if known_rank(input, "trace") != 2:
        raise ShapeError(
            "trace takes a single matrix",
            "for a stack of matrices use ops.diagonal(x, 0, -2, -1).sum(-1)",
        )
    return reductions.sum(rearrange.diagonal(input, offset=0))


def matrix_diag(
    x: Any,
    k: int = 0,
    num_rows: int = -1,
    num_cols: int = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Returns matrices with the rows of x on diagonal k and ``padding_value`` elsewhere.

    Without ``num_rows`` and ``num_cols`` they are square, with one of the two as small as possible.
    """
    if not isinstance(k, int):
        raise ValueError("matrix_diag fills a single diagonal, so k must be an int")
    *lead, size = known_sizes(x, "matrix_diag")
    rows, columns = size + max(-k, 0), size + max(k, 0)
    if num_rows == num_cols == -1:
        rows = columns = max(rows, columns)
    rows, columns = rows if num_rows == -1 else num_rows, columns if num_cols == -1 else num_cols
    length = min(rows, columns - k) if k > 0 else min(rows + k, columns)
    if length != size:
        raise ShapeError(
            f"diagonal {k} of a matrix of {rows} by {columns} has {length} elements, not {size}",
            "give num_rows and num_cols that fit",
        )
    shape = (*lead, rows, columns)
    matrices = rearrange.put_diagonal(x, shape=shape, offset=k)
    if isinstance(padding_value, (int, float)) and padding_value == 0:
        return matrices
    ones = rearrange.put_diagonal(creation.ones_like(x), shape=shape, offset=k)
    return matrices + in_dtype(padding_value * (1 - ones), dtype_of(x))


def vander(x: Any, N: int | None = None) -> Tensor:
    """Returns the powers of each element of a vector, from N - 1 down to 0, as a row."""
    (size,) = arrays.shape(x)
    exponents = creation.arange((size if N is None else N) - 1, -1, -1)
    return elementwise.pow(arrays.expand_dims(x, -1), in_dtype(exponents, dtype_of(x)))


# ---- functions of whole matrices


def inverse(input: Any) -> Tensor:
    """Returns the inverse of each matrix."""
    return matrix_functions.inverse(input)


def det(input: Any) -> Tensor:
    """Returns the determinant of each matrix; its slope is right for singular ones too."""
    return matrix_functions.det(input)


def slogdet(input: Any) -> tuple[Tensor, Tensor]:
    """Returns the sign of each determinant and the logarithm of its size."""
    return matrix_functions.det_sign(input), matrix_functions.logabsdet(input)


def logdet(input: Any) -> Tensor:
    """Returns the logarithm of each determinant; NaN where it is negative."""
    return matrix_functions.logabsdet(input) + elementwise.log(matrix_functions.det_sign(input))


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Tensor:
    """Solves matrix @ X = rhs for X, or with the transposed matrix."""
    return matrix_functions.solve(structure.swap_last_axes(matrix) if adjoint else matrix, rhs)


def cholesky(input_x: Any, upper: bool = False) -> Tensor:
    """Returns the triangle L with L @ L.T = x (upper: its transpose) of each positive definite
    matrix.

    The mean of x and its transpose is factored, so that the slope is symmetric as x is.
    """
    symmetric = 0.5 * (input_x + structure.swap_last_axes(input_x))
    lower = matrix_functions.cholesky(symmetric)
    return structure.swap_last_axes(lower) if upper else lower


def cholesky_inverse(input_x: Any, upper: bool = False) -> Tensor:
    """Returns the inverse of the matrix whose Cholesky factor this is."""
    factor = rearrange.triu(input_x, offset=0) if upper else rearrange.tril(input_x, offset=0)
    inverted = matrix_functions.inverse(factor)
    if upper:
        return arrays.matmul(inverted, structure.swap_last_axes(inverted))
    return arrays.matmul(structure.swap_last_axes(inverted), inverted)


def cholesky_solve(input: Any, input2: Any, upper: bool = False) -> Tensor:
    """Solves A @ X = input for X, where input2 is the Cholesky factor of A."""
    factor = rearrange.triu(input2, offset=0) if upper else rearrange.tril(input2, offset=0)
    transposed = structure.swap_last_axes(factor)
    lower, higher = (transposed, factor) if upper else (factor, transposed)
    return matrix_functions.solve(higher, matrix_functions.solve(lower, input))


def pinv(x: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """Returns the pseudo-inverse of each matrix; singular values below rtol times the largest are
    0."""
    if atol is not None:
        raise ValueError(
            "the argument atol of pinv is not supported; pass rtol, relative to the largest "
            "singular value"
        )
    return matrix_functions.pinv(x, rtol=None if rtol is None else float(rtol))


def svd(input: Any, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """Returns (s, u, v) with input = u @ diag(s) @ v.T for each matrix; without vectors s alone."""
    values = svd_records.singular_values(input)
    if not compute_uv:
        return values
    if full_matrices:
        rows, columns = known_sizes(input, "svd with full_matrices")[-2:]
        if rows != columns:
            raise ValueError("svd with full_matrices=True is not supported")
    right = structure.swap_last_axes(svd_records.right_vectors(input))
    return values, svd_records.left_vectors(input), right


@unaliased
def matrix_power(input: Any, n: int) -> Tensor:
    """Returns power n of each matrix; for a negative n, of its inverse."""
    if n < 0:
        return matrix_power(inverse(input), -n)
    if n == 0:
        sizes = known_sizes(input, "matrix_power to the 0")
        one = creation.eye(sizes[-1], dtype=dtype_of(input))
        return one if len(sizes) == 2 else arrays.broadcast_to(one, sizes)
    power: Any = None
    square = input
    while n:
        if n % 2:
            power = square if power is None else arrays.matmul(power, square)
        n //= 2
        square = arrays.matmul(square, square) if n else square
    return power


def ger(input: Any, vec2: Any) -> Tensor:
    """Returns the product of every element of one vector with every one of another."""
    return arrays.outer(input, vec2)


__all__ = [
    "addbmm",
    "addmm",
    "addr",
    "adjoint",
    "baddbmm",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "det",
    "ger",
    "inner",
    "inverse",
    "kron",
    "logdet",
    "matrix_diag",
    "matrix_power",
    "matrix_solve",
    "pinv",
    "slogdet",
    "svd",
    "tensor_dot",
    "trace",
    "vander",
    "vecdot",
]
