"""Convolutions, their transposes, and patches of images, as products over sliding windows.

Images are (batch, channels, *space); a kernel is (channels out, channels in / groups, *size). The
code serves one, two and three dimensions of space.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.labels import named
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.indexing import concat_and_pad, indexing
from autodiff_compiler.operators.windows import depthwise, sliding_windows
from autodiff_compiler.operators.windows.sliding_windows import span
from autodiff_compiler.ops.core.one_kernel import as_one_kernel
from autodiff_compiler.ops.core.shape_queries import (
    dtype_of,
    known_rank,
    setting,
    shape_and_operands,
    shape_of,
)
from autodiff_compiler.ops.functions import arrays

Widths = tuple[tuple[int, int], ...]


def dims(x: Any) -> tuple[Any, ...]:
    """Returns the sizes of x, whose rank is known: ints as far as they are."""
    return shape_of(x) or ()


def each(given: Any, space: int, what: str) -> tuple[int, ...]:
    """Returns an int for each spatial dimension, from an int or the last ``space`` items of a
    sequence.

    >>> each(2, 2, "stride"), each((1, 1, 2, 3), 2, "stride")
    ((2, 2), (2, 3))
    """
    given = setting(given)
    if isinstance(given, int):
        return (given,) * space
    sizes = tuple(int(item) for item in given)
    if len(sizes) == 1:
        return sizes * space
    if len(sizes) not in (space, space + 2):
        raise ValueError(f"'{what}' must be an int or {space} ints, but got {given}.")
    return sizes[-space:]


def sides(padding: Any, space: int) -> Widths:
    """Returns (before, after) for each spatial dimension.

    >>> sides(1, 2), sides((0, 1), 2), sides((0, 1, 2, 3), 2)
    (((1, 1), (1, 1)), ((0, 0), (1, 1)), ((0, 1), (2, 3)))
    """
    if not isinstance(padding, int) and len(padding) == 2 * space:
        widths = tuple((int(padding[2 * k]), int(padding[2 * k + 1])) for k in range(space))
    else:
        widths = tuple((width, width) for width in each(padding, space, "padding"))
    if any(min(pair) < 0 for pair in widths):
        raise ValueError(f"'padding' must not be negative, but got {padding}.")
    return widths


def centred(total: int) -> tuple[int, int]:
    """Splits a total of padding in half; an odd one goes to the end."""
    total = max(total, 0)
    return total // 2, total - total // 2


def widths_of(
    pad_mode: str,
    padding: Any,
    sizes: Sequence[Any],
    size: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> Widths:
    """Returns the padding of a pad mode: 'valid' has none, 'same' makes ceil(size / stride)
    results."""
    mode = pad_mode.lower()
    if mode == "pad":
        return sides(padding, len(size))
    if any(width for pair in sides(padding, len(size)) for width in pair):
        raise ValueError(f"'padding' must be 0 when 'pad_mode' is '{pad_mode}', not {padding}.")
    if mode == "valid":
        return ((0, 0),) * len(size)
    if mode != "same":
        raise ValueError(f"'pad_mode' must be 'pad', 'same' or 'valid', but got {pad_mode!r}.")
    if not all(isinstance(dim, int) for dim in sizes):
        raise ShapeError(
            "pad_mode 'same' needs the size of the image, which is not known",
            "give the shape of the input as numbers in the signature, or give the "
            "padding as numbers",
        )
    reach = map(span, size, dilation)
    return tuple(
        centred((-(-dim // step) - 1) * step + far - dim)
        for dim, step, far in zip(sizes, stride, reach)
    )


def padded(x: Any, widths: Widths, value: float = 0) -> Any:
    """Pads x around its last axes."""
    if not any(width for pair in widths for width in pair):
        return x
    lead = known_rank(x, "padding") - len(widths)
    return concat_and_pad.pad(x, widths=((0, 0),) * lead + tuple(widths), value=value)


def cropped(x: Any, start: Sequence[int], sizes: Sequence[int]) -> Any:
    """Returns a box of the last axes of x."""
    have = dims(x)[-len(sizes) :]
    if not any(start) and tuple(sizes) == tuple(have):
        return x
    box = [("slice", low or None, low + size, None) for low, size in zip(start, sizes)]
    return indexing.index(x, index=("...", *box))


def check_format(data_format: str) -> None:
    """Refuses layouts with the channels last."""
    if data_format not in ("NCHW", "NCDHW", "NCL"):
        raise ValueError(
            f"'data_format' {data_format!r} is not supported; transpose the channels to axis 1."
        )


def _checked(x: Any, weight: Any, space: int, what: str) -> tuple[Any, ...]:
    """Returns the shapes of image and kernel."""
    for name, given in (("input", x), ("weight", weight)):
        if known_rank(given, what) != space + 2:
            raise ShapeError(
                f"{what} needs {space + 2} dimensions, but its {name} has the shape "
                f"{shape_of(given)}",
                "the shape is (batch, channels, *space); use expand_dims for a single image",
            )
    return dims(x), dims(weight)


def _check_channels(have: Sequence[Any], kernel: Sequence[Any], channels: Any, what: str) -> None:
    if isinstance(have[1], int) and isinstance(channels, int) and have[1] != channels:
        raise ShapeError(
            f"{what}: the input has {have[1]} channels, the weight of shape {kernel} is for "
            f"{channels}"
        )


def _with_bias(x: Any, bias: Any, space: int) -> Any:
    return x if bias is None else x + arrays.reshape(bias, (-1, *(1,) * space))


def _swap_first(x: Any) -> Any:
    """Returns the first two axes exchanged: channels and batch."""
    return structure.transpose(x, perm=(1, 0, *range(2, known_rank(x, "a convolution"))))


def _convolve(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    pad_mode: str,
    padding: Any,
    dilation: Any,
    groups: int,
    space: int,
) -> Any:
    what = f"conv{space}d"
    have, kernel = _checked(x, weight, space, what)
    _check_channels(have, kernel, kernel[1] * groups, what)
    if kernel[0] % groups:
        raise ShapeError(
            f"{what}: {kernel[0]} output channels cannot be divided into {groups} equal groups",
            "make the number of output channels a multiple of the number of groups",
        )
    size = kernel[2:]
    stride, dilation = each(stride, space, "stride"), each(dilation, space, "dilation")
    x = padded(x, widths_of(pad_mode, padding, have[2:], size, stride, dilation))
    if groups > 1 and groups == kernel[0] and kernel[1] == 1:
        taps, narrow = arrays.reshape(weight, (groups, *size)), dtype_of(x)
        wide = narrow in ("float16", "bfloat16")  # for a sum over taps, and those of its gradient
        if wide:
            x, taps = structure.cast(x, dtype="float32"), structure.cast(taps, dtype="float32")
        out = depthwise.depthwise(x, taps, size=size, stride=stride, dilation=dilation)
        out = structure.cast(out, dtype=narrow) if wide else out
        return _with_bias(out, bias, space)
    view = sliding_windows.windows(x, size=size, stride=stride, dilation=dilation)
    inner = (1, *range(2 + space, 2 + 2 * space))
    count = dims(view)[2 : 2 + space]
    if groups == 1 and None in count:
        out = sliding_windows.tensordot(weight, view, axes=(tuple(range(1, space + 2)), inner))
        return _with_bias(_swap_first(out), bias, space)
    columns = structure.transpose(view, perm=(*inner, 0, *range(2, 2 + space)))
    columns = named("columns", _rows(columns, groups, kernel[1] * _product(size)))
    taps = named("kernel", _rows(weight, groups, kernel[0] // groups))
    out = named("convolved", arrays.matmul(taps, columns))
    if bias is not None:
        out = named("convolved", out + _rows(bias, groups, kernel[0] // groups))
    return _swap_first(named("convolved", arrays.reshape(out, (kernel[0], -1, *count))))


def _rows(x: Any, groups: int, rows: int) -> Any:
    """Reshapes to a matrix of ``rows`` rows for each group, or to one matrix if there is one
    group."""
    return arrays.reshape(x, (*((groups,) if groups > 1 else ()), rows, -1))


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


@as_one_kernel
def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Returns the convolution of sequences (N, C, L) with a kernel (C_out, C / groups, K)."""
    return _convolve(input, weight, bias, stride, pad_mode, padding, dilation, groups, 1)


