"""Convolution and pooling: operators on sliding windows."""

from autodiff_compiler.operators.windows import depthwise, pooling, rearrange, sliding_windows

__all__ = [
    "depthwise",
    "pooling",
    "rearrange",
    "sliding_windows",
]
