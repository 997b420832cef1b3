"""Resizing of images, and rearrangement of channels and space.

Interpolation is a product with a matrix for each axis of space. Its rows hold the weights of a hat
(linear) or a cubic curve around the requested places. It is differentiated like any product, and
nothing is added up element by element.
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Sequence
from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.elementwise import arithmetic
from autodiff_compiler.operators.indexing import indexing
from autodiff_compiler.operators.windows import rearrange
from autodiff_compiler.ops.core.primitive_base import Primitive
from autodiff_compiler.ops.core.shape_queries import dtype_of, known_rank, shape_of, unaliased
from autodiff_compiler.ops.functions import arrays, creation
from autodiff_compiler.ops.neural import pooling

#: The ranks of each mode. Only the modes of the second table take ``align_corners``.
_SAMPLED = {"nearest": (3, 4, 5), "nearest-exact": (3, 4), "area": (3, 4, 5)}
_WEIGHTED = {"linear": (3,), "bilinear": (4,), "trilinear": (5,), "bicubic": (4,)}


def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """Returns an image (N, C, *space) of another size, or of one times a factor (rounded down).

    mode is 'nearest', 'nearest-exact', 'area', 'linear', 'bilinear', 'trilinear' or 'bicubic'. With
    ``align_corners`` the centres of the corner elements stay in place, else their corners do.
    Arguments that contradict each other are a ValueError.
    """
    rank = known_rank(input, "interpolate")
    ranks = {**_SAMPLED, **_WEIGHTED}
    if mode not in ranks:
        raise ValueError(f"For 'interpolate', 'mode' must be in {list(ranks)}, but got {mode!r}.")
    if rank not in ranks[mode]:
        raise ValueError(
            f"For 'interpolate', '{mode}' is for inputs of {ranks[mode]} dimensions, not {rank}."
        )
    if align_corners is not None and mode in _SAMPLED:
        raise ValueError(f"For 'interpolate', 'align_corners' has no meaning with '{mode}'.")
    if (size is None) == (scale_factor is None):
        raise ValueError("For 'interpolate', give one of 'size' and 'scale_factor', not both.")
    if size is not None and recompute_scale_factor:
        raise ValueError("For 'interpolate', 'recompute_scale_factor' needs a 'scale_factor'.")
    sizes = _space(input)
    if size is None:
        factors = _each(scale_factor, rank - 2, "scale_factor")
        size = tuple(math.floor(dim * factor) for dim, factor in zip(sizes, factors))
        if not recompute_scale_factor and rank == 5 and mode != "area":
            return _resized(input, size, mode, bool(align_corners), [1 / f for f in factors])
    size = _each(size, rank - 2, "size")
    if mode == "area":
        pools = (
            pooling.adaptive_avg_pool1d,
            pooling.adaptive_avg_pool2d,
            pooling.adaptive_avg_pool3d,
        )
        return pools[rank - 3](input, size if rank > 3 else size[0])
    return _resized(input, size, mode, bool(align_corners), None)


def _space(x: Any) -> tuple[int, ...]:
    sizes = tuple(dim for dim in (shape_of(x) or ())[2:] if isinstance(dim, int))
    if len(sizes) != known_rank(x, "an image of another size") - 2:
        raise ShapeError(
            "resizing an image needs the size of the input at compile time",
            "give the shape of the input in the signature, such as x=f32[b,3,8,8]",
        )
    return sizes


def _each(given: Any, space: int, what: str) -> tuple[Any, ...]:
    given = given if isinstance(given, (tuple, list)) else (given,) * space
    if len(given) != space or any(item <= 0 for item in given):
        raise ValueError(f"'{what}' must be {space} positive numbers, but got {given}.")
    return tuple(given)


@unaliased
def _resized(
    x: Any, size: Sequence[int], mode: str, align_corners: bool, steps: Sequence[float] | None
) -> Any:
    """Resizes one axis after the other. ``steps`` are distances of neighbours, else from the
    sizes."""
    for axis, (dim, count) in enumerate(zip(_space(x), size), start=2):
        step = dim / count if steps is None else steps[axis - 2]
        if mode.startswith("nearest"):
            offset = 0.0 if mode == "nearest" else 0.5
            x = _nearest(x, axis, dim, count, step, offset)
        elif dim != count or steps is not None:
            # As MindSpore: the one element of a sequence is its first, not its middle one.
            first = mode == "linear" and count == 1
            places = _places(count, dim, step, align_corners or first)
            if mode != "bicubic":
                x = _linear(x, axis, dim, places)
            elif align_corners:
                x = _cubic(x, axis, dim, places, -0.75, 1)
            else:
                x = _cubic(x, axis, dim, places, -0.5, 0)
    return x


def _nearest(x: Any, axis: int, dim: int, count: int, step: float, offset: float) -> Any:
    if count % dim == 0 and step == dim / count:
        return x if count == dim else rearrange.repeat(x, counts=count // dim, axis=axis)
    places = creation.arange(count, dtype="float32")
    return _items_at(
        x, axis, arithmetic.minimum(arithmetic.floor((places + offset) * step), dim - 1)
    )


def _items_at(x: Any, axis: int, places: Any) -> Any:
    at = structure.cast(places, dtype="int64")
    return indexing.index(x, at, index=(*(("slice", None, None, None),) * axis, ("op", 0)))


def _places(count: int, dim: int, step: float, align_corners: bool) -> Any:
    """Returns the positions of the output's elements in the input."""
    numbers = creation.arange(count, dtype="float32")
    if align_corners:
        return numbers * ((dim - 1) / (count - 1) if count > 1 else 0.0)
    return (numbers + 0.5) * step - 0.5


