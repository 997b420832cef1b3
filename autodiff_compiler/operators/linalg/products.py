"""Products of matrices and vectors."""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Sequence
from typing import Any

from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.nodes import (
    Value,
    array_type,
)
from autodiff_compiler.ir.types import ArrayType, Shape, Type
from autodiff_compiler.operators.core.declare import (
    broadcast_shapes,
)
from autodiff_compiler.operators.core.families import bilinear
from autodiff_compiler.operators.core.structure import (
    cast_like,
    expand_dims,
    expand_dims_where,
    reshape,
    reshape_like,
    shape_of,
    swap_last_axes,
    transpose,
    unbroadcast,
)

#: The dtypes whose products BLAS computes, for which ``np.dot`` is the product of matrices.
BLAS = {"float32", "float64", "complex64", "complex128"}


def _as_matrix(x: Value, factor: Value, axis: int) -> Any:
    """Returns ``x`` with an axis of length one at ``axis`` if ``factor`` is a vector."""
    if factor.ndim is None:
        return expand_dims_where(x, shape_of(factor), axes=(axis,), rank=1)
    return expand_dims(x, axes=(axis,)) if factor.ndim == 1 else x


def _as_matrices(ct: Value, a: Value, b: Value) -> tuple[Any, Any, Any]:
    """Returns the product's cotangent, the left factor and the right one, all of them as
    matrices."""
    matrix = _as_matrix(_as_matrix(ct, b, -1), a, -2)
    return matrix, _as_matrix(a, a, -2), _as_matrix(b, b, -1)


def _factors(types: Sequence[Type], what: str) -> tuple[Shape, Shape, str | None]:
    """Returns the shapes of the two factors and their one dtype."""
    a, b = types
    if not isinstance(a, ArrayType) or not isinstance(b, ArrayType):
        raise DTypeError(
            f"{what} needs two tensors, not {a} and {b}", "use * to multiply by a number"
        )
    if a.dtype is not None and b.dtype is not None and a.dtype != b.dtype:
        raise DTypeError(
            f"{what} needs two tensors of one dtype, not {a.dtype} and {b.dtype}",
            "cast one of them first",
        )
    return a.shape, b.shape, a.dtype if a.dtype == b.dtype else None


def _matmul_type(types: Sequence[Type]) -> Type:
    left, right, dtype = _factors(types, "a matrix product")
    if left == () or right == ():
        raise ShapeError("a matrix product does not take 0-d tensors", "use * for 0-d tensors")
    if left is None or right is None:
        return ArrayType(dtype, None)
    inner, outer = left[-1], right[-2] if len(right) > 1 else right[0]
    if inner != outer and inner is not None and outer is not None:
        raise ShapeError(
            f"shapes {types[0]} and {types[1]} do not fit a matrix product: {inner} is not {outer}",
            "the last dimension of the left one must be the last but one of the right one",
        )
    batch = broadcast_shapes([left[:-2], right[:-2]]) or ()
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    return ArrayType(dtype, (*batch, *rows, *columns))


def _rows(x: Value) -> Value:
    """Returns the rows of all matrices in ``x``, one below the other."""
    *rows, columns = array_type(x).static_shape
    return reshape(x, shape=(math.prod(rows), columns))


def _all_static(*values: Value) -> bool:
    return all(isinstance(x.type, ArrayType) and x.type.is_static for x in values)


def _is_one_matrix(ct: Value, a: Value, b: Value) -> bool:
    """True if all matrices in ``a`` are multiplied by one matrix ``b``, and all sizes are known.

    The products with all their rows are then one product. It is faster, and needs no sum over
    matrices.
    """
    if not _all_static(ct, a, b) or ct.dtype_name not in BLAS:
        return False
    return len(array_type(a).dims) > 2 and len(array_type(b).dims) == 2


def _side_by_side(x: Value) -> Value:
    """Returns the matrices in ``x``, of known sizes, beside each other."""
    *matrices, rows, columns = array_type(x).static_shape
    rank = len(matrices)
    transposed = transpose(x, perm=(rank, *range(rank), rank + 1))
    beside = math.prod([*matrices, columns])
    return reshape(transposed, shape=(rows, beside))


def _meets_narrow_ones(ct: Value, a: Value, b: Value) -> bool:
    """True if one matrix ``a`` is multiplied by many narrower ones, and all sizes are known.

    A single product with all of them beside each other is then smaller than the products that a sum
    takes.
    """
    if not _all_static(ct, a, b) or ct.dtype_name not in BLAS:
        return False
    left, right = array_type(a).static_shape, array_type(b).static_shape
    if len(left) != 2 or len(right) < 3:
        return False
    (rows, inner), columns = left, right[-1]
    return (rows + inner) * columns <= rows * inner


def _matmul_left(ct: Value, a: Value, b: Value) -> Any:
    """Returns ``ct @ b.T``. A vector counts as a matrix of one row (left) or one column (right)."""
    if a.ndim is None or b.ndim is None:
        matrix, rows, columns = _as_matrices(ct, a, b)
        return reshape_like(unbroadcast(matmul(matrix, swap_last_axes(columns)), rows), a)
    if a.ndim == 2 and b.ndim == 2:
        return matmul(ct, swap_last_axes(b))
    if _is_one_matrix(ct, a, b):
        return reshape_like(matmul(_rows(ct), swap_last_axes(b)), a)
    if _meets_narrow_ones(ct, a, b):
        return matmul(_side_by_side(ct), swap_last_axes(_side_by_side(b)))
    if a.ndim == 1 and b.ndim == 1:
        return ct * b
    if b.ndim == 1:
        if a.ndim == 2:
            return outer(ct, b)
        return unbroadcast(expand_dims(ct, axes=(-1,)) * b, a)
    if a.ndim == 1:
        if b.ndim == 2:
            return matmul(b, ct)
        row = matmul(expand_dims(ct, axes=(-2,)), swap_last_axes(b))
        return reshape_like(unbroadcast(row, expand_dims(a, axes=(0,))), a)
    return unbroadcast(matmul(ct, swap_last_axes(b)), a)


