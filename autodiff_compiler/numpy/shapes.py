"""Shapes, axes, joining, splitting and selection."""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from autodiff_compiler import ops
from autodiff_compiler.common.dtype import to_numpy_name
from autodiff_compiler.common.tensor import Tensor, tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.types import PROMOTION
from autodiff_compiler.numpy.reductions import is_none, sum
from autodiff_compiler.operators.core import declare, structure
from autodiff_compiler.operators.core.declare import broadcast_shapes
from autodiff_compiler.operators.indexing import concat_and_pad
from autodiff_compiler.operators.reductions import axis_functions
from autodiff_compiler.ops.core.shape_queries import (
    dtype_of,
    known_rank,
    rank_of,
    setting,
    shape_of,
)
from autodiff_compiler.ops.functions.gather_scatter import along_axis, item_at

expand_dims, moveaxis = ops.expand_dims, ops.moveaxis
broadcast_to = ops.broadcast_to
fliplr, flipud = ops.fliplr, ops.flipud


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Repeats each element along an axis, or of all elements in one row if that is None."""
    if rank_of(a) == 0 and axis in (0, -1):
        axis = None
    return ops.repeat_interleave(a, repeats, axis)


def squeeze(a: Any, axis: Any = None) -> Tensor:
    """Removes axes of length 1: those named, or all."""
    if is_none(axis) or PROMOTION.numpy and rank_of(a) == 0 and axis in (0, -1):
        return ops.reshape(a, ops.shape(a))
    return ops.squeeze(a, axis)


def _each(at_least: Callable[[Any], Any]) -> Callable[..., Any]:
    def each(*arys: Any) -> Any:
        return at_least(arys[0]) if len(arys) == 1 else tuple(at_least(x) for x in arys)

    return each


atleast_1d, atleast_2d, atleast_3d = map(_each, (ops.atleast_1d, ops.atleast_2d, ops.atleast_3d))


def _with_cast(join: Callable[..., Any]) -> Callable[..., Any]:
    def joining(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
        return join(_cast_all(tup, dtype, casting))

    return joining


def _cast_all(arrays: Any, dtype: Any, casting: Any) -> Any:
    """Casts the arrays to a dtype; raises TypeError if ``casting`` forbids that."""
    if dtype is None:
        return arrays
    wanted = to_numpy_name(dtype)
    for array in arrays:
        have = dtype_of(array)
        if have is not None and not np.can_cast(have, wanted, casting):
            raise TypeError(
                f"Cannot cast array data from dtype('{have}') to dtype('{wanted}') "
                f"according to the rule '{casting}'"
            )
    return [structure.cast(array, dtype=wanted) for array in arrays]


hstack, vstack, dstack, column_stack = map(
    _with_cast, (ops.hstack, ops.vstack, ops.dstack, ops.column_stack)
)
row_stack = vstack


def stack(
    arrays: Sequence[Any], axis: int = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Tensor:
    """Stacks arrays of one shape along a new axis."""
    return ops.stack(_cast_all(arrays, dtype, casting), axis)


def _like(value: int) -> Callable[..., Any]:
    def like(prototype: Any, dtype: Any = None, *, shape: Any = None) -> Any:
        filled = ops.zeros_like(prototype) if value == 0 else ops.ones_like(prototype)
        if shape is not None:
            kind = dtype_of(prototype)
            return ops.full(shape, value, dtype=kind if dtype is None else to_numpy_name(dtype))
        return filled if dtype is None else structure.cast(filled, dtype=to_numpy_name(dtype))

    return like


zeros_like, ones_like = _like(0), _like(1)
empty_like = zeros_like  # compiled code never shows uninitialized memory


def reshape(a: Any, shape: Any, order: str = "C") -> Tensor:
    """Reshapes an array; one size may be -1."""
    if order != "C":
        raise TypeError(
            f"reshape with order={order!r} is not supported; transpose first, and use order='C'"
        )
    return ops.reshape(a, tuple(shape) if isinstance(shape, (tuple, list)) else shape)


def swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:
    """Exchanges two axes."""
    return ops.swapaxes(a, axis1, axis2)


def ravel(a: Any, order: str = "C") -> Tensor:
    """Returns all elements in one row."""
    if order != "C":
        raise TypeError(
            f"ravel with order={order!r} is not supported; transpose first, and use order='C'"
        )
    return ops.reshape(a, (-1,))


def transpose(a: Any, axes: Sequence[int] | None = None) -> Tensor:
    """Permutes the axes, by default in reverse."""
    order = tuple(reversed(range(known_rank(a, "transpose")))) if axes is None else tuple(axes)
    return ops.transpose(a, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Tensor:
    """Moves an axis before the axis ``start``."""
    rank = known_rank(a, "rollaxis")
    (axis,) = declare.normal_axes(axis, rank) or (axis,)
    start = start + rank if start < 0 else start
    if not 0 <= start <= rank:
        raise ValueError(f"'start' is not between {-rank} and {rank}")
    return ops.moveaxis(a, axis, start - 1 if axis < start else start)


def flip(m: Any, axis: Any = None) -> Tensor:
    """Reverses the elements along axes, by default along all."""
    if axis is None:
        axis = range(known_rank(m, "flip"))
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return ops.flip(m, axes) if axes else m


def roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    """Shifts the elements cyclically along axes, by one shift or by one for each axis."""
    if axis is None:
        return ops.roll(a, shift)
    shifts, axes = (
        tuple(given) if isinstance(given, (tuple, list)) else (given,)
        for given in (setting(shift), setting(axis))
    )
    if len(shifts) == 1:
        shifts *= len(axes)
    elif len(axes) == 1:
        axes *= len(shifts)
    return ops.roll(a, shifts, axes)


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """Rotates the plane of two axes by k times 90 degrees."""
    rank = known_rank(m, "rot90")
    if len(axes) == 2 and axes[0] % rank == axes[1] % rank:
        raise ValueError("Axes must be different.")
    return ops.rot90(m, k, tuple(axes))


def tile(A: Any, reps: Any) -> Tensor:
    """Repeats the whole array along each axis."""
    reps = setting(reps)
    return ops.tile(A, (reps,) if isinstance(reps, int) else tuple(reps))


def concatenate(
    arrays: Sequence[Any], axis: int | None = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Tensor:
    """Concatenates arrays along an axis, or all their elements if that is None."""
    arrays = _cast_all(arrays, dtype, casting)
    if axis is None:
        return ops.concat([ops.reshape(array, (-1,)) for array in arrays], 0)
    if any(rank_of(array) == 0 for array in arrays):
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    return ops.concat(list(arrays), axis)


def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    """Appends ``values`` to ``arr``."""
    return concatenate((arr, values), axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Splits into a number of parts, the first of which may be longer by one, or at indices."""
    if isinstance(indices_or_sections, int) and indices_or_sections <= 0:
        raise ValueError("number sections must be larger than 0.")
    return list(ops.tensor_split(ary, _indices_or_number(indices_or_sections), axis))


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Splits into a number of equal parts, or at indices."""
    if isinstance(indices_or_sections, int):
        size = ops.shape(ary)[axis]
        if not isinstance(size, int):
            raise ShapeError(
                f"np.split needs the size of axis {axis} at compile time",
                "give the size as a number in the signature, such as x=f32[6,3]",
            )
        if indices_or_sections > 0 and size % indices_or_sections:
            raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def _indices_or_number(given: Any) -> Any:
    given = setting(given)
    return given if isinstance(given, int) else tuple(map(index, given))


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Splits along the second axis, or the only one."""
    return split(ary, indices_or_sections, 1 if known_rank(ary, "hsplit") > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Splits along the first axis."""
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Splits along the third axis."""
    return split(ary, indices_or_sections, 2)


def tril(m: Any, k: int = 0) -> Tensor:
    """Returns the lower triangle: zeros above the k-th diagonal."""
    return ops.tril(_as_matrix(m, "tril"), k)


def triu(m: Any, k: int = 0) -> Tensor:
    """Returns the upper triangle: zeros below the k-th diagonal."""
    return ops.triu(_as_matrix(m, "triu"), k)


def _as_matrix(m: Any, what: str) -> Any:
    """Broadcasts a vector to a square matrix, as NumPy does."""
    if known_rank(m, what) != 1:
        return m
    size = ops.shape(m)[0]
    return ops.broadcast_to(m, (size, size))


def diag(v: Any, k: int = 0) -> Tensor:
    """Returns a matrix with ``v`` on its k-th diagonal; for a matrix, its k-th diagonal."""
    if known_rank(v, "diag") not in (1, 2):
        raise ValueError("Input must be 1- or 2-d.")
    return ops.diag_embed(v, k) if rank_of(v) == 1 else ops.diagonal(v, k)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Returns the diagonal of a plane, as the last axis."""
    return ops.diagonal(a, offset, axis1, axis2)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """Returns the sum of the diagonal of a plane."""
    return sum(ops.diagonal(a, offset, axis1, axis2), -1, dtype)


def take(a: Any, indices: Any, axis: int | None = None, *, mode: str = "raise") -> Tensor:
    """Returns the elements at indices along an axis, or of all elements in one row.

    ``mode`` is for indices out of bounds: 'raise', 'wrap' (periodic) or 'clip'.
    """
    if axis is None:
        a, axis = ops.reshape(a, (-1,)), 0
    if rank_of(a) == 0:
        a = ops.reshape(a, (1,))
    (axis,) = declare.normal_axes(axis, known_rank(a, "take")) or (axis,)
    if isinstance(indices, (list, tuple)):
        indices = tensor(np.asarray(indices, None if np.size(indices) else np.int64))
    if mode != "raise":
        size = ops.shape(a)[axis]
        if mode not in ("wrap", "clip"):
            raise ValueError("clipmode must be one of 'clip', 'raise', or 'wrap'")
        if mode == "wrap":
            indices = indices % size
        elif isinstance(indices, int) and isinstance(size, int):
            indices = min(max(indices, 0), size - 1)
        else:
            indices = ops.minimum(ops.maximum(indices, 0), size - 1)
    if dtype_of(indices) == "bool":
        indices = structure.cast(indices, dtype="int64")
    return item_at(a, along_axis(axis, indices))


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Tensor:
    """Returns the elements at ``indices`` along an axis; the other axes are broadcast."""
    if axis is None:
        arr, axis = ops.reshape(arr, (-1,)), 0
    if isinstance(indices, (list, tuple)):
        indices = tensor(np.asarray(indices))
    have, want = shape_of(arr), shape_of(indices)
    if have and want and len(have) == len(want):
        k = axis % len(have)
        shape = broadcast_shapes([(*s[:k], 1, *s[k + 1 :]) for s in (have, want)])
        if not all(isinstance(size, int) for size in shape or ()):
            return axis_functions.take_along(arr, indices, axis=axis)  # NumPy broadcasts them
        arr = _broadcast_but_one(arr, have, shape, k)
        indices = _broadcast_but_one(indices, want, shape, k)
    return ops.gather_elements(arr, axis, indices)


def _broadcast_but_one(x: Any, x_shape: Sequence[Any], shape: Any, axis: int) -> Any:
    """Broadcasts ``x``, of the shape ``x_shape``, to ``shape`` in all axes but one."""
    wanted = (*shape[:axis], x_shape[axis], *shape[axis + 1 :])
    return x if wanted == x_shape else ops.broadcast_to(x, wanted)


def meshgrid(*xi: Any, sparse: bool = False, indexing: str = "xy") -> Any:
    """Returns the coordinates of a grid; if ``sparse``, each along its own axis only."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    if not sparse:
        grid: Sequence[Any] = ops.meshgrid(*xi, indexing=indexing) if xi else ()
    else:
        places = [*range(len(xi))]
        if indexing == "xy" and len(xi) > 1:
            places[:2] = 1, 0
        grid = [
            ops.reshape(x, (*(1,) * k, -1, *(1,) * (len(xi) - 1 - k))) for k, x in zip(places, xi)
        ]
    return tuple(grid) if PROMOTION.numpy else list(grid)


def shape(a: Any) -> Any:
    """Returns the size of each axis."""
    return ops.shape(a)


def ndim(a: Any) -> int:
    """Returns the number of axes."""
    return known_rank(a, "ndim")


def size(a: Any, axis: int | None = None) -> Any:
    """Returns the number of elements, in all or along axes."""
    axes = None if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    if rank_of(a) is None:
        return concat_and_pad.size_along(a, axes)
    sizes = ops.shape(a)
    if axes is None:
        return math.prod(sizes)
    return math.prod(sizes[one] for one in axes)


__all__ = [
    "append",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_to",
    "column_stack",
    "concatenate",
    "diag",
    "diagonal",
    "dsplit",
    "dstack",
    "empty_like",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "hsplit",
    "hstack",
    "meshgrid",
    "moveaxis",
    "ndim",
    "ones_like",
    "ravel",
    "repeat",
    "reshape",
    "roll",
    "rollaxis",
    "rot90",
    "row_stack",
    "shape",
    "size",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "take",
    "take_along_axis",
    "tile",
    "trace",
    "transpose",
    "tril",
    "triu",
    "vsplit",
    "vstack",
    "zeros_like",
]
