"""Repeating, shifting, padding, splitting and stacking; triangles, diagonals and grids."""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from operator import index
from typing import Any

from autodiff_compiler.common.tensor import Tensor, wrap
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.operators.core.index_patterns import FULL
from autodiff_compiler.operators.indexing import concat_and_pad, indexing
from autodiff_compiler.operators.indexing import creation as creation_operators
from autodiff_compiler.operators.windows import rearrange
from autodiff_compiler.ops.core.argument_aliases import also
from autodiff_compiler.ops.core.shape_queries import (
    axis_of,
    in_dtype,
    known_rank,
    known_sizes,
    rank_of,
    setting,
    shape_and_operands,
    shape_of,
    unaliased,
)
from autodiff_compiler.ops.functions import arrays, creation, reductions


def _ints(given: Any) -> tuple[int, ...]:
    given = setting(given)
    return (int(given),) if isinstance(given, int) else tuple(index(item) for item in given)


# ---- repeating and shifting


@unaliased
def tile(input: Any, dims: Any) -> Tensor:
    """Returns the input repeated as a whole, ``dims[k]`` times along axis k."""
    counts, rank = _ints(dims), known_rank(input, "tile")
    if len(counts) > rank:
        input = arrays.expand_dims(input, tuple(range(len(counts) - rank)))
    counts = (1,) * (rank - len(counts)) + counts
    return rearrange.tile(input, counts=counts) if any(count != 1 for count in counts) else input


