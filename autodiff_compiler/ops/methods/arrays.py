"""The methods of ``Tensor`` that move, pick, place and order elements; ``methods`` installs them.

Those that a function of ``ops`` is as it stands are only named in the table.
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Callable
from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.operators.indexing import concat_and_pad, indexing
from autodiff_compiler.ops.core.shape_queries import (
    axis_of,
    dtype_of,
    in_dtype,
    known_rank,
    known_sizes,
    one_or_many,
    rank_of,
    shape_of,
)
from autodiff_compiler.ops.functions import (
    arrays,
    creation,
    einsum,
    elementwise,
    gather_scatter,
    masks,
    rearrange,
    reductions,
    sorting,
)
from autodiff_compiler.ops.neural import convolution


def select(self: Any, first: Any, second: Any) -> Tensor:
    """Returns the item ``second`` along axis ``first``; or, with a condition, the tensor or
    ``second``."""
    if isinstance(first, int):
        axis = axis_of(first, known_rank(self, "select"))
        return gather_scatter.item_at(self, gather_scatter.along_axis(axis, second))
    return elementwise.where(first, self, second)


def tile(self: Any, *dims: Any) -> Tensor:
    """Repeats the tensor as a whole along each axis."""
    return rearrange.tile(self, one_or_many(dims))


def repeat(self: Any, *repeats: Any, axis: int | None = None) -> Tensor:
    """Repeats the tensor as a whole along each axis; along one ``axis``, each element."""
    if axis is not None:
        return rearrange.repeat_interleave(self, one_or_many(repeats), axis)
    return rearrange.tile(self, one_or_many(repeats))


def diag(self: Any, diagonal: int = 0) -> Tensor:
    """Returns a matrix with this vector on a diagonal; of a matrix, its diagonal."""
    if known_rank(self, "diag") == 1:
        return rearrange.diag_embed(self, diagonal)
    return rearrange.diagonal(self, diagonal)


def index_add(self: Any, first: Any, second: Any, third: Any, *, alpha: Any = 1) -> Tensor:
    """Adds values at positions: ``index_add(indices, y, axis)`` or ``index_add(dim, index, source,
    alpha=1)``."""
    if isinstance(first, int):
        source = third if alpha == 1 else third * alpha
        return gather_scatter.index_add(self, second, source, first)
    return gather_scatter.index_add(self, first, second, third)


def index_put(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """Writes or adds values where tensors of positions or bools point."""
    items, rest = gather_scatter.encode(tuple(indices))
    operator = indexing.add_at if accumulate else indexing.set_item
    return operator(self, values, *rest, index=items)


def itemset(self: Any, *args: Any) -> Tensor:
    """Replaces one element: ``itemset(value)`` of the only one, or ``itemset(index, value)``.

    An int counts through all elements, row by row.
    """
    *index, value = args
    place = index[0] if index else 0
    if isinstance(place, int):
        flat = indexing.set_item(arrays.ravel(self), value, index=(place,))
        return arrays.reshape(flat, arrays.shape(self))
    return indexing.set_item(self, value, index=tuple(place))


def take(self: Any, indices: Any, axis: int | None = None, mode: str = "clip") -> Tensor:
    """Returns the items along an axis (None: of all in one row); positions outside go to the
    nearest end.

    mode 'wrap' counts on from the other end instead, 'raise' refuses them.
    """
    if axis is None:
        return take(arrays.ravel(self), indices, 0, mode)
    axis = axis_of(axis, known_rank(self, "take"))
    return arrays.gather(self, _inside(indices, arrays.shape(self)[axis], mode), axis)


def _inside(indices: Any, size: Any, mode: str) -> Any:
    if mode == "clip":
        return elementwise.clamp(indices, 0, size - 1)
    if mode == "wrap":
        return elementwise.remainder(indices, size)
    if mode != "raise":
        raise ValueError(f"mode must be 'clip', 'wrap' or 'raise', not {mode!r}")
    return indices


def choose(self: Any, choices: Any, mode: str = "clip") -> Tensor:
    """Returns for each place the element of the choice that the int there names."""
    if isinstance(choices, (tuple, list)):
        tensors = (c if hasattr(c, "__apply_operator__") else Tensor(c) for c in choices)
        choices = arrays.stack(tuple(tensors))
    count, *sizes = arrays.shape(choices)
    places = _inside(arrays.broadcast_to(self, sizes), count, mode)
    return concat_and_pad.squeeze(
        arrays.gather_elements(choices, 0, arrays.expand_dims(places, 0)), axes=(0,)
    )


def resize(self: Any, *new_shape: Any) -> Tensor:
    """Reshapes: elements that are too many are cut off at the end, missing ones are zero."""
    shape = tuple(one_or_many(new_shape))
    size, have = math.prod(shape), math.prod(known_sizes(self, "resize"))
    flat = arrays.ravel(self)
    if size < have:
        flat = gather_scatter.item_at(flat, slice(None, size))
    elif size > have:
        flat = rearrange.pad_by(flat, ((0, size - have),))
    return arrays.reshape(flat, shape)


def unfold(self: Any, dimension: int, size: int, step: int) -> Tensor:
    """Returns the windows of a size along an axis, ``step`` apart; their elements are the last
    axis."""
    rank = known_rank(self, "unfold")
    axis = axis_of(dimension, rank)
    count = (arrays.shape(self)[axis] - size) // step + 1
    start = arrays.reshape(creation.arange(0, count * step, step), (-1, 1))
    windows = arrays.gather(self, start + creation.arange(size), axis)
    return windows if axis == rank - 1 else rearrange.moveaxis(windows, axis + 1, -1)


def sum_to_size(self: Any, *size: Any) -> Tensor:
    """Sums over the axes along which a tensor of that size would broadcast to this one."""
    want, have = tuple(one_or_many(size)), shape_of(self) or ()
    lead = len(have) - len(want)
    if lead < 0 or rank_of(self) is None:
        raise ShapeError(f"a tensor of shape {shape_of(self)} cannot be summed to {want}")
    axes = tuple(k + lead for k, dim in enumerate(want) if dim == 1 and have[k + lead] != 1)
    total = reductions.sum(self, axes, True) if axes else self
    return reductions.sum(total, tuple(range(lead)), False) if lead else total


def searchsorted(self: Any, v: Any, side: str = "left") -> Tensor:
    """Returns the positions of values in this sorted row."""
    return in_dtype(sorting.searchsorted(self, v, right=side == "right"), "int32")


def fill(self: Any, value: Any) -> Tensor:
    """Returns a number in this shape."""
    return creation.full_like(self, value)


def new_full(self: Any, size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """Returns a tensor of one number, in this dtype unless one is given."""
    return creation.full(size, fill_value, dtype=dtype or dtype_of(self))


def new_empty(self: Any, size: Any, *, dtype: Any = None) -> Tensor:
    """Returns a tensor of zeros, in this dtype unless one is given."""
    return creation.zeros(size, dtype or dtype_of(self))


def reshape_as(self: Any, other: Any) -> Tensor:
    """Reshapes to the shape of another tensor."""
    return arrays.reshape(self, arrays.shape(other))


def named(module: Any, names: str) -> dict[str, Callable[..., Any]]:
    """Returns the functions of ``module`` with these names."""
    return {name: getattr(module, name) for name in names.split()}


ARRAY_METHODS: dict[str, Callable[..., Any]] = {
    **named(
        gather_scatter,
        "gather_nd index_fill index_select narrow scatter select_scatter slice_scatter "
        "unsorted_segment_max unsorted_segment_min unsorted_segment_prod unsorted_segment_sum",
    ),
    **named(
        rearrange,
        "diagflat diagonal diagonal_scatter dsplit fliplr flipud hsplit moveaxis movedim "
        "repeat_interleave reverse roll rot90 tensor_split tril triu vsplit",
    ),
    **named(
        masks,
        "count_nonzero fill_diagonal heaviside masked_scatter masked_select nan_to_num nanmean "
        "nansum renorm reverse_sequence",
    ),
    **named(sorting, "argsort argwhere kthvalue msort nonzero sort top_k topk unique"),
    **dict(
        choose=choose,
        contiguous=arrays.identity,
        cross=einsum.cross,
        diag=diag,
        fill=fill,
        fold=convolution.fold,
        index_add=index_add,
        index_put=index_put,
        ndimension=rank_of,
        nelement=arrays.size,
        itemset=itemset,
        new_empty=new_empty,
        new_full=new_full,
        repeat=repeat,
        reshape_as=reshape_as,
        resize=resize,
        scatter_add=gather_scatter.scatter_add_elements,
        scatter_div=gather_scatter.tensor_scatter_div,
        scatter_max=gather_scatter.tensor_scatter_max,
        scatter_min=gather_scatter.tensor_scatter_min,
        scatter_mul=gather_scatter.tensor_scatter_mul,
        scatter_sub=gather_scatter.tensor_scatter_sub,
        searchsorted=searchsorted,
        select=select,
        sum_to_size=sum_to_size,
        take=take,
        tile=tile,
        unfold=unfold,
    ),
}
