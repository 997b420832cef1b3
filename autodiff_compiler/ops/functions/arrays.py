"""Shapes, joining, splitting and products under MindSpore's names."""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from typing import Any

from autodiff_compiler.common.dtype import of_name
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.core.index_patterns import FULL
from autodiff_compiler.operators.indexing import concat_and_pad, indexing
from autodiff_compiler.operators.linalg import products
from autodiff_compiler.operators.lists import loop_tapes, runtime_lists
from autodiff_compiler.operators.reductions import axis_functions
from autodiff_compiler.ops.core.argument_aliases import also
from autodiff_compiler.ops.core.shape_queries import (
    axes_of,
    axis_of,
    dtype_of,
    is_list,
    item_rank,
    known_rank,
    rank_of,
    shape_and_operands,
    shape_of,
)
from autodiff_compiler.ops.functions import creation


def reshape(input: Any, shape: Any) -> Tensor:
    """Returns the elements in another shape; one dimension may be -1."""
    known, operands = shape_and_operands(shape)
    return structure.reshape(input, *operands, shape=known)


@also(dims="input_perm")
def transpose(input: Any, input_perm: Sequence[int]) -> Tensor:
    """Returns the axes in another order."""
    return structure.transpose(input, perm=tuple(int(axis) for axis in input_perm))


def swapaxes(input: Any, axis0: int, axis1: int) -> Tensor:
    """Returns two axes exchanged."""
    rank = rank_of(input)
    if rank is None and {axis0, axis1} == {-1, -2}:
        return structure.swap_last_axes(input)
    perm = list(range(known_rank(input, "swapaxes")))
    axis0, axis1 = axis_of(axis0, rank), axis_of(axis1, rank)
    perm[axis0], perm[axis1] = perm[axis1], perm[axis0]
    return transpose(input, perm)


def t(input: Any) -> Tensor:
    """Returns the transpose of a matrix; a vector stays as it is."""
    return input if known_rank(input, "t") < 2 else structure.transpose(input, perm=(1, 0))


def expand_dims(input_x: Any, axis: Any) -> Tensor:
    """Adds axes of length one."""
    rank = rank_of(input_x)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if not axes:
        return input_x
    if rank is not None:
        axes = tuple(sorted(axis_of(one, rank + len(axes)) for one in axes))
    return structure.expand_dims(input_x, axes=axes)


def squeeze(input: Any, axis: Any = None) -> Tensor:
    """Removes axes of length one: those named, or all."""
    return concat_and_pad.squeeze(input, axes=axes_of(axis, input))