def repeat_interleave(input: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Repeats each element along an axis (None: of all in one row)."""
    if axis is None:
        input, axis = arrays.ravel(input), 0
    axis = axis_of(axis, known_rank(input, "repeat_interleave"))
    if hasattr(repeats, "__apply_operator__"):
        return rearrange.repeat(input, repeats, counts=None, axis=axis)
    counts = _ints(repeats)
    return rearrange.repeat(input, counts=counts[0] if len(counts) == 1 else counts, axis=axis)


def roll(input: Any, shifts: Any, dims: Any = None) -> Tensor:
    """Returns the elements shifted along axes (None: all in one row); what leaves enters again."""
    if dims is None:
        flat = rearrange.roll(arrays.ravel(input), shifts=_ints(shifts), axes=(0,))
        return arrays.reshape(flat, arrays.shape(input))
    axes = tuple(axis_of(axis, rank_of(input)) for axis in _ints(dims))
    steps = _ints(shifts)
    if len(steps) != len(axes):
        raise ShapeError(
            f"{len(steps)} shifts for {len(axes)} axes", "give one shift for each axis"
        )
    return rearrange.roll(input, shifts=steps, axes=axes)


def reverse(x: Any, axis: Any) -> Tensor:
    """Returns the elements in reverse order along axes."""
    return reductions.flip(x, axis)


def fliplr(input: Any) -> Tensor:
    """Returns the second axis in reverse order."""
    return reductions.flip(input, (1,))


def flipud(input: Any) -> Tensor:
    """Returns the first axis in reverse order."""
    return reductions.flip(input, (0,))


def rot90(input: Any, k: int, dims: Sequence[int]) -> Tensor:
    """Rotates the plane of two axes by k quarters, from the first axis towards the second."""
    first, second = dims
    if k % 4 == 0:
        return input
    if k % 4 == 2:
        return reductions.flip(input, (first, second))
    flipped = reductions.flip(input, (second if k % 4 == 1 else first,))
    return arrays.swapaxes(flipped, first, second)


def moveaxis(x: Any, source: Any, destination: Any) -> Tensor:
    """Moves axes to other places; the others stay in their order."""
    rank = known_rank(x, "moveaxis")
    source = [axis_of(axis, rank) for axis in _ints(source)]
    destination = [axis_of(axis, rank) for axis in _ints(destination)]
    order = [axis for axis in range(rank) if axis not in source]
    for place, axis in sorted(zip(destination, source)):
        order.insert(place, axis)
    return arrays.transpose(x, order)


# ---- padding

_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap", "symmetric": "symmetric"}


def pad(input_x: Any, padding: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """Adds elements before and after the last axes; ``padding`` holds a pair for each, last axis
    first.

    mode is 'constant' (value, 0 by default), 'reflect', 'replicate' or 'circular'. With 'constant'
    a negative width cuts off.
    """
    flat, rank = _ints(padding), known_rank(input_x, "pad")
    if len(flat) % 2 or len(flat) > 2 * rank:
        raise ShapeError(
            f"a padding of {len(flat)} numbers for {rank} dimensions",
            "give a pair (before, after) for each padded axis, the last axis first",
        )
    pairs = [(flat[k], flat[k + 1]) for k in range(0, len(flat), 2)]
    widths = ((0, 0),) * (rank - len(pairs)) + tuple(reversed(pairs))
    if mode != "constant":
        if mode not in _MODES:
            raise ValueError(
                f"mode must be 'constant', {', '.join(map(repr, _MODES))}, not {mode!r}"
            )
        return rearrange.pad_mirrored(input_x, widths=widths, mode=_MODES[mode])
    return pad_by(input_x, widths, 0 if value is None else value)


def mirror(x: Any, widths: Any, mode: str) -> Any:
    """Pads each axis with copies of the tensor's own elements; ``widths`` holds a pair for each
    axis."""
    return rearrange.pad_mirrored(x, widths=tuple(map(tuple, setting(widths))), mode=mode)


@unaliased
def pad_by(x: Any, paddings: Any, value: Any = 0) -> Any:
    """Returns the widths as a pair (before, after) for each axis, in order; a negative width
    crops."""
    if any(min(pair) < 0 for pair in paddings):
        cuts = ((max(-low, 0) or None, min(high, 0) or None) for low, high in paddings)
        x = indexing.index(x, index=tuple(("slice", *cut, None) for cut in cuts))
    grown = tuple((max(low, 0), max(high, 0)) for low, high in paddings)
    value = value.item() if hasattr(value, "item") else value
    return concat_and_pad.pad(x, widths=grown, value=value) if any(map(any, grown)) else x


# ---- triangles and diagonals


def tril(input: Any, diagonal: int = 0) -> Tensor:
    """Returns the lower triangle of each matrix, zero elsewhere."""
    return rearrange.tril(input, offset=int(diagonal))


def triu(input: Any, diagonal: int = 0) -> Tensor:
    """Returns the upper triangle of each matrix, zero elsewhere."""
    return rearrange.triu(input, offset=int(diagonal))


def matrix_band_part(x: Any, lower: int, upper: int) -> Tensor:
    """Keeps ``lower`` diagonals below and ``upper`` above the main one (negative: all of them)."""
    x = x if upper < 0 else rearrange.tril(x, offset=int(upper))
    return x if lower < 0 else rearrange.triu(x, offset=-int(lower))


def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Returns the diagonal of the plane of two axes, as the last axis."""
    rank = known_rank(input, "diagonal")
    dim1, dim2 = axis_of(dim1, rank), axis_of(dim2, rank)
    order = (*(axis for axis in range(rank) if axis not in (dim1, dim2)), dim1, dim2)
    if order != tuple(range(rank)):
        input = arrays.transpose(input, order)
    return rearrange.diagonal(input, offset=int(offset))


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Returns the input with the diagonal of the plane of two axes replaced."""
    rank = known_rank(input, "diagonal_scatter")
    planes, last = (axis_of(dim1, rank), axis_of(dim2, rank)), (rank - 2, rank - 1)
    moved = moveaxis_if_needed(input, planes, last)
    rows, columns = known_sizes(moved, "diagonal_scatter")[-2:]
    count = min(rows, columns - offset) if offset > 0 else min(rows + offset, columns)
    low, right = max(-offset, 0), max(offset, 0)
    places = (creation.arange(low, low + count), creation.arange(right, right + count))
    index = ("...", ("op", 0), ("op", 1))
    return moveaxis_if_needed(indexing.set_item(moved, src, *places, index=index), last, planes)


def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Returns matrices, in the plane of two new axes, with the rows of the input on a diagonal."""
    rank = known_rank(input, "diag_embed") + 1
    sizes = arrays.shape(input)
    side = sizes[-1] + abs(offset)
    known, operands = shape_and_operands((*sizes[:-1], side, side))
    out = rearrange.put_diagonal(input, *operands, shape=known, offset=int(offset))
    return moveaxis_if_needed(out, (rank - 2, rank - 1), (axis_of(dim1, rank), axis_of(dim2, rank)))


def moveaxis_if_needed(x: Any, source: tuple[int, ...], destination: tuple[int, ...]) -> Any:
    """Moves axes; returns the input itself where every axis is at its place."""
    return x if source == destination else moveaxis(x, source, destination)


def diagflat(input: Any, offset: int = 0) -> Tensor:
    """Returns a matrix with all elements of the input on a diagonal."""
    return diag_embed(arrays.ravel(input) if rank_of(input) != 1 else input, offset)


def diag(input: Any) -> Tensor:
    """Returns a matrix with a vector on its diagonal; of a tensor of k axes, a tensor of 2 k
    axes."""
    if rank_of(input) == 1:
        return diag_embed(input)
    sizes = arrays.shape(input)
    return arrays.reshape(diagflat(input), (*sizes, *sizes))


def block_diag(*inputs: Any) -> Tensor:
    """Returns the matrices one after another along the diagonal."""
    matrices = [atleast_2d(x) for x in inputs]
    widths = [known_sizes(x, "block_diag")[1] for x in matrices]
    rows = [
        pad_by(x, ((0, 0), (sum(widths[:k]), sum(widths[k + 1 :])))) for k, x in enumerate(matrices)
    ]
    return arrays.concat(rows, 0)


# ---- joining and splitting


def atleast_1d(inputs: Any) -> Any:
    """Returns the input with at least one axis; containers item by item."""
    return _at_least(inputs, 1)


def atleast_2d(inputs: Any) -> Any:
    """Returns the input with at least two axes, new ones in front; containers item by item."""
    return _at_least(inputs, 2)


def _at_least(x: Any, rank: int) -> Any:
    if isinstance(x, (tuple, list)):
        return tuple(_at_least(item, rank) for item in x)
    have = known_rank(x, f"atleast_{rank}d")
    return x if have >= rank else arrays.expand_dims(x, tuple(range(rank - have)))


def atleast_3d(inputs: Any) -> Any:
    """Returns the input with at least three axes: a row becomes (1, n, 1), a matrix (m, n, 1)."""
    if isinstance(inputs, (tuple, list)):
        return tuple(atleast_3d(item) for item in inputs)
    rank = known_rank(inputs, "atleast_3d")
    axes = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}.get(rank, ())
    return arrays.expand_dims(inputs, axes) if axes else inputs