def _distances(places: Any, first: int, stop: int) -> Any:
    """Returns the distance of each place from each number from ``first`` up to ``stop``."""
    numbers = creation.arange(first, stop, dtype="float32")
    return arithmetic.abs(structure.expand_dims(places, axes=(1,)) - numbers)


def _linear(x: Any, axis: int, dim: int, places: Any) -> Any:
    inside = arithmetic.clip(places, 0.0, float(dim - 1))
    weights = arithmetic.maximum(1.0 - _distances(inside, 0, dim), 0.0)
    return _along(x, axis, weights)


def _cubic(x: Any, axis: int, dim: int, places: Any, a: float, margin: int) -> Any:
    """Interpolates from two elements on each side, by Keys' curve of the coefficient a.

    A margin repeats the edges; without one, the weights of elements outside go to the others.
    """
    far = _distances(places, -margin, dim + margin)
    near = ((a + 2.0) * far - (a + 3.0)) * far * far + 1.0
    outer = ((a * far - 5.0 * a) * far + 8.0 * a) * far - 4.0 * a
    weights = arithmetic.where(far <= 1.0, near, arithmetic.where(far < 2.0, outer, 0.0))
    if not margin:
        return _along(x, axis, weights / structure.sum_(weights, axes=(1,), keepdims=True))
    widths = [(0, 0)] * known_rank(x, "interpolate")
    widths[axis] = (margin, margin)
    return _along(rearrange.pad_mirrored(x, widths=tuple(widths), mode="edge"), axis, weights)


def _along(x: Any, axis: int, weights: Any) -> Any:
    """Returns the products of a matrix with the vectors of x along an axis."""
    weights = structure.cast(weights, dtype=dtype_of(x) or "float32")
    after = known_rank(x, "interpolate") - axis - 1
    if after == 0:
        return arrays.matmul(x, structure.swap_last_axes(weights))
    if after == 1:
        return arrays.matmul(weights, x)
    shape = arrays.shape(x)
    flat = arrays.reshape(x, (*shape[: axis + 1], -1))
    return arrays.reshape(arrays.matmul(weights, flat), (*shape[:axis], -1, *shape[axis + 1 :]))


upsample = interpolate


# ---- channels for space


