"""Linear operators that repeat or shift elements, or select triangles and diagonals.

``diagonal`` and ``put_diagonal`` are each other's adjoints, as are a mirrored pad and its folding.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType, Dim, Shape, Type
from autodiff_compiler.operators.core.containers import make_tuple
from autodiff_compiler.operators.core.declare import (
    linear,
    normal_axes,
    same_type,
    shape_of_type,
    static_sizes,
)
from autodiff_compiler.operators.core.index_patterns import FULL, subscript
from autodiff_compiler.operators.core.structure import expand_dims, reshape, shape_argument, sum_
from autodiff_compiler.operators.destination_ops import after_write, compute_into, empty
from autodiff_compiler.operators.indexing.concat_and_pad import flip, size_along
from autodiff_compiler.operators.indexing.creation import arange
from autodiff_compiler.operators.indexing.indexing import add_at, index, scatter, zeros_text
from autodiff_compiler.operators.windows.pooling import window_sum

# ---- repeating


def _times(dim: Dim, count: int) -> Dim:
    return dim * count if isinstance(dim, int) else dim if count == 1 else None


def _tile_type(types: Sequence[Type], *, counts: Sequence[int]) -> Type:
    (x,) = types
    assert isinstance(x, ArrayType)
    if x.shape is None:
        return x
    if len(counts) != len(x.shape):
        raise ShapeError(f"{len(counts)} counts of repetition for {len(x.shape)} dimensions")
    return ArrayType(x.dtype, tuple(map(_times, x.shape, counts)))


def _folded(ct: Value, x: Value, counts: Sequence[tuple[int, int]]) -> Any:
    """Sums ``ct`` over repetitions: each axis is (before, size, after), and only size stays."""
    dims: list[Any] = []
    summed_axes: list[int] = []
    for axis, (before, after) in enumerate(counts):
        for count, stays in ((before, False), (size_along(x, (axis,)), True), (after, False)):
            if stays or count != 1:
                summed_axes += [] if stays else [len(dims)]
                dims.append(count)
    known = tuple(dim if isinstance(dim, int) else None for dim in dims)
    operands = () if None not in known else (make_tuple(*dims),)
    return sum_(reshape(ct, *operands, shape=known), axes=tuple(summed_axes), keepdims=False)


def _tile_parts(x: Value, counts: Sequence[int]) -> Any:
    """Copies in an array to fill, with the repetitions along axes of their own."""
    shape = static_sizes(shape_of_type(x.type))
    if shape is None:
        return None
    pairs = [*zip(counts, shape)]
    tiles = empty(shape=tuple(n * dim for n, dim in pairs), dtype=x.dtype_name)
    place = reshape(tiles, shape=tuple(dim for pair in pairs for dim in pair))
    once = expand_dims(x, axes=tuple(range(0, 2 * len(shape), 2)))
    return after_write(compute_into(once, place, text="np.copyto({1}, {0})"), tiles)


tile: OpDef = linear(
    "tile",
    "x repeated as a whole, with a count for each axis.",
    numpy=lambda types, *, counts: (
        "np.tile({x}, " + (str(counts[0]) if len(counts) == 1 else str(tuple(counts))) + ")"
    ),
    result=_tile_type,
    adjoint={"x": lambda ct, x, counts: _folded(ct, x, [(count, 1) for count in counts])},
    decompose=_tile_parts,
    label="{x}_tiled",
)


def _repeat_type(types: Sequence[Type], *, counts: Any, axis: int) -> Type:
    x = types[0]
    assert isinstance(x, ArrayType)
    if x.shape is None:
        return x
    normal_axes(axis, len(x.shape))
    dim = x.shape[axis]
    if counts is None:
        dim = None
    elif isinstance(counts, int):
        dim = _times(dim, counts)
    elif isinstance(dim, int) and len(counts) not in (1, dim):
        raise ShapeError(
            f"{len(counts)} counts of repetition for axis {axis} of size {dim}",
            "give one count, or one for each element of the axis",
        )
    else:
        dim = sum(counts) if len(counts) == dim else None
    return ArrayType(x.dtype, (*x.shape[:axis], dim, *x.shape[axis + 1 :]))


def _gathered_back(ct: Value, x: Value, rest: Sequence[Any], counts: Any, axis: int) -> Any:
    """Adds up what the copies of each element received."""
    if isinstance(counts, int):
        sizes = shape_of_type(x.type) or ()
        rank = len(sizes)
        # A sum of few slices is faster than a reduction; an empty array has none.
        if 1 < counts <= costs().unrolled_window_elements and rank and sizes[axis] != 0:
            return window_sum(ct, axis=axis - rank, size=counts, stride=counts, dilation=1)
        return _folded(ct, x, [(1, counts if other == axis else 1) for other in range(rank)])
    size = size_along(x, (axis,))
    operands, stop = ((size,), ("op", 0)) if isinstance(size, Value) else ((), size)
    places = arange(*operands, bounds=(0, stop, 1), dtype="int64")
    origin = repeat(places, *rest, counts=counts, axis=0)
    shape, more = shape_argument(x)
    return scatter(ct, origin, *more, index=(*(FULL,) * axis, ("op", 0)), shape=shape)


def _repeat_parts(x: Value, rest: Sequence[Value], counts: Any, axis: int) -> Any:
    """Copies in an array to fill, with the repetitions along an axis of their own."""
    shape = shape_of_type(x.type)
    if not isinstance(counts, int) or rest or shape is None or None in shape:
        return None
    assert isinstance(x.type, ArrayType)
    sizes: list[Any] = [*shape]
    sizes[axis] *= counts
    repeated = empty(shape=tuple(sizes), dtype=x.type.dtype)
    if counts == 2 and axis == len(shape) - 1:  # copying pair by pair takes three times as long
        for number in range(2):
            place = index(repeated, index=("...", ("slice", number or None, None, 2)))
            repeated = after_write(compute_into(x, place, text="np.copyto({1}, {0})"), repeated)
        return repeated
    place = reshape(repeated, shape=(*shape[: axis + 1], counts, *shape[axis + 1 :]))
    once = expand_dims(x, axes=(axis + 1,))
    return after_write(compute_into(once, place, text="np.copyto({1}, {0})"), repeated)


repeat: OpDef = linear(
    "repeat",
    "Each element along an axis, repeated. The attribute counts is one count for all elements "
    "or a count for each. It is None if the second operand is an array of counts.",
    operands=("x", "*rest"),
    numpy=lambda types, *, counts, axis: (
        "np.repeat({x}, " + ("{1}" if counts is None else str(counts)) + f", axis={axis})"
    ),
    result=_repeat_type,
    adjoint={"x": _gathered_back, "*rest": lambda: None},
    decompose=_repeat_parts,
    label="{x}_repeated",
)

# ---- shifting, mirroring


def _roll_numpy(types: Sequence[Type], *, shifts: Sequence[int], axes: Sequence[int]) -> str:
    if len(shifts) == 1:
        shape = shape_of_type(types[0]) or ()
        axis = axes[0] % max(len(shape), 1)
        size = shape[axis] if shape else None
        if not isinstance(size, int) or size < 2 or not shifts[0] % size:
            return f"np.roll({{x}}, {shifts[0]}, axis={axes[0]})"
        # Several times as fast as np.roll for small arrays.
        on = shifts[0] % size
        first = -on if 2 * on <= size else size - on
        head, tail = (
            subscript((*(FULL,) * axis, ("slice", *bounds, None)), 1)
            for bounds in ((first, None), (None, first))
        )
        return f"np.concatenate([{{x}}[{head}], {{x}}[{tail}]], axis={axis})"
    return f"np.roll({{x}}, {tuple(shifts)}, axis={tuple(axes)})"


roll: OpDef = linear(
    "roll",
    "x shifted cyclically along axes.",
    numpy=_roll_numpy,
    result=same_type,
    adjoint={"x": lambda ct, shifts, axes: roll(ct, shifts=tuple(-s for s in shifts), axes=axes)},
    label="{x}_rolled",
)


def _mirror_type(types: Sequence[Type], *, widths: Any, mode: str) -> Type:
    (x,) = types
    assert isinstance(x, ArrayType)
    if x.shape is None:
        return x
    if len(widths) != len(x.shape):
        raise ShapeError(f"{len(widths)} pairs of pad widths for {len(x.shape)} dimensions")
    dims: list[Dim] = []
    for axis, (dim, (low, high)) in enumerate(zip(x.shape, widths)):
        if not isinstance(dim, int):
            dims.append(dim if (low, high) == (0, 0) else None)
            continue
        most = dim - 1 if mode == "reflect" else dim
        if max(low, high) > most and (mode != "edge" or not dim):
            raise ShapeError(
                f"axis {axis} of size {dim} is too short for a {mode} pad of ({low}, {high})",
                f"pad by at most {most}, or pad twice",
            )
        dims.append(dim + low + high)
    return ArrayType(x.dtype, tuple(dims))


def _part(axis: int, start: int | None, stop: int | None) -> tuple[Any, ...]:
    return (*(FULL,) * axis, ("slice", start or None, stop or None, None))


def _fold_back(ct: Value, widths: Sequence[tuple[int, int]], mode: str) -> Value:
    """Adds the borders of ``ct`` to the elements that they are copies of."""
    for axis, (low, high) in enumerate(widths):
        if (low, high) == (0, 0):
            continue
        inner = index(ct, index=_part(axis, low, -high))
        copied = {
            "edge": ((0, 1), (-1, 0)),
            "reflect": ((1, low + 1), (-high - 1, -1)),
            "symmetric": ((0, low), (-high, 0)),
            "wrap": ((-low, 0), (0, high)),
        }[mode]
        borders = (0, low), (-high, 0)
        for width, border, place in zip((low, high), borders, copied):
            if not width:
                continue
            part = index(ct, index=_part(axis, *border))
            if mode == "edge":
                part = sum_(part, axes=(axis,), keepdims=True)
            elif mode != "wrap":
                part = flip(part, axes=(axis,))
            inner = add_at(inner, part, index=_part(axis, *place))
        ct = inner
    return ct


pad_mirrored = linear(
    "pad_mirrored",
    "x padded with (before, after) copies of its own elements on each axis: mode 'reflect', "
    "'symmetric', 'edge' or 'wrap', as in np.pad.",
    numpy=lambda types, *, widths, mode: (
        f"np.pad({{x}}, {tuple(map(tuple, widths))}, mode={mode!r})"
    ),
    result=_mirror_type,
    adjoint={"x": lambda ct, widths, mode: _fold_back(ct, widths, mode)},
    label="{x}_padded",
)

# ---- triangles and diagonals


def _matrix(types: Sequence[Type], **attrs: Any) -> Type:
    (x,) = types
    shape = shape_of_type(x)
    if shape is not None and len(shape) < 2:
        raise ShapeError(f"a matrix is needed here, not a tensor of shape {shape}")
    return x


def _triangle(name: str, doc: str) -> OpDef:
    operator: OpDef = linear(
        name,
        doc,
        numpy=lambda types, *, offset: f"np.{name}({{x}}" + (f", {offset})" if offset else ")"),
        result=_matrix,
        adjoint={"x": lambda ct, offset: operator(ct, offset=offset)},
        label=f"{{x}}_{name}",
    )
    return operator


tril = _triangle("tril", "The lower triangle of each matrix; zero above diagonal number offset.")
triu = _triangle("triu", "The upper triangle of each matrix; zero below diagonal number offset.")


def _diagonal_type(types: Sequence[Type], *, offset: int) -> Type:
    x = _matrix(types)
    assert isinstance(x, ArrayType)
    if x.shape is None:
        return x
    *lead, rows, columns = x.shape
    size: Dim = rows if rows == columns and not offset else None
    if isinstance(rows, int) and isinstance(columns, int):
        size = max(0, min(rows, columns - offset) if offset > 0 else min(rows + offset, columns))
    return ArrayType(x.dtype, (*lead, size))


def _diagonal_numpy(types: Sequence[Type], *, offset: int) -> str:
    shift = f", {offset}" if offset else ""
    axes = "" if len(shape_of_type(types[0]) or ()) == 2 else ", axis1=-2, axis2=-1"
    return f"np.diagonal({{x}}{shift}{axes})"


def _put_back(ct: Value, x: Value, offset: int) -> Value:
    shape, more = shape_argument(x)
    return put_diagonal(ct, *more, shape=shape, offset=offset)


diagonal = linear(
    "diagonal",
    "Diagonal number offset of each matrix, which the last two axes hold.",
    numpy=_diagonal_numpy,
    result=_diagonal_type,
    adjoint={"x": _put_back},
    label="{x}_diagonal",
    views=("x",),
)


def _put_diagonal_numpy(types: Sequence[Type], *, shape: Shape, offset: int) -> str:
    have = shape_of_type(types[0])
    size = have[-1] if have and isinstance(have[-1], int) else "{v}.shape[-1]"
    rows, columns = (f"np.arange({size})" + (f" + {k}" if k > 0 else "") for k in (-offset, offset))
    lead = "..., " if have is None or len(have) > 1 else ""
    return f"{zeros_text(types, shape, 1)}\n{{out}}[{lead}{rows}, {columns}] = {{v}}"


put_diagonal: OpDef = linear(
    "put_diagonal",
    "Matrices of zeros with v on diagonal number offset. The shape is an attribute, or the "
    "last operand if it is unknown at compile time.",
    operands=("v", "*rest"),
    numpy=_put_diagonal_numpy,
    result=lambda types, *, shape, offset: ArrayType(types[0].dtype, shape),
    adjoint={"v": lambda ct, offset: diagonal(ct, offset=offset), "*rest": lambda: None},
    label="{v}_on_diagonal",
)