@also(tensors="inputs")
def vstack(inputs: Sequence[Any]) -> Tensor:
    """Joins tensors one below the other: along the first axis."""
    return arrays.concat([atleast_2d(x) for x in inputs], 0)


def hstack(tensors: Sequence[Any]) -> Tensor:
    """Joins tensors side by side: along the second axis, or the only one."""
    tensors = [atleast_1d(x) for x in tensors]
    return arrays.concat(tensors, 0 if rank_of(tensors[0]) == 1 else 1)


@also(tensors="inputs")
def dstack(inputs: Sequence[Any]) -> Tensor:
    """Joins tensors one behind the other: along the third axis."""
    return arrays.concat([atleast_3d(x) for x in inputs], 2)


def column_stack(tensors: Sequence[Any]) -> Tensor:
    """Joins tensors side by side; rows become columns."""
    ranks = [known_rank(x, "column_stack") for x in tensors]
    columns = [x if rank > 1 else arrays.reshape(x, (-1, 1)) for x, rank in zip(tensors, ranks)]
    return arrays.concat(columns, 1)


row_stack = vstack


def tensor_split(input: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """Splits a tensor into a number of pieces, the first ones longer by one, or at given
    positions."""
    axis = axis_of(axis, known_rank(input, "tensor_split"))
    if isinstance(indices_or_sections, int):
        shape = shape_of(input)
        size = None if shape is None else shape[axis]
        if not isinstance(size, int):
            raise ShapeError(
                f"tensor_split needs the size of axis {axis} at compile time",
                "give the size as a number in the signature, such as x=f32[6,3]",
            )
        small, longer = divmod(size, indices_or_sections)
        ends = [(k + 1) * small + min(k + 1, longer) for k in range(indices_or_sections - 1)]
    else:
        ends = list(_ints(indices_or_sections))
    bounds = zip([None, *ends], [*ends, None])
    return tuple(
        indexing.index(input, index=(*(FULL,) * axis, ("slice", start or None, stop, None)))
        for start, stop in bounds
    )


def hsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Splits a tensor along the second axis, or the only one."""
    return tensor_split(input, indices_or_sections, 0 if rank_of(input) == 1 else 1)


def vsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Splits a tensor along the first axis."""
    return tensor_split(input, indices_or_sections, 0)


def dsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Splits a tensor along the third axis."""
    return tensor_split(input, indices_or_sections, 2)


def meshgrid(*inputs: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Broadcasts each row over the grid that all of them span; 'xy' swaps the first two axes."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing must be 'xy' or 'ij', not {indexing!r}")
    places = list(range(len(inputs)))
    if indexing == "xy" and len(inputs) > 1:
        places[0], places[1] = 1, 0
    sizes: list[Any] = [None] * len(inputs)
    for place, x in zip(places, inputs):
        sizes[place] = arrays.size(x)
    rows = (
        arrays.reshape(x, (*(1,) * place, -1, *(1,) * (len(inputs) - 1 - place)))
        for place, x in zip(places, inputs)
    )
    return tuple(arrays.broadcast_to(row, tuple(sizes)) for row in rows)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None) -> Tensor:
    """Returns the rows and the columns of the elements on and below a diagonal."""
    return _triangle_indices("tril", row, col, offset, dtype)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None) -> Tensor:
    """Returns the rows and the columns of the elements on and above a diagonal."""
    return _triangle_indices("triu", row, col, offset, dtype)


def _triangle_indices(name: str, row: int, col: int, offset: int, dtype: Any) -> Any:
    places = wrap(creation_operators.triangle_indices(name=name, rows=row, columns=col, k=offset))
    return in_dtype(places, dtype)


movedim = moveaxis
swapdims = also(dim0="axis0", dim1="axis1")(arrays.swapaxes)

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "column_stack",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "dsplit",
    "dstack",
    "fliplr",
    "flipud",
    "hsplit",
    "hstack",
    "matrix_band_part",
    "meshgrid",
    "moveaxis",
    "movedim",
    "pad",
    "repeat_interleave",
    "roll",
    "rot90",
    "row_stack",
    "swapdims",
    "tensor_split",
    "tile",
    "tril",
    "tril_indices",
    "triu",
    "triu_indices",
    "vsplit",
    "vstack",
]
