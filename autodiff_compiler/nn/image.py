"""Layers that change the size of images."""

from __future__ import annotations

from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common.cell import Cell


class Upsample(Cell):
    """Images of a size, or of their own times a factor, by interpolation."""

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
        align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    ):  # fmt: skip
        super().__init__()
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def construct(self, x: Any) -> Any:
        return ops.interpolate(
            x, self.size, self.scale_factor, self.mode, self.align_corners,
            self.recompute_scale_factor,
        )  # fmt: skip


class PixelShuffle(Cell):
    """(..., C * r * r, H, W) to (..., C, H * r, W * r)."""

    def __init__(self, upscale_factor: int):
        super().__init__()
        self.upscale_factor = upscale_factor

    def construct(self, input: Any) -> Any:
        return ops.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Cell):
    """(..., C, H * r, W * r) to (..., C * r * r, H, W)."""

    def __init__(self, downscale_factor: int):
        super().__init__()
        self.downscale_factor = downscale_factor

    def construct(self, input: Any) -> Any:
        return ops.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Cell):
    """The channels (axis 1) of ``groups`` groups dealt out in turn."""

    def __init__(self, groups: int):
        super().__init__()
        self.groups = groups

    def construct(self, x: Any) -> Any:
        return ops.channel_shuffle(x, self.groups)


__all__ = ["ChannelShuffle", "PixelShuffle", "PixelUnshuffle", "Upsample"]