def pixel_shuffle(input: Any, upscale_factor: int) -> Tensor:
    """Rearranges (..., C * r * r, H, W) to (..., C, H * r, W * r)."""
    *lead, channels, height, width = _image(input, "pixel_shuffle")
    if channels % upscale_factor**2:
        raise ShapeError(
            f"pixel_shuffle by {upscale_factor} does not divide {channels} channels",
            f"the number of channels must be a multiple of {upscale_factor**2}",
        )
    r, rank = upscale_factor, len(lead)
    split = arrays.reshape(input, (*lead, channels // r**2, r, r, height, width))
    mixed = structure.transpose(split, perm=(*range(rank + 1), *(rank + k for k in (3, 1, 4, 2))))
    return arrays.reshape(mixed, (*lead, channels // r**2, height * r, width * r))


def pixel_unshuffle(input: Any, downscale_factor: int) -> Tensor:
    """Rearranges (..., C, H * r, W * r) to (..., C * r * r, H, W)."""
    *lead, channels, height, width = _image(input, "pixel_unshuffle")
    r, rank = downscale_factor, len(lead)
    if height % r or width % r:
        raise ShapeError(
            f"pixel_unshuffle by {r} does not divide an image of {height} by {width}",
            f"height and width must be multiples of {r}",
        )
    split = arrays.reshape(input, (*lead, channels, height // r, r, width // r, r))
    mixed = structure.transpose(split, perm=(*range(rank + 1), *(rank + k for k in (2, 4, 1, 3))))
    return arrays.reshape(mixed, (*lead, channels * r**2, height // r, width // r))


def _image(x: Any, what: str) -> list[int]:
    """Returns all sizes of an image; that of the batch may be -1, which a reshape infers."""
    shape = list(shape_of(x) or ())
    known = [dim for dim in shape[1:] if isinstance(dim, int)]
    if len(shape) < 3 or len(known) < len(shape) - 1:
        raise ShapeError(
            f"{what} needs an image of known channels, height and width, not of shape {shape}"
        )
    return [shape[0] if isinstance(shape[0], int) else -1, *known]


def channel_shuffle(x: Any, groups: int) -> Tensor:
    """Interleaves the channels (axis 1) of ``groups`` groups."""
    n, channels, *space = arrays.shape(x)
    if isinstance(channels, int) and channels % groups:
        raise ShapeError(f"channel_shuffle in {groups} groups does not fit {channels} channels")
    split = arrays.reshape(x, (n, groups, channels // groups, *space))
    return arrays.reshape(arrays.swapaxes(split, 1, 2), (n, channels, *space))


# ---- operator classes


class ResizeBilinearV2(Primitive):
    """Images of another size: ``ResizeBilinearV2()(x, (4, 4))``.

    With neither setting, elements are i * height / new height apart, from the first one on.
    """

    def __init__(self, align_corners: bool = False, half_pixel_centers: bool = False):
        super().__init__()
        if align_corners and half_pixel_centers:
            raise ValueError("'align_corners' and 'half_pixel_centers' exclude each other.")
        self.align_corners, self.half_pixel_centers = align_corners, half_pixel_centers

    def __call__(self, image: Any, size: Any) -> Tensor:
        x = image
        for axis, (dim, count) in enumerate(zip(_space(x), _each(size, 2, "size")), start=2):
            if self.align_corners or self.half_pixel_centers:
                places = _places(count, dim, dim / count, self.align_corners)
            else:
                places = creation.arange(count, dtype="float32") * (dim / count)
            x = _linear(x, axis, dim, places)
        return x


class ResizeNearestNeighbor(Primitive):
    """The nearest elements of images: ``ResizeNearestNeighbor((4, 4))(x)``."""

    def __init__(self, size: Any, align_corners: bool = False):
        super().__init__()
        self.size, self.align_corners = _each(size, 2, "size"), align_corners

    def __call__(self, x: Any) -> Tensor:
        if not self.align_corners:
            return _resized(x, self.size, "nearest", False, None)
        for axis, (dim, count) in enumerate(zip(_space(x), self.size), start=2):
            places = _places(count, dim, 1.0, True)
            x = _items_at(x, axis, arithmetic.floor(places + 0.5))
        return x


__all__ = [
    "ResizeBilinearV2",
    "ResizeNearestNeighbor",
    "channel_shuffle",
    "interpolate",
    "pixel_shuffle",
    "pixel_unshuffle",
    "upsample",
]
