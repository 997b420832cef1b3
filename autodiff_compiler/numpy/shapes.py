"""Shapes, axes, joining, splitting and picking."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common.tensor import tensor
from autodiff_compiler.operators import along, structure
from autodiff_compiler.operators.declare import broadcast_shapes
from autodiff_compiler.ops._shapes import known_rank, known_sizes, setting, shape_of
from autodiff_compiler.ops.parts import item_at

expand_dims, squeeze, moveaxis = ops.expand_dims, ops.squeeze, ops.moveaxis
broadcast_to = ops.broadcast_to
atleast_1d, atleast_2d, atleast_3d = ops.atleast_1d, ops.atleast_2d, ops.atleast_3d
hstack, dstack, column_stack, stack = ops.hstack, ops.dstack, ops.column_stack, ops.stack
vstack = row_stack = ops.vstack
fliplr, flipud = ops.fliplr, ops.flipud
zeros_like, ones_like = ops.zeros_like, ops.ones_like
empty_like = ops.zeros_like  # what it holds is told by nobody
repeat = ops.repeat_interleave


def reshape(a: Any, shape: Any, order: str = "C") -> Any:
    """The elements in rows of another shape."""
    if order != "C":
        raise TypeError(f"reshape in the order {order!r} has no operator; transpose before it")
    return ops.reshape(a, (shape,) if isinstance(shape, int) else tuple(shape))


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged."""
    return ops.swapaxes(a, axis1, axis2)


def ravel(a: Any) -> Any:
    """All elements in one row."""
    return ops.reshape(a, (-1,))