def flatten(input: Any, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Tensor:
    """Returns the axes from ``start_dim`` to ``end_dim`` joined into one, row-major."""
    if order != "C":
        input = transpose(input, tuple(reversed(range(known_rank(input, "flatten")))))
    rank = rank_of(input)
    shape = shape_of(input)
    if rank == 0:
        return reshape(input, (1,))
    if (start_dim, end_dim) == (0, -1):
        return reshape(input, (-1,))
    if shape is None or rank is None:
        raise ShapeError("flatten needs to know how many dimensions its input has")
    start, end = axis_of(start_dim, rank) if rank > 1 else 0, axis_of(end_dim, rank)
    sizes = [
        concat_and_pad.size_along(input, (axis,)) if isinstance(input, Value) else shape[axis]
        for axis in range(rank)
    ]
    return reshape(input, (*sizes[:start], -1, *sizes[end + 1 :]))


def ravel(input: Any) -> Tensor:
    """Returns all elements in one row."""
    return reshape(input, (-1,))


def broadcast_to(input: Any, shape: Any) -> Tensor:
    """Broadcasts to a shape; -1 keeps a dimension."""
    known, operands = shape_and_operands(shape)
    have = shape_of(input)
    if known is not None and have is not None and not operands and -1 in known:
        lead = len(known) - len(have)
        known = tuple(have[i - lead] if dim == -1 else dim for i, dim in enumerate(known))
    return structure.broadcast_to(input, *operands, shape=known)


def concat(tensors: Sequence[Any], axis: int = 0) -> Tensor:
    """Joins tensors one after another along an axis."""
    if is_list(tensors):
        return runtime_lists.list_concat(tensors, axis=axis_of(axis, item_rank(tensors, "concat")))
    return concat_and_pad.concat(*tensors, axis=axis_of(axis, rank_of(tensors[0])))


def stack(tensors: Sequence[Any], axis: int = 0) -> Tensor:
    """Joins tensors of one shape along a new axis."""
    if is_list(tensors):
        rows = loop_tapes.stack_rows(tensors, length=runtime_lists.length_of(tensors))
        if axis == 0:
            return rows
        axes = item_rank(tensors, "stack") + 1
        axis = axis_of(axis, axes)
        return transpose(rows, (*range(1, axis + 1), 0, *range(axis + 1, axes)))
    rank = rank_of(tensors[0])
    return concat_and_pad.stack(*tensors, axis=axis_of(axis, None if rank is None else rank + 1))


def _size(tensor: Any, axis: int, what: str) -> int:
    shape = shape_of(tensor)
    size = None if shape is None else shape[axis]
    if not isinstance(size, int):
        raise ShapeError(
            f"{what} returns one tensor for each element along axis {axis}, and the size "
            "of that axis is not known",
            "give the shape of the input as numbers in the signature",
        )
    return size


def _pieces(tensor: Any, sizes: Sequence[int], axis: int) -> tuple[Tensor, ...]:
    pieces, start = [], 0
    for size in sizes:
        piece = ("slice", start or None, start + size, None)
        pieces.append(indexing.index(tensor, index=(*(FULL,) * axis, piece)))
        start += size
    return tuple(pieces)


def split(tensor: Any, split_size_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """Splits a tensor into pieces of one size (the last may be smaller), or of the given sizes."""
    axis = axis_of(axis, rank_of(tensor))
    size = _size(tensor, axis, "split")
    if not isinstance(split_size_or_sections, int):
        return _pieces(tensor, list(split_size_or_sections), axis)
    step = split_size_or_sections
    full_pieces, rest = divmod(size, step)
    return _pieces(tensor, [step] * full_pieces + [rest] * bool(rest), axis)


def chunk(input: Any, chunks: int, axis: int = 0) -> tuple[Any, ...]:
    """Splits a tensor into at most ``chunks`` pieces of equal size."""
    size = _size(input, axis_of(axis, rank_of(input)), "chunk")
    return split(input, -(-size // chunks) or 1, axis)


def unbind(input: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Returns the items along an axis, which goes away."""
    dim = axis_of(dim, rank_of(input))
    size = _size(input, dim, "unbind")
    return tuple(indexing.index(input, index=(*(FULL,) * dim, k)) for k in range(size))


def gather(input_params: Any, input_indices: Any, axis: int, batch_dims: int = 0) -> Tensor:
    """Returns the items along an axis at the given positions."""
    if batch_dims:
        return _gather_batches(input_params, input_indices, axis, batch_dims)
    axis = axis_of(axis, rank_of(input_params))
    lead = (FULL,) * axis if axis >= 0 else ("...",)
    tail = (FULL,) * (-1 - axis) if axis < 0 else ()
    return indexing.index(input_params, input_indices, index=(*lead, ("op", 0), *tail))


def _gather_batches(x: Any, indices: Any, axis: int, batch_dims: int) -> Any:
    """Applies ``gather`` to each batch; the first axes of both operands number the batches."""
    rank, places = known_rank(x, "gather"), known_rank(indices, "gather")
    axis, count = axis_of(axis, rank), axis_of(batch_dims, places + 1)
    if axis < count:
        raise ShapeError(
            f"axis {axis} is one of the {count} batch axes (batch_dims)",
            "gather along an axis after the batch axes",
        )
    sizes = shape(indices)
    batches = [
        reshape(creation.arange(sizes[k]), (-1, *(1,) * (places - 1 - k))) for k in range(count)
    ]
    middle = range(count, axis)
    if middle:
        x = transpose(x, (*range(count), axis, *middle, *range(axis + 1, rank)))
    index = tuple(("op", k) for k in range(count + 1))
    taken = indexing.index(x, *batches, indices, index=index)
    if not middle:
        return taken
    last = places + len(middle)
    inner, tail = (*range(places, last), *range(count, places)), range(last, last + rank - axis - 1)
    return transpose(taken, (*range(count), *inner, *tail))


def gather_elements(input: Any, dim: int, index: Any) -> Tensor:
    """Returns the element along an axis that each entry of ``index`` names.

    Along the other axes ``index`` may be shorter than ``input``. Raises a ShapeError if it is
    longer, or has another number of axes.
    """
    axis = axis_of(dim, rank_of(input))
    have, want = shape_of(input), shape_of(index)
    if have is None or want is None:
        return axis_functions.take_along(input, index, axis=axis)
    others = [(a, b) if k != axis else (0, 0) for k, (a, b) in enumerate(zip(have, want))]
    longer = any(isinstance(a, int) and isinstance(b, int) and a < b for a, b in others)
    if longer or len(have) != len(want):
        raise ShapeError(
            f"an index of shape {[*want]} does not fit an input of shape {[*have]}",
            "give the index as many axes as the input, none of them longer than the "
            f"input's except axis {axis}",
        )
    ends = [None if a == b is not None else end for (a, b), end in zip(others, shape(index))]
    return axis_functions.take_along(_cropped(input, ends), index, axis=axis)


def _cropped(input: Any, ends: Sequence[Any]) -> Any:
    """Returns the input up to an end along each axis; None takes the whole axis."""
    if all(end is None for end in ends):
        return input
    operands = [end for end in ends if isinstance(end, Value)]
    stops = (("op", operands.index(end)) if isinstance(end, Value) else end for end in ends)
    part = tuple(FULL if stop is None else ("slice", None, stop, None) for stop in stops)
    return indexing.index(input, *operands, index=part)


def matmul(input: Any, other: Any) -> Tensor:
    """Returns the matrix product."""
    return products.matmul(input, other)


def dot(input: Any, other: Any) -> Tensor:
    """Returns the sum of products over the last axis of input and the last but one of other."""
    left, right = known_rank(input, "dot"), known_rank(other, "dot")
    if left <= 2 and right <= 2:
        return products.matmul(input, other)
    rows, columns = shape_of(input) or (), shape_of(other) or ()
    perm = (right - 2, *range(right - 2), right - 1)
    flat_left = reshape(input, (-1, rows[-1]))
    flat_right = reshape(transpose(other, perm), (columns[-2], -1))
    return reshape(products.matmul(flat_left, flat_right), (*rows[:-1], *columns[:-2], columns[-1]))


def outer(input: Any, vec2: Any) -> Tensor:
    """Returns the product of every element of one vector with every one of another."""
    return products.outer(input, vec2)


def shape(input_x: Any) -> tuple[int, ...]:
    """Returns the shape, a tuple of ints."""
    known = shape_of(input_x)
    if known is None:
        return structure.shape_of(input_x)
    return tuple(
        dim if isinstance(dim, int) else concat_and_pad.size_of(input_x, axes=(axis,))
        for axis, dim in enumerate(known)
    )


def rank(input_x: Any) -> int:
    """Returns the number of axes."""
    return known_rank(input_x, "rank")


def numel(input: Any) -> int:
    """Returns the number of elements."""
    return size(input)


def size(input_x: Any) -> int:
    """Returns the number of elements."""
    if isinstance(input_x, Value):
        return concat_and_pad.size_along(input_x, None)
    return input_x.size


def identity(x: Any) -> Any:
    """Returns the tensor itself."""
    return x


def dtype(x: Any) -> Any:
    """Returns the dtype."""
    name = dtype_of(x)
    return None if name is None else of_name(name)


cat = concat
permute = also(axis="input_perm")(transpose)
unsqueeze = also(input="input_x", dim="axis")(expand_dims)
unstack = also(input_x="input", axis="dim")(unbind)
mm = bmm = also(input_x="input", mat2="other")(matmul)
mv = also(mat="input", vec="other")(matmul)

__all__ = [
    "bmm",
    "broadcast_to",
    "cat",
    "chunk",
    "concat",
    "dot",
    "expand_dims",
    "flatten",
    "gather",
    "gather_elements",
    "matmul",
    "mm",
    "mv",
    "numel",
    "outer",
    "permute",
    "rank",
    "ravel",
    "reshape",
    "shape",
    "size",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "t",
    "transpose",
    "unbind",
    "unsqueeze",
    "unstack",
]