def _matmul_right(ct: Value, a: Value, b: Value) -> Any:
    """Returns ``a.T @ ct``, the mirror image of the left factor's rule."""
    if a.ndim is None or b.ndim is None:
        matrix, rows, columns = _as_matrices(ct, a, b)
        return reshape_like(unbroadcast(matmul(swap_last_axes(rows), matrix), columns), b)
    if a.ndim == 2 and b.ndim == 2:
        return matmul(swap_last_axes(a), ct)
    if _is_one_matrix(ct, a, b):
        return matmul(swap_last_axes(_rows(a)), _rows(ct))
    if a.ndim == 1 and b.ndim == 1:
        return ct * a
    if a.ndim == 1:
        if b.ndim == 2:
            return outer(a, ct)
        return unbroadcast(expand_dims(a, axes=(-1,)) * expand_dims(ct, axes=(-2,)), b)
    if b.ndim == 1:
        if a.ndim == 2:
            return matmul(swap_last_axes(a), ct)
        column = matmul(swap_last_axes(a), expand_dims(ct, axes=(-1,)))
        return reshape_like(unbroadcast(column, expand_dims(b, axes=(1,))), b)
    return unbroadcast(matmul(swap_last_axes(a), ct), b)


def _matmul_batch(a: Value, b: Value, mapped: Sequence[bool]) -> Any:
    """Multiplies batches of matrices; vectors become matrices with an axis of length one."""
    if a.ndim is None or b.ndim is None:
        return None
    left, right = a.ndim - mapped[0], b.ndim - mapped[1]
    if mapped[0] and not mapped[1] and right <= 2 and (left == 1 or right == 2 or left == 2):
        return matmul(a, b)  # (examples, k) @ (k, n), (examples, m, k) @ (k, n)
    if mapped[1] and not mapped[0] and (left, right) == (2, 1):
        return matmul(b, swap_last_axes(a))
    a = expand_dims(a, axes=(-2,)) if left == 1 else a
    b = expand_dims(b, axes=(-1,)) if right == 1 else b
    rank = max(left, right, 2)
    a = _with_rank(a, max(left, 2), rank) if mapped[0] else a
    b = _with_rank(b, max(right, 2), rank) if mapped[1] else b
    added = [axis for axis, of_factor in ((-2, left), (-1, right)) if of_factor == 1]
    return _without_axes(matmul(a, b), added)


def _with_rank(batch: Value, have: int, want: int) -> Value:
    """Adds axes of length one behind the axis of the examples, so that each has rank ``want``."""
    return expand_dims(batch, axes=tuple(range(1, 1 + want - have))) if have < want else batch


def _without_axes(batch: Value, axes: Sequence[int]) -> Value | None:
    """Removes axes of length one, counted from the end; None if a size behind the examples' is
    unknown."""
    dims = array_type(batch).dims
    examples, *rest = [dim for n, dim in enumerate(dims) if n - len(dims) not in axes]
    if not axes:
        return batch
    if None in rest:
        return None
    return reshape(batch, shape=(-1 if examples is None else examples, *rest))


def _matmul_numpy(types: Sequence[Type]) -> str:
    """Returns the text of the product: ``np.dot`` where it means the same, since it takes half of a
    small call's time.
    """
    ranks = {getattr(type_, "ndim", None) for type_ in types}
    plain = {getattr(type_, "dtype", None) for type_ in types} <= BLAS
    return "np.dot({a}, {b})" if plain and ranks <= {1, 2} else "np.matmul({a}, {b})"


matmul = bilinear(
    "matmul",
    "The matrix product a @ b over the last two axes: (..., m, k) @ (..., k, n) is (..., m, n). "
    "A vector is a row on the left and a column on the right. Batch axes broadcast. Both have "
    "one dtype: nothing is promoted (DTypeError). Inner dimensions that differ are a ShapeError. "
    "d_a = ct @ b.T, d_b = a.T @ ct.",
    numpy=_matmul_numpy,
    result=_matmul_type,
    adjoint={"a": _matmul_left, "b": _matmul_right},
    label="{a}_matmul_{b} product",
    batch=lambda a, b, mapped: _matmul_batch(a, b, mapped),
)


def _outer_type(types: Sequence[Type]) -> Type:
    left, right, dtype = _factors(types, "an outer product")
    for shape in (left, right):
        if shape is not None and len(shape) != 1:
            raise ShapeError(f"an outer product needs two vectors, not {types[0]} and {types[1]}")
    return ArrayType(dtype, ((left or (None,))[0], (right or (None,))[0]))


outer = bilinear(
    "outer",
    "The matrix a[i] * b[j] of two vectors of one dtype. d_a = ct @ b, d_b = ct.T @ a.",
    numpy="np.outer({a}, {b})",
    result=_outer_type,
    adjoint={
        "a": lambda ct, a, b: cast_like(matmul(ct, b), a),
        "b": lambda ct, a, b: cast_like(matmul(a, ct), b),
    },
    label="{a}_outer_{b}",
    batch=lambda a, b: expand_dims(a, axes=(-1,)) * expand_dims(b, axes=(-2,)),
)