@as_one_kernel
def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Returns the convolution of images (N, C, H, W) with a kernel (C_out, C / groups, K_h,
    K_w)."""
    return _convolve(input, weight, bias, stride, pad_mode, padding, dilation, groups, 2)


@as_one_kernel
def conv3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Returns the convolution of volumes (N, C, D, H, W) with a kernel (C_out, C / groups, *K)."""
    return _convolve(input, weight, bias, stride, pad_mode, padding, dilation, groups, 3)


def convolution_adjoint(
    x: Any,
    weight: Any,
    sizes: Sequence[int],
    start: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """Returns the adjoint of a convolution in its image: every element of x puts down a copy of the
    kernel (C_in, C_out / groups, *size); of the sum a box is kept."""
    space = len(sizes)
    what = f"a transposed convolution in {space} dimensions"
    have, kernel = _checked(x, weight, space, what)
    _check_channels(have, kernel, kernel[0], what)
    size, channels = kernel[2:], kernel[1] * groups
    if groups == 1 and None in have[2:]:
        laid = sliding_windows.tensordot(weight, x, axes=((0,), (1,)))
    else:
        columns = _rows(_swap_first(x), groups, kernel[0] // groups)
        taps = _rows(weight, groups, kernel[0] // groups)
        laid = arrays.matmul(structure.swap_last_axes(taps), columns)
        laid = arrays.reshape(laid, (channels, *size, -1, *have[2:]))
    order = (1 + space, 0, *range(2 + space, 2 + 2 * space), *range(1, 1 + space))
    laid = structure.transpose(laid, perm=order)
    reach = [
        (dim - 1) * step + span(k, gap)
        for dim, step, k, gap in zip(have[2:], stride, size, dilation)
    ]
    full_sizes = [max(far, low + dim) for far, low, dim in zip(reach, start, sizes)]
    shape, rest = shape_and_operands((arrays.shape(x)[0], channels, *full_sizes))
    out = sliding_windows.overlap_add(
        laid, *rest, shape=shape, size=size, stride=tuple(stride), dilation=tuple(dilation)
    )
    return cropped(out, start, sizes)


def transposed_sizes(
    pad_mode: str,
    padding: Any,
    output_padding: Any,
    sizes: Sequence[int],
    size: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> tuple[list[int], list[int]]:
    """Returns the sizes of a transposed convolution's result, and where it starts in the whole
    sum."""
    mode, space = pad_mode.lower(), len(size)
    reach = list(map(span, size, dilation))
    if mode == "valid":
        return [n * s + max(r - s, 0) for n, s, r in zip(sizes, stride, reach)], [0] * space
    if mode == "same":
        start = [centred(r - s)[0] for s, r in zip(stride, reach)]
        return [n * s for n, s in zip(sizes, stride)], start
    widths, extra = sides(padding, space), each(output_padding, space, "output_padding")
    total = [
        (n - 1) * s + r - sum(pair) + more
        for n, s, r, pair, more in zip(sizes, stride, reach, widths, extra)
    ]
    return total, [low for low, _ in widths]


def conv_transpose(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    pad_mode: str,
    padding: Any,
    output_padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    """Returns the transposed convolution, as ``Conv1dTranspose`` and ``Conv2dTranspose`` compute
    it.
    """
    space = known_rank(input, "a transposed convolution") - 2
    stride, dilation = each(stride, space, "stride"), each(dilation, space, "dilation")
    size = dims(weight)[2:]
    have = dims(input)[2:]
    sizes, start = transposed_sizes(pad_mode, padding, output_padding, have, size, stride, dilation)
    return _with_bias(
        convolution_adjoint(input, weight, sizes, start, stride, dilation, groups), bias, space
    )


# ---- patches


def patches(x: Any, size: Any, stride: Any, dilation: Any, pad_mode: str) -> Any:
    """Returns the patches of images (N, C, H, W): (N, C, H', W', *size)."""
    size, stride = each(size, 2, "size"), each(stride, 2, "stride")
    dilation = each(dilation, 2, "dilation")
    widths = widths_of(pad_mode, 0, dims(x)[2:], size, stride, dilation)
    return sliding_windows.windows(padded(x, widths), size=size, stride=stride, dilation=dilation)


def unfold(
    input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Returns the patches of images (N, C, H, W) as columns: (N, C * K_h * K_w, number of
    patches)."""
    size = each(kernel_size, 2, "kernel_size")
    view = sliding_windows.windows(
        padded(input, sides(padding, 2)),
        size=size,
        stride=each(stride, 2, "stride"),
        dilation=each(dilation, 2, "dilation"),
    )
    shape = dims(view)
    columns = structure.transpose(view, perm=(0, 1, 4, 5, 2, 3))
    return arrays.reshape(columns, (-1, shape[1] * _product(size), _product(shape[2:4])))


def fold(
    input: Any,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Returns images from the columns of ``unfold``; overlapping patches are added."""
    size, sizes = each(kernel_size, 2, "kernel_size"), each(output_size, 2, "output_size")
    stride, dilation = each(stride, 2, "stride"), each(dilation, 2, "dilation")
    widths = sides(padding, 2)
    padded_sizes = [dim + low + high for dim, (low, high) in zip(sizes, widths)]
    counts: list[Any] = list(
        map(sliding_windows.count_windows, padded_sizes, size, stride, dilation)
    )
    have = dims(input)
    channels = have[1] // _product(size)
    if channels * _product(size) != have[1] or have[2] not in (None, counts[0] * counts[1]):
        raise ShapeError(
            f"an input of shape {have} does not match the patches of images of size {sizes}",
            f"give {counts[0] * counts[1]} patches of {_product(size)} elements each",
        )
    taps = arrays.reshape(input, (-1, channels, *size, *counts))
    laid = structure.transpose(taps, perm=(0, 1, 4, 5, 2, 3))
    shape, rest = shape_and_operands((arrays.shape(input)[0], channels, *padded_sizes))
    image = sliding_windows.overlap_add(
        laid, *rest, shape=shape, size=size, stride=stride, dilation=dilation
    )
    return cropped(image, [low for low, _ in widths], sizes)


def col2im(
    input_x: Any,
    output_size: Any,
    kernel_size: Any,
    dilation: Any,
    padding_value: Any,
    stride: Any,
) -> Tensor:
    """Returns what ``fold`` returns, for columns of shape (N, C, K_h * K_w, number of patches)."""
    have = dims(input_x)
    columns = arrays.reshape(input_x, (-1, have[1] * have[2], have[3]))
    return fold(columns, output_size, kernel_size, dilation, padding_value, stride)


__all__ = ["col2im", "conv1d", "conv2d", "conv3d", "fold", "unfold"]
