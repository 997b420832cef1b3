"""Sampling of images at a grid: ``affine_grid`` computes places, ``grid_sample`` reads there.

Places are in [-1, 1] along each axis of space, the last axis of space first. Formulas: M. Jaderberg
et al., "Spatial Transformer Networks" (2015), sections 3.2 and 3.3.
"""

from __future__ import annotations

__macro__ = True

import itertools
from collections.abc import Sequence
from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.core.index_patterns import FULL
from autodiff_compiler.operators.elementwise import arithmetic, comparisons
from autodiff_compiler.operators.indexing import indexing
from autodiff_compiler.ops.core.primitive_base import Primitive, primitive
from autodiff_compiler.ops.core.shape_queries import dtype_of, known_rank, known_sizes, setting
from autodiff_compiler.ops.functions import arrays, creation


def _part(x: Any, *index: Any) -> Any:
    return indexing.index(x, index=("...", *index))


def affine_grid(theta: Any, size: Any, align_corners: bool = False) -> Tensor:
    """Returns the places (N, *space, d) to which the affine maps theta (N, d, d + 1) move an image
    of ``size`` (N, C, *space); d = 2 or 3.

    With ``align_corners`` -1 and 1 are the centres of the outermost elements, else their outer
    edges.
    """
    space = tuple(int(n) for n in setting(size)[2:])
    count = len(space)
    if count not in (2, 3) or known_rank(theta, "affine_grid") != 3:
        raise ShapeError(
            "affine_grid takes theta of shape (N, 2, 3) and a size of 4 numbers, or (N, 3, 4) and 5"
        )
    lead = (FULL, *(None,) * count, FULL)
    total = indexing.index(theta, index=(*lead, count))
    for axis, length in enumerate(space):
        places = _evenly(length, align_corners, dtype_of(theta))
        places = arrays.reshape(places, (-1, *(1,) * (count - axis)))
        total = total + places * indexing.index(theta, index=(*lead, count - 1 - axis))
    return total


def _evenly(length: int, align_corners: bool, dtype: Any) -> Any:
    """Returns ``length`` places in [-1, 1]: with both ends, or the centres of equal pieces."""
    pieces = max(length - 1, 1) if align_corners else length
    return (creation.arange(length, dtype=dtype or "float32") * 2.0 - (length - 1.0)) / pieces


def grid_sample(
    input: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = False,
) -> Tensor:
    """Returns the values of images (N, C, *space) at the places (N, *out, d): (N, C, *out), d = 2
    or 3.

    mode            'bilinear' (between the 2 ** d neighbours) or 'nearest' (no gradient for grid).
    padding_mode    outside the image: 'zeros', 'border' (the nearest inside) or 'reflection'.
    align_corners   what -1 and 1 are; see ``affine_grid``.
    """
    count = known_rank(input, "grid_sample") - 2
    if count not in (2, 3) or known_rank(grid, "grid_sample") != count + 2:
        raise ShapeError(
            "grid_sample takes images and grids that both have 4 dimensions, or both 5"
        )
    if mode not in ("bilinear", "nearest"):
        raise ValueError(f"the mode of grid_sample must be 'bilinear' or 'nearest', not {mode!r}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"the padding_mode must be 'zeros', 'border' or 'reflection', not {padding_mode!r}"
        )
    space = known_sizes(input, "grid_sample")[2:]
    places = [
        _inside(
            _unscaled(_part(grid, count - 1 - axis), length, bool(align_corners)),
            length,
            padding_mode,
            bool(align_corners),
        )
        for axis, length in enumerate(space)
    ]
    last = structure.transpose(input, perm=(0, *range(2, count + 2), 1))  # channels
    batch = arrays.reshape(creation.arange(arrays.shape(input)[0]), (-1, *(1,) * count))
    if mode == "nearest":
        total = _read(last, batch, [arithmetic.round(place) for place in places], space)
    else:
        total = _between(last, batch, places, space)
    return structure.transpose(total, perm=(0, count + 1, *range(1, count + 1)))


def _unscaled(x: Any, length: int, align_corners: bool) -> Any:
    """Converts places in [-1, 1] to positions: 0 for the first element and length - 1 for the
    last."""
    if align_corners:
        return (x + 1.0) * (0.5 * (length - 1))
    return (x + 1.0) * (0.5 * length) - 0.5


def _inside(x: Any, length: int, padding_mode: str, align_corners: bool) -> Any:
    if padding_mode == "zeros":
        return x
    if padding_mode == "reflection":
        x = _reflected(x, 0.0 if align_corners else -0.5, length - (1.0 if align_corners else 0.0))
    return arithmetic.clip(x, 0.0, length - 1.0)


def _reflected(x: Any, low: float, span: float) -> Any:
    """Reflects x into [low, low + span]."""
    if span == 0:
        return x * 0.0
    away = arithmetic.mod(x - low, 2.0 * span)
    return low + span - arithmetic.abs(away - span)


def _between(last: Any, batch: Any, places: Sequence[Any], space: Sequence[int]) -> Any:
    """Returns the sum of the corners around each place, weighted by how near they are."""
    floors = [arithmetic.floor(place) for place in places]
    parts = [place - floor for place, floor in zip(places, floors)]
    total = None
    for corner in itertools.product((0, 1), repeat=len(places)):
        weight: Any = 1.0
        for side, part in zip(corner, parts):
            near = part if side else 1.0 - part
            weight = near if isinstance(weight, float) else weight * near
        at = [floor + 1.0 if side else floor for side, floor in zip(corner, floors)]
        term = arrays.expand_dims(weight, -1) * _read(last, batch, at, space)
        total = term if total is None else total + term
    return total


def _read(last: Any, batch: Any, at: Sequence[Any], space: Sequence[int]) -> Any:
    """Returns the rows of channels at whole positions; zeros outside of the image."""
    inside: Any = None
    places = []
    for position, length in zip(at, space):
        here = comparisons.logical_and(position >= 0.0, position <= length - 1.0)
        inside = here if inside is None else comparisons.logical_and(inside, here)
        places.append(structure.cast(arithmetic.clip(position, 0.0, length - 1.0), dtype="int64"))
    index = tuple(("op", k) for k in range(len(places) + 1))
    rows = indexing.index(last, batch, *places, index=index)
    return arithmetic.where(arrays.expand_dims(inside, -1), rows, 0.0)


AffineGrid = primitive("AffineGrid", affine_grid, align_corners=False)


class GridSampler2D(Primitive):
    """``grid_sample`` of images (N, C, H, W)."""

    def __init__(
        self,
        interpolation_mode: str = "bilinear",
        padding_mode: str = "zeros",
        align_corners: bool = False,
    ):
        super().__init__()
        self.interpolation_mode, self.padding_mode = interpolation_mode, padding_mode
        self.align_corners = align_corners

    def __call__(self, input_x: Any, grid: Any) -> Tensor:
        settings = (self.interpolation_mode, self.padding_mode, self.align_corners)
        return grid_sample(input_x, grid, *settings)


class GridSampler3D(GridSampler2D):
    """``grid_sample`` of volumes (N, C, D, H, W)."""


__all__ = ["AffineGrid", "GridSampler2D", "GridSampler3D", "affine_grid", "grid_sample"]
