"""Layers that resize or rearrange images."""

from __future__ import annotations

from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Tensor
from autodiff_compiler.ops.neural.convolution import patches


class Upsample(Cell):
    """Interpolation of images to ``size``, or by ``scale_factor``."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ):
        super().__init__()
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def construct(self, x: Any) -> Tensor:
        return ops.interpolate(
            x,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )


class PixelShuffle(Cell):
    """Depth to space: (..., C * r * r, H, W) to (..., C, H * r, W * r)."""

    def __init__(self, upscale_factor: int):
        super().__init__()
        self.upscale_factor = upscale_factor

    def construct(self, input: Any) -> Tensor:
        return ops.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Cell):
    """Space to depth: (..., C, H * r, W * r) to (..., C * r * r, H, W)."""

    def __init__(self, downscale_factor: int):
        super().__init__()
        self.downscale_factor = downscale_factor

    def construct(self, input: Any) -> Tensor:
        return ops.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Cell):
    """Channels (axis 1) of ``groups`` groups, interleaved."""

    def __init__(self, groups: int):
        super().__init__()
        self.groups = groups

    def construct(self, x: Any) -> Tensor:
        return ops.channel_shuffle(x, self.groups)


class Unfold(Cell):
    """Patches of images: (N, C, H, W) to (N, rows * columns * C, H', W').

    Sizes, strides and rates (dilations) are [1, rows, columns, 1].
    """

    def __init__(self, ksizes: Any, strides: Any, rates: Any, padding: str = "valid"):
        super().__init__()
        for name, given in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
            if len(given) != 4 or given[0] != 1 or given[3] != 1:
                raise ValueError(
                    f"For 'Unfold', the '{name}' must be [1, rows, columns, 1], but got {given}."
                )
        if padding.lower() not in ("valid", "same"):
            raise ValueError(f"For 'Unfold', the 'padding' must be 'valid' or 'same': {padding!r}.")
        self.size, self.stride, self.rate = ksizes[1:3], strides[1:3], rates[1:3]
        self.padding = padding.lower()

    def construct(self, input_x: Any) -> Tensor:
        view = patches(input_x, self.size, self.stride, self.rate, self.padding)
        n, c, rows, columns, high, wide = view.shape
        moved = ops.transpose(view, (0, 4, 5, 1, 2, 3))
        return ops.reshape(moved, (n, high * wide * c, rows, columns))


__all__ = ["ChannelShuffle", "PixelShuffle", "PixelUnshuffle", "Unfold", "Upsample"]
