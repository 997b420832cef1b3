"""Pooling: the largest or the mean element of each window, one axis of space after the other.

The last axis goes first: then the first of equal elements is the first one in the order of memory,
too. Only where positions are asked for, windows are laid out, along a first axis of their own.
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
from autodiff_compiler.operators.reductions import axis_functions, reduce
from autodiff_compiler.operators.windows import pooling, sliding_windows
from autodiff_compiler.operators.windows.sliding_windows import span
from autodiff_compiler.ops.core.shape_queries import dtype_of, in_dtype, known_rank, unaliased
from autodiff_compiler.ops.functions import arrays, creation
from autodiff_compiler.ops.neural.convolution import Widths, dims, each, padded, widths_of

LOWEST = float("-inf")


def _spatial(x: Any, space: int, what: str) -> tuple[Any, ...]:
    """Returns the sizes of the last axes, the spatial ones."""
    if known_rank(x, what) not in (space + 1, space + 2):
        raise ShapeError(
            f"{what} needs {space + 2} dimensions, but its input has the shape {dims(x)}",
            "the shape is (batch, channels, *space)",
        )
    return dims(x)[-space:]


def pool_widths(
    sizes: Sequence[Any],
    size: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    widths: Widths,
    ceil_mode: bool,
) -> tuple[Widths, bool]:
    """Returns the padding, and whether ``ceil_mode`` lets a last window hang over the end."""
    for (low, high), far in zip(widths, map(span, size, dilation)):
        if 2 * max(low, high) > far:
            raise ValueError(f"padding of {max(low, high)} is more than half of a window of {far}")
    if not ceil_mode:
        return widths, False
    if not all(isinstance(dim, int) for dim in sizes):
        raise ShapeError("ceil_mode needs the size of the image, which is not known")
    more = []
    for dim, step, far, (low, high) in zip(sizes, stride, map(span, size, dilation), widths):
        last = -(-(dim + low + high - far) // step) * step
        last -= step if last >= dim + low else 0
        more.append((low, max(high, last + far - dim - low)))
    return tuple(more), tuple(more) != tuple(widths)


def _windows_first(
    x: Any, size: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Any:
    """Returns the windows of x with their elements along the first axis."""
    view = sliding_windows.windows(
        x, size=tuple(size), stride=tuple(stride), dilation=tuple(dilation)
    )
    rank, space = len(dims(view)), len(size)
    perm = (*range(rank - space, rank), *range(rank - space))
    rows = structure.transpose(view, perm=perm)
    total = 1
    for one in size:
        total *= one
    return arrays.reshape(rows, (total, *arrays.shape(rows)[space:]))


def _along_axes(
    opdef: Any, x: Any, size: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Any:
    """Applies ``opdef``, such as ``pooling.window_max``, along each axis of the windows."""
    for place in range(len(size) - 1, -1, -1):
        if size[place] > 1 or stride[place] > 1:
            x = opdef(
                x,
                axis=place - len(size),
                size=size[place],
                stride=stride[place],
                dilation=dilation[place],
            )
    return x


@unaliased
def max_pool(
    x: Any,
    size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    space: int,
    return_indices: bool = False,
    pad_mode: str = "pad",
) -> Any:
    """Returns the largest element of each window; a tie goes to the first."""
    what = f"max_pool{space}d"
    sizes, size = _spatial(x, space, what), each(size, space, "kernel_size")
    stride = size if stride is None else each(stride, space, "stride")
    dilation = each(dilation, space, "dilation")
    widths = widths_of(pad_mode, padding, sizes, size, stride, dilation)
    widths, _ = pool_widths(sizes, size, stride, dilation, widths, ceil_mode)
    x = padded(x, widths, LOWEST)
    best = _along_axes(pooling.window_max, x, size, stride, dilation)
    if not return_indices:
        return best
    rows = _windows_first(x, size, stride, dilation)
    place = reduce.argmax(rows, axis=0, keepdims=False)
    return best, _flat_places(place, sizes, size, stride, dilation, widths)


def _flat_places(
    place: Any,
    sizes: Sequence[Any],
    size: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    widths: Widths,
) -> Any:
    """Converts positions within windows to positions in the flattened space."""
    space, counts = len(size), dims(place)[-len(size) :]
    flat: Any = 0
    after = 1
    for axis in reversed(range(space)):
        within = place // after % size[axis] if axis else place // after
        after *= size[axis]
        start = creation.arange(0, counts[axis] * stride[axis], stride[axis])
        start = structure.reshape(start, shape=(-1, *(1,) * (space - 1 - axis)))
        here = within * dilation[axis] + start - widths[axis][0]
        step = 1
        for dim in sizes[axis + 1 :]:
            step *= dim
        flat = here * step + flat
    return flat


def avg_pool(
    x: Any,
    size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
    space: int,
    pad_mode: str = "pad",
) -> Any:
    """Returns the mean of each window; padding counts as zeros, or not at all."""
    what = f"avg_pool{space}d"
    sizes, size = _spatial(x, space, what), each(size, space, "kernel_size")
    stride, flat = each(stride or size, space, "stride"), (1,) * space
    given = widths_of(pad_mode, padding, sizes, size, stride, flat)
    widths, hangs_over = pool_widths(sizes, size, stride, flat, given, ceil_mode)
    has_padding = any(width for pair in widths for width in pair)
    if not divisor and not has_padding and tuple(sizes) == size:
        return reduce.mean(x, axes=tuple(range(-space, 0)), keepdims=True)
    if dtype_of(x) in ("float16", "bfloat16"):  # too narrow for the sum of a window
        wide = in_dtype(x, "float32")
        mean = avg_pool(
            wide, size, stride, padding, ceil_mode, count_include_pad, divisor, space, pad_mode
        )
        return in_dtype(mean, dtype_of(x))
    total = _totals(padded(x, widths), size, stride)
    if divisor:
        return total / divisor
    if not has_padding or count_include_pad and not hangs_over:
        return total / math.prod(size)
    counted = given if count_include_pad else None
    return total / _counts(x, sizes, size, stride, counted, widths)


def _totals(x: Any, size: Sequence[int], stride: Sequence[int]) -> Any:
    """Returns the sum of each window."""
    return _along_axes(pooling.window_sum, x, size, stride, (1,) * len(size))


def _counts(
    x: Any,
    sizes: Sequence[Any],
    size: Sequence[int],
    stride: Sequence[int],
    counted: Widths | None,
    widths: Widths,
) -> Any:
    """Returns the number of elements of each window that count."""
    if not all(isinstance(dim, int) for dim in sizes):
        raise ShapeError(
            "avg_pool with count_include_pad=False needs the size of the image at compile time"
        )
    inner = counted or ((0, 0),) * len(size)
    shape = tuple(dim + low + high for dim, (low, high) in zip(sizes, inner))
    ones = creation.ones(shape, dtype_of(x))
    rest = tuple((a - c, b - d) for (a, b), (c, d) in zip(widths, inner))
    return _totals(padded(ones, rest), size, stride)


# ---- MindSpore's names


def max_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
) -> Any:
    """Returns the largest element of each window of an image; a tie goes to the first."""
    return max_pool(x, kernel_size, stride, padding, dilation, ceil_mode, 2, return_indices)


def max_pool3d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Returns the largest element of each window of a volume; a tie goes to the first."""
    return max_pool(x, kernel_size, stride, padding, dilation, ceil_mode, 3, return_indices)