def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """The axes in another order, by default in reverse."""
    order = tuple(reversed(range(known_rank(a, "transpose")))) if axes is None else tuple(axes)
    return ops.transpose(a, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """An axis moved to stand before ``start``."""
    rank = known_rank(a, "rollaxis")
    axis, start = axis % rank, start % (rank + 1)
    return ops.moveaxis(a, axis, start - 1 if axis < start else start)


def flip(m: Any, axis: Any = None) -> Any:
    """The elements in reverse order along axes, by default along all."""
    axes = range(known_rank(m, "flip")) if axis is None else (
        (axis,) if isinstance(axis, int) else axis)  # fmt: skip
    return ops.flip(m, tuple(axes)) if axes else m


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """The elements shifted along axes, all by one shift or each by its own; what leaves enters
    again."""
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


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """The plane of two axes turned by k quarters."""
    return ops.rot90(m, k, tuple(axes))


def tile(A: Any, reps: Any) -> Any:
    """Repeated as a whole, so many times along each axis."""
    return ops.tile(A, (reps,) if isinstance(reps, int) else tuple(reps))


def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """One after another along an axis; None for all elements in one row."""
    if axis is None:
        return ops.concat([ops.reshape(array, (-1,)) for array in arrays], 0)
    return ops.concat(list(arrays), axis)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """``values`` after ``arr``."""
    return concatenate((ops.atleast_1d(arr), ops.atleast_1d(values)), axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """So many pieces, the first ones longer by one, or pieces that end at the places given."""
    return list(ops.tensor_split(ary, _places(indices_or_sections), axis))


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """As ``array_split``; a number must divide the axis."""
    size = known_sizes(ary, "split")[axis]
    if isinstance(indices_or_sections, int) and size % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def _places(given: Any) -> Any:
    return given if isinstance(given, int) else tuple(int(place) for place in given)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Pieces along the second axis, or the only one."""
    return split(ary, indices_or_sections, 1 if known_rank(ary, "hsplit") > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Pieces along the first axis."""
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Pieces along the third axis."""
    return split(ary, indices_or_sections, 2)


def tril(m: Any, k: int = 0) -> Any:
    """Zeros above the k-th diagonal."""
    return ops.tril(m, k)


def triu(m: Any, k: int = 0) -> Any:
    """Zeros below the k-th diagonal."""
    return ops.triu(m, k)


def diag(v: Any, k: int = 0) -> Any:
    """A matrix with ``v`` on its k-th diagonal; of a matrix, that diagonal."""
    return ops.diag_embed(v, k) if known_rank(v, "diag") == 1 else ops.diagonal(v, k)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonal of a plane, as the last axis."""
    return ops.diagonal(a, offset, axis1, axis2)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The sum of the diagonal of a plane."""
    return structure.sum_(ops.diagonal(a, offset, axis1, axis2), axes=(-1,), keepdims=False)


def pad(array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
    """Elements before and after each axis: a constant, the edge, a reflection or a wrap."""
    rank = known_rank(array, "pad")
    pairs = [(index(before), index(after)) for before, after in _pairs(pad_width, rank)]
    if any(min(pair) < 0 for pair in pairs):
        raise ValueError(f"'pad_width' must not be negative, but got {pad_width}.")
    for axis, (before, after) in enumerate(pairs):
        row = ops.moveaxis(array, axis, 0)
        size = known_sizes(row, "pad")[0]
        if mode == "constant":
            ends = _pairs(constant_values, rank)[axis]
            parts = [_filled(row, before, ends[0]), row, _filled(row, after, ends[1])]
        elif mode in ("edge", "reflect", "symmetric", "wrap"):
            places = [_source(place, size, mode) for place in range(-before, size + after)]
            parts = [item_at(row, tensor(places))]
        else:
            raise TypeError(f"pad in the mode {mode!r} has no operator; use constant, edge, "
                            "reflect, symmetric or wrap")  # fmt: skip
        array = ops.moveaxis(ops.concat(parts) if len(parts) > 1 else parts[0], 0, axis)
    return array


def _pairs(given: Any, rank: int) -> list[tuple[Any, Any]]:
    """A pair for each axis, from one number, one pair or all pairs."""
    if not isinstance(given, (tuple, list)):
        return [(given, given)] * rank
    if not isinstance(given[0], (tuple, list)):
        pair = (given[0], given[-1])
        return [pair] * rank
    return [tuple(pair) for pair in given] * (rank if len(given) == 1 else 1)  # type: ignore


def _filled(row: Any, count: int, value: Any) -> Any:
    sizes = (count, *known_sizes(row, "pad")[1:])
    return ops.zeros_like(ops.broadcast_to(item_at(row, slice(0, 1)), sizes)) + value


def _source(place: int, size: int, mode: str) -> int:
    """The element that stands at ``place`` of the padded axis."""
    if mode == "edge":
        return min(max(place, 0), size - 1)
    if mode == "wrap":
        return place % size
    period = 2 * size if mode == "symmetric" else max(2 * size - 2, 1)
    place %= period
    return place if place < size else period - place - (mode == "symmetric")


def take(a: Any, indices: Any, axis: int | None = None) -> Any:
    """The elements at positions, of all in one row or along an axis."""
    row = ops.reshape(a, (-1,)) if axis is None else ops.moveaxis(a, axis, 0)
    found = item_at(row, tensor(indices) if isinstance(indices, (list, tuple)) else indices)
    if axis is None or isinstance(indices, int):
        return found
    rank = 1 if isinstance(indices, (list, tuple)) else known_rank(indices, "take")
    return ops.moveaxis(found, tuple(range(rank)), tuple(range(axis, axis + rank)))


def take_along_axis(arr: Any, indices: Any, axis: int) -> Any:
    """For each place of ``indices`` the element that it names along an axis; along the others the
    two are stretched to fit."""
    have, want = shape_of(arr), shape_of(indices)
    if have and want and len(have) == len(want):
        place = axis % len(have)
        shape = broadcast_shapes([(*s[:place], 1, *s[place + 1 :]) for s in (have, want)])
        if not all(isinstance(size, int) for size in shape or ()):
            return along.take_along(arr, indices, axis=axis)  # NumPy will stretch them
        arr, indices = _stretched(arr, shape, place), _stretched(indices, shape, place)
    return ops.gather_elements(arr, axis, indices)


def _stretched(x: Any, shape: Any, axis: int) -> Any:
    """``x`` in this shape, but for one axis."""
    wide = (*shape[:axis], shape_of(x)[axis], *shape[axis + 1 :])  # type: ignore[index]
    return x if wide == shape_of(x) else ops.broadcast_to(x, wide)


def meshgrid(*xi: Any, indexing: str = "xy") -> list[Any]:
    """The coordinates of a grid."""
    return list(ops.meshgrid(*xi, indexing=indexing))


def shape(a: Any) -> Any:
    """The size of each axis."""
    return known_sizes(a, "shape")


def ndim(a: Any) -> int:
    """How many axes."""
    return known_rank(a, "ndim")


def size(a: Any, axis: int | None = None) -> Any:
    """How many elements, of all or along an axis."""
    sizes = known_sizes(a, "size")
    return math.prod(sizes) if axis is None else sizes[axis]


__all__ = [
    "append", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to",
    "column_stack", "concatenate", "diag", "diagonal", "dsplit", "dstack", "empty_like",
    "expand_dims", "flip", "fliplr", "flipud", "hsplit", "hstack", "meshgrid", "moveaxis", "ndim",
    "ones_like", "pad", "ravel", "repeat", "reshape", "roll", "rollaxis", "rot90", "row_stack",
    "shape", "size", "split", "squeeze", "stack", "swapaxes", "take", "take_along_axis", "tile",
    "trace", "transpose", "tril", "triu", "vsplit", "vstack", "zeros_like",
]  # fmt: skip
