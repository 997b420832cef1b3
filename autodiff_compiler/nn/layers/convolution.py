"""Convolution layers and their transposes, with MindSpore's names, shapes and initial values.

Kernels of 1-d layers have an axis of size 1 before their length, as in MindSpore's checkpoint
files. With ``data_format='NHWC'`` the channels are last in input, output and kernel.
"""

from __future__ import annotations

import math
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Tensor
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.initializer import HeUniform, Uniform, fans, initializer
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.nn.layers.basic import positive_int
from autodiff_compiler.ops.neural.convolution import conv_transpose, each, sides

#: True for the data formats in which the channels are the last axis.
_CHANNELS_LAST = {"NCHW": False, "NCDHW": False, "NHWC": True}


class _Conv(Cell):
    """Base of convolution layers: settings, kernel and bias.

    Kernel and bias are initialized uniformly within 1 / sqrt(fan in). The constructor raises
    ValueError for wrong settings, and TypeError for settings of wrong types.
    """

    #: The number of spatial axes.
    space = 2
    #: The number of axes of size 1 before the spatial axes of the kernel.
    lead = 0
    #: True for transposed convolutions, whose kernel is (C_in, C_out, ...).
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        pad_mode: str,
        padding: Any,
        dilation: Any,
        group: int,
        has_bias: bool,
        weight_init: Any,
        bias_init: Any,
        data_format: str,
        dtype: mstype.Type,
    ):
        super().__init__()
        layer = type(self).__name__
        self.in_channels = positive_int(in_channels, "in_channels", layer)
        self.out_channels = positive_int(out_channels, "out_channels", layer)
        self.group = positive_int(group, "group", layer)
        if in_channels % group or out_channels % group:
            raise ValueError(
                f"For '{layer}', the 'group' must divide 'in_channels' and 'out_channels', but got "
                f"'group': {group}, 'in_channels': {in_channels}, 'out_channels': {out_channels}."
            )
        self.kernel_size = self._sizes(kernel_size, "kernel_size")
        self.stride = self._sizes(stride, "stride")
        self.dilation = self._sizes(dilation, "dilation")
        self.pad_mode, self.padding = pad_mode, self._padding(pad_mode, padding)
        channels_last = _CHANNELS_LAST.get(data_format)
        if channels_last is None or (channels_last and (self.space, self.lead) != (2, 0)):
            raise ValueError(f"For '{layer}', the 'data_format' {data_format!r} is not known.")
        self.data_format, self.channels_last = data_format, channels_last
        if not isinstance(has_bias, bool):
            raise TypeError(f"For '{layer}', the 'has_bias' must be bool, but got {has_bias!r}.")
        rows, columns = (out_channels, in_channels)
        if self.transposed:
            rows, columns = columns, rows
        shape = (rows, columns // group, *self.kernel_size)
        fan_in, _ = fans(shape)
        self.weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        if self.channels_last:
            shape = (shape[0], *shape[2:], shape[1])
        self.weight: Any = Parameter(initializer(self.weight_init, shape, dtype), name="weight")
        self.has_bias, self.bias_init, self.bias = has_bias, bias_init, None
        if has_bias:
            self.bias_init = Uniform(1 / math.sqrt(fan_in)) if bias_init is None else bias_init
            start = initializer(self.bias_init, (out_channels,), dtype)
            self.bias = Parameter(start, name="bias")

    def _sizes(self, given: Any, what: str) -> tuple[int, ...]:
        """Returns a setting as one size for each axis of the kernel, those of size 1 included."""
        layer = type(self).__name__
        if isinstance(given, tuple) and len(given) != self.space:
            raise ValueError(f"For '{layer}', the '{what}' must have {self.space} items: {given}.")
        if not isinstance(given, (int, tuple)) or isinstance(given, bool):
            raise TypeError(f"For '{layer}', the '{what}' must be int or tuple, but got {given!r}.")
        for size in given if isinstance(given, tuple) else (given,):
            positive_int(size, f"{what} item", layer)
        return (1,) * self.lead + each(given, self.space, what)

    def _padding(self, pad_mode: str, padding: Any) -> Any:
        """Returns ``padding`` if it fits ``pad_mode``, with zeros for axes of size 1."""
        layer = type(self).__name__
        if pad_mode not in ("valid", "same", "pad"):
            raise ValueError(
                f"For '{layer}', the 'pad_mode' must be in ['valid', 'same', 'pad'], but got "
                f"{pad_mode!r}."
            )
        widths = padding if isinstance(padding, tuple) else (padding,)
        if any(not isinstance(width, int) or width < 0 for width in widths):
            raise ValueError(f"For '{layer}', the 'padding' must be ints >= 0, but got {padding}.")
        if len(widths) not in (1, 2 * self.space):
            raise ValueError(
                f"For '{layer}', the 'padding' must be an int or have {2 * self.space} items, but "
                f"got {padding}."
            )
        if pad_mode != "pad" and any(widths):
            raise ValueError(
                f"For '{layer}', the 'padding' must be 0 when 'pad_mode' is not 'pad', but got "
                f"'padding': {padding} and 'pad_mode': {pad_mode!r}."
            )
        if not self.lead:
            return padding
        (pair,) = sides(padding, self.space)
        return (0,) * (2 * self.lead) + pair

    def extend_repr(self) -> str:
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
            f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}, "
            f"padding={self.padding}, dilation={self.dilation}, group={self.group}, "
            f"has_bias={self.has_bias}, weight_init={self.weight_init}, "
            f"bias_init={self.bias_init}, format={self.data_format}"
        )