def avg_pool1d(
    input_x: Any,
    kernel_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Returns the mean of each window of a sequence."""
    return avg_pool(input_x, kernel_size, stride, padding, ceil_mode, count_include_pad, None, 1)


def avg_pool2d(
    input_x: Any,
    kernel_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Tensor:
    """Returns the mean of each window of an image."""
    options = (ceil_mode, count_include_pad, divisor_override)
    return avg_pool(input_x, kernel_size, stride, padding, *options, 2)


def avg_pool3d(
    input_x: Any,
    kernel_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Tensor:
    """Returns the mean of each window of a volume."""
    options = (ceil_mode, count_include_pad, divisor_override)
    return avg_pool(input_x, kernel_size, stride, padding, *options, 3)


def _lp_pool(x: Any, p: Any, size: Any, stride: Any, ceil_mode: bool, space: int) -> Any:
    if p <= 0:
        raise ValueError(f"'norm_type' must be positive, but got {p}.")
    sizes, size = _spatial(x, space, f"lp_pool{space}d"), each(size, space, "kernel_size")
    stride = each(stride or size, space, "stride")
    widths, _ = pool_widths(sizes, size, stride, (1,) * space, ((0, 0),) * space, ceil_mode)
    return _totals(padded(x, widths) ** p, size, stride) ** (1.0 / p)


def lp_pool1d(
    x: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """Returns the p-norm of each window of a sequence: (sum of x ** p) ** (1 / p)."""
    return _lp_pool(x, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(
    x: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """Returns the p-norm of each window of an image: (sum of x ** p) ** (1 / p)."""
    return _lp_pool(x, norm_type, kernel_size, stride, ceil_mode, 2)


# ---- as many windows as asked for


def _bins(x: Any, axis: int, count: int, size: int) -> tuple[Any, Any, Any]:
    """Returns the elements of x in ``count`` bins along an axis, which becomes (bins, elements);
    for each bin its elements' positions, and where these end."""
    number = creation.arange(count)
    start = number * size // count
    stop = ((number + 1) * size + (count - 1)) // count
    longest = max(-(-(k + 1) * size // count) - k * size // count for k in range(count))
    offset = creation.arange(longest)
    place = structure.expand_dims(start, axes=(1,)) + offset
    stop = structure.expand_dims(stop, axes=(1,))
    lead = ("slice", None, None, None)
    picked = indexing.index(
        x, arithmetic.minimum(place, size - 1), index=(*(lead,) * axis, ("op", 0))
    )
    return picked, place, stop


def _targets(output_size: Any, sizes: Sequence[Any], what: str) -> tuple[int, ...]:
    wanted = (
        (output_size,) * len(sizes)
        if output_size is None or isinstance(output_size, int)
        else tuple(output_size)
    )
    if len(wanted) != len(sizes) or not all(isinstance(dim, int) for dim in sizes):
        raise ShapeError(f"{what} to {output_size} does not fit an image of size {tuple(sizes)}")
    return tuple(dim if want is None else int(want) for want, dim in zip(wanted, sizes))


def _trailing(x: Any, axis: int) -> tuple[int, ...]:
    return (-1, dims(x)[axis], *(1,) * (known_rank(x, "pooling") - axis - 1))


def _adaptive_avg(x: Any, output_size: Any, space: int) -> Any:
    sizes = _spatial(x, space, f"adaptive_avg_pool{space}d")
    wanted = _targets(output_size, sizes, f"adaptive_avg_pool{space}d")
    if not any(dim % want for dim, want in zip(sizes, wanted)):
        size = tuple(dim // want for dim, want in zip(sizes, wanted))
        return avg_pool(x, size, size, 0, False, True, None, space)
    rank = known_rank(x, "pooling")
    for axis, dim, want in zip(range(rank - 1, -1, -1), reversed(sizes), reversed(wanted)):
        picked, place, stop = _bins(x, axis, want, dim)
        inside = place < stop
        count = structure.sum_(inside, axes=(1,), keepdims=False)
        shape = (*dims(place), *(1,) * (rank - axis - 1))
        inside_values = arithmetic.where(structure.reshape(inside, shape=shape), picked, 0.0)
        total = structure.sum_(inside_values, axes=(axis + 1,), keepdims=False)
        x = total / structure.cast(
            structure.reshape(count, shape=(want, *shape[2:])), dtype=dtype_of(total) or "float32"
        )
    return x


def _adaptive_max(x: Any, output_size: Any, space: int, return_indices: bool = False) -> Any:
    what = f"adaptive_max_pool{space}d"
    sizes = _spatial(x, space, what)
    wanted = _targets(output_size, sizes, what)
    if not any(dim % want for dim, want in zip(sizes, wanted)):
        size = tuple(dim // want for dim, want in zip(sizes, wanted))
        return max_pool(x, size, size, 0, 1, False, space, return_indices)
    rank = known_rank(x, "pooling")
    flat: Any = None
    after = 1
    for axis, dim, want in zip(range(rank - 1, -1, -1), reversed(sizes), reversed(wanted)):
        picked, place, stop = _bins(x, axis, want, dim)
        shape = (*dims(place), *(1,) * (rank - axis - 1))
        inside = structure.reshape(place < stop, shape=shape)
        inside_values = arithmetic.where(inside, picked, LOWEST)
        x = reduce.max(inside_values, axes=(axis + 1,), keepdims=False, first=True)
        if return_indices:
            best = reduce.argmax(inside_values, axis=axis + 1, keepdims=False)
            start = indexing.index(place, index=(("slice", None, None, None), 0))
            here = best + structure.reshape(start, shape=(want, *shape[2:]))
            inner = 0 if flat is None else axis_functions.take_along(flat, here, axis=axis)
            flat = here * after + inner
            after *= dim
    return (x, flat) if return_indices else x


def adaptive_avg_pool1d(input: Any, output_size: Any) -> Tensor:
    """Returns the means of ``output_size`` windows that cover a sequence evenly."""
    return _adaptive_avg(input, output_size, 1)


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Tensor:
    """Returns the means of (rows, columns) windows that cover an image evenly."""
    return _adaptive_avg(input, output_size, 2)


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Tensor:
    """Returns the means of windows that cover a volume evenly."""
    return _adaptive_avg(input, output_size, 3)


def adaptive_max_pool1d(input: Any, output_size: Any) -> Any:
    """Returns the largest elements of windows that cover a sequence evenly."""
    return _adaptive_max(input, output_size, 1)


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Returns the largest elements of windows that cover an image evenly."""
    return _adaptive_max(input, output_size, 2, return_indices)


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "max_pool2d",
    "max_pool3d",
]
