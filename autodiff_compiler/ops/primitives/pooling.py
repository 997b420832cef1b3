"""The operator classes of pooling."""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ops.core.primitive_base import Primitive, primitive
from autodiff_compiler.ops.neural import pooling
from autodiff_compiler.ops.neural.convolution import check_format
from autodiff_compiler.ops.neural.pooling import avg_pool, max_pool


class MaxPool(Primitive):
    """The largest element of each window of an image: ``MaxPool(2, 2)(x)``."""

    def __init__(
        self,
        kernel_size: Any = 1,
        strides: Any = 1,
        pad_mode: str = "valid",
        data_format: str = "NCHW",
    ):
        super().__init__()
        check_format(data_format)
        self.kernel_size, self.strides, self.pad_mode = kernel_size, strides, pad_mode

    def __call__(self, x: Any) -> Tensor:
        return max_pool(x, self.kernel_size, self.strides, 0, 1, False, 2, pad_mode=self.pad_mode)


class AvgPool(MaxPool):
    """The mean of each window of an image, padding left out: ``AvgPool(2, 2)(x)``."""

    def __call__(self, x: Any) -> Tensor:
        return avg_pool(x, self.kernel_size, self.strides, 0, False, False, None, 2, self.pad_mode)


class MaxPool3D(Primitive):
    """The largest element of each window of a volume."""

    def __init__(
        self,
        kernel_size: Any = 1,
        strides: Any = 1,
        pad_mode: str = "VALID",
        pad_list: Any = 0,
        ceil_mode: bool | None = None,
        data_format: str = "NCDHW",
    ):
        super().__init__()
        check_format(data_format)
        self.kernel_size, self.strides, self.pad_mode = kernel_size, strides, pad_mode
        self.pad_list, self.ceil_mode = pad_list, bool(ceil_mode)

    def __call__(self, x: Any) -> Tensor:
        return max_pool(
            x,
            self.kernel_size,
            self.strides,
            self.pad_list,
            1,
            self.ceil_mode,
            3,
            pad_mode=self.pad_mode,
        )


class AvgPool3D(Primitive):
    """The mean of each window of a volume."""

    def __init__(
        self,
        kernel_size: Any = 1,
        strides: Any = 1,
        pad_mode: str = "valid",
        pad: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int = 0,
        data_format: str = "NCDHW",
    ):
        super().__init__()
        check_format(data_format)
        self.kernel_size, self.strides, self.pad_mode = kernel_size, strides, pad_mode
        self.pad, self.ceil_mode, self.divisor_override = pad, ceil_mode, divisor_override
        self.count_include_pad = count_include_pad

    def __call__(self, x: Any) -> Tensor:
        return avg_pool(
            x,
            self.kernel_size,
            self.strides,
            self.pad,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
            3,
            self.pad_mode,
        )


AdaptiveAvgPool2D = primitive("AdaptiveAvgPool2D", pooling.adaptive_avg_pool2d, output_size=1)

__all__ = ["AdaptiveAvgPool2D", "AvgPool", "AvgPool3D", "MaxPool", "MaxPool3D"]