class _SequenceConv(_Conv):
    """Base of layers of sequences, whose kernel is that of images of height 1."""

    space, lead = 1, 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: int = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            "NCHW",
            dtype,
        )


class Conv1d(_SequenceConv):
    """Convolution of sequences: (N, C_in, L) to (N, C_out, L_out)."""

    def construct(self, x: Any) -> Tensor:
        weight = ops.squeeze(self.weight, 2)
        return ops.conv1d(
            x,
            weight,
            self.bias,
            self.stride[1:],
            self.pad_mode,
            self.padding[2:],
            self.dilation[1:],
            self.group,
        )


class Conv2d(_Conv):
    """Convolution of images: (N, C_in, H, W) to (N, C_out, H_out, W_out)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCHW",
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            data_format,
            dtype,
        )
        # Subclasses call these two, by these names, with weights of their own.
        self.conv2d = ops.Conv2D(
            out_channels,
            self.kernel_size,
            pad_mode=pad_mode,
            pad=padding,
            stride=self.stride,
            dilation=self.dilation,
            group=group,
        )
        self.bias_add = ops.BiasAdd()

    def construct(self, x: Any) -> Tensor:
        weight = self.weight
        if self.channels_last:
            x, weight = ops.transpose(x, (0, 3, 1, 2)), ops.transpose(weight, (0, 3, 1, 2))
        out = self.conv2d(x, weight)
        if self.has_bias:
            out = self.bias_add(out, self.bias)
        return ops.transpose(out, (0, 2, 3, 1)) if self.channels_last else out


class Conv3d(_Conv):
    """Convolution of volumes: (N, C_in, D, H, W) to (N, C_out, D_out, H_out, W_out)."""

    space = 3

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCDHW",
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            data_format,
            dtype,
        )

    def construct(self, x: Any) -> Tensor:
        return ops.conv3d(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.pad_mode,
            self.padding,
            self.dilation,
            self.group,
        )


class Conv1dTranspose(_SequenceConv):
    """Transposed convolution of sequences: (N, C_in, L) to (N, C_out, L_out)."""

    transposed = True

    def construct(self, x: Any) -> Tensor:
        weight = ops.squeeze(self.weight, 2)
        return conv_transpose(
            x,
            weight,
            self.bias,
            self.stride[1:],
            self.pad_mode,
            self.padding[2:],
            0,
            self.dilation[1:],
            self.group,
        )


class Conv2dTranspose(_Conv):
    """Transposed convolution of images: (N, C_in, H, W) to (N, C_out, H_out, W_out).

    ``output_padding`` puts zeros below and to the right of the result, after the bias is added.
    """

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            "NCHW",
            dtype,
        )
        self.output_padding = _output_padding(self, output_padding)

    def construct(self, x: Any) -> Tensor:
        out = conv_transpose(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.pad_mode,
            self.padding,
            0,
            self.dilation,
            self.group,
        )
        below, right = self.output_padding
        return ops.pad(out, (0, right, 0, below)) if below or right else out


class Conv3dTranspose(_Conv):
    """Transposed convolution of volumes: (N, C_in, D, H, W) to (N, C_out, D_out, H_out, W_out).

    ``output_padding`` keeps that many more elements at the end of each spatial axis.
    """

    space, transposed = 3, True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        output_padding: Any = 0,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCDHW",
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            data_format,
            dtype,
        )
        self.output_padding = _output_padding(self, output_padding)

    def construct(self, x: Any) -> Tensor:
        return conv_transpose(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.pad_mode,
            self.padding,
            self.output_padding,
            self.dilation,
            self.group,
        )


def _output_padding(layer: _Conv, given: Any) -> tuple[int, ...]:
    """Returns one width for each spatial axis, each less than the axis's stride or dilation."""
    widths = each(given, layer.space, "output_padding")
    name = type(layer).__name__
    if any(widths) and layer.pad_mode != "pad":
        raise ValueError(f"For '{name}', 'output_padding' needs the 'pad_mode' 'pad'.")
    limits = map(max, layer.stride, layer.dilation)
    if any(not 0 <= width < limit for width, limit in zip(widths, limits)):
        raise ValueError(
            f"For '{name}', the 'output_padding' must be >= 0 and less than stride or dilation, "
            f"but got {given}."
        )
    return widths


__all__ = ["Conv1d", "Conv1dTranspose", "Conv2d", "Conv2dTranspose", "Conv3d", "Conv3dTranspose"]
