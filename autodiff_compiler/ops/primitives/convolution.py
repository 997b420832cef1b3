"""The operator classes of convolutions and of patches."""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ops.core.primitive_base import Primitive, primitive
from autodiff_compiler.ops.functions import arrays
from autodiff_compiler.ops.neural import convolution
from autodiff_compiler.ops.neural.convolution import (
    check_format,
    convolution_adjoint,
    dims,
    each,
    sides,
    widths_of,
)


class Conv2D(Primitive):
    """The convolution of images: ``Conv2D(out_channel, kernel_size)(x, weight)``."""

    function = staticmethod(convolution.conv2d)

    def __init__(
        self,
        out_channel: int,
        kernel_size: Any,
        mode: int = 1,
        pad_mode: str = "valid",
        pad: Any = 0,
        stride: Any = 1,
        dilation: Any = 1,
        group: int = 1,
        data_format: str = "NCHW",
    ):
        super().__init__()
        check_format(data_format)
        self.out_channel, self.kernel_size, self.mode = out_channel, kernel_size, mode
        self.pad_mode, self.pad, self.stride = pad_mode, pad, stride
        self.dilation, self.group = dilation, group

    def __call__(self, x: Any, weight: Any) -> Tensor:
        settings = (self.stride, self.pad_mode, self.pad, self.dilation, self.group)
        return type(self).function(x, weight, None, *settings)


class Conv3D(Conv2D):
    """The convolution of volumes: ``Conv3D(out_channel, kernel_size)(x, weight)``."""

    function = staticmethod(convolution.conv3d)


class Conv2DTranspose(Primitive):
    """The image of size ``input_size`` whose convolution's cotangent is x."""

    def __init__(
        self,
        out_channel: int,
        kernel_size: Any,
        pad_mode: str = "valid",
        pad: Any = 0,
        pad_list: Any = None,
        mode: int = 1,
        stride: Any = 1,
        dilation: Any = 1,
        group: int = 1,
        data_format: str = "NCHW",
    ):
        super().__init__()
        check_format(data_format)
        self.out_channel, self.kernel_size, self.mode = out_channel, kernel_size, mode
        self.pad_mode, self.pad = pad_mode, pad if pad_list is None else pad_list
        self.stride, self.dilation, self.group = stride, dilation, group

    def __call__(self, dout: Any, weight: Any, input_size: Any) -> Tensor:
        size, sizes = dims(weight)[2:], tuple(input_size)[2:]
        stride, gap = each(self.stride, 2, "stride"), each(self.dilation, 2, "dilation")
        padding = sides(self.pad, 2) if self.pad_mode == "pad" else ()
        flat = [width for pair in padding for width in pair] or 0
        widths = widths_of(self.pad_mode, flat, sizes, size, stride, gap)
        return convolution_adjoint(
            dout, weight, sizes, [low for low, _ in widths], stride, gap, self.group
        )


class Conv3DTranspose(Primitive):
    """The transposed convolution of volumes."""

    def __init__(
        self,
        in_channel: int,
        out_channel: int,
        kernel_size: Any,
        mode: int = 1,
        pad_mode: str = "valid",
        pad: Any = 0,
        stride: Any = 1,
        dilation: Any = 1,
        group: int = 1,
        output_padding: Any = 0,
        data_format: str = "NCDHW",
    ):
        super().__init__()
        check_format(data_format)
        self.in_channel, self.out_channel = in_channel, out_channel
        self.kernel_size, self.mode, self.pad_mode, self.pad = kernel_size, mode, pad_mode, pad
        self.stride, self.dilation, self.group = stride, dilation, group
        self.output_padding = output_padding

    def __call__(self, dout: Any, weight: Any) -> Tensor:
        return convolution.conv_transpose(
            dout,
            weight,
            None,
            self.stride,
            self.pad_mode,
            self.pad,
            self.output_padding,
            self.dilation,
            self.group,
        )


Col2Im = primitive(
    "Col2Im",
    lambda x, output_size, kernel_size, dilation, padding, stride: convolution.col2im(
        x, output_size, kernel_size, dilation, padding, stride
    ),
    kernel_size=None,
    dilation=1,
    padding=0,
    stride=1,
)


class Im2Col(Primitive):
    """The patches of images: (N, C, K_h * K_w, number of patches)."""

    def __init__(self, ksizes: Any, strides: Any = 1, dilations: Any = 1, pads: Any = 0):
        super().__init__()
        self.ksizes, self.strides, self.dilations, self.pads = ksizes, strides, dilations, pads

    def __call__(self, x: Any) -> Tensor:
        columns = convolution.unfold(x, self.ksizes, self.dilations, self.pads, self.strides)
        channels, (_, rows, count) = dims(x)[1], dims(columns)
        return arrays.reshape(columns, (-1, channels, rows // channels, count))


__all__ = ["Col2Im", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "Im2Col"]
