"""Pooling layers, of inputs with or without a batch axis.

``pad_mode`` 'valid' and 'same' take no further settings; 'pad' takes ``padding`` and the rest.
With 'same', averages of sequences and images do not count the padding; those of volumes do.
"""

from __future__ import annotations

from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Tensor
from autodiff_compiler.ops.neural.convolution import each
from autodiff_compiler.ops.neural.pooling import avg_pool, max_pool


class _Pool(Cell):
    """Base of pooling layers: kernel, stride and padding. Wrong ones are a ValueError."""

    #: The number of spatial axes.
    space = 2
    #: The number of 1s that ``repr`` shows before a kernel size or stride.
    lead = 0

    def __init__(
        self, kernel_size: Any, stride: Any, pad_mode: str, padding: Any, data_format: str = "NCHW"
    ):
        super().__init__()
        self.kernel_size, self.window = self._checked(kernel_size, "kernel_size")
        self.stride, self.steps = self._checked(stride, "stride")
        if not isinstance(pad_mode, str) or pad_mode.upper() not in ("VALID", "SAME", "PAD"):
            raise ValueError(
                f"For '{type(self).__name__}', the 'pad_mode' must be in ['valid', 'same', 'pad'], "
                f"but got {pad_mode!r}."
            )
        if data_format not in ("NCHW", "NHWC"):
            raise ValueError(
                f"For '{type(self).__name__}', the 'data_format' must be 'NCHW' or 'NHWC', but got "
                f"{data_format!r}."
            )
        self.pad_mode, self.padding = pad_mode.upper(), each(padding, self.space, "padding")
        self.channels_last = data_format == "NHWC"

    def _checked(self, given: Any, what: str) -> tuple[Any, tuple[int, ...]]:
        """Returns a setting as ``repr`` shows it, and with one int for each spatial axis."""
        sizes = given if isinstance(given, tuple) else (given,)
        if any(not isinstance(size, int) or isinstance(size, bool) or size < 1 for size in sizes):
            raise ValueError(
                f"For '{type(self).__name__}', the '{what}' must be int > 0 or a tuple of them, "
                f"but got {given!r}."
            )
        return (1, *sizes) if self.lead else given, each(given, self.space, what)

    def _refuse_without_pad(self, *settings: bool) -> None:
        """Raises ValueError if any of the settings is on and ``pad_mode`` is not 'pad'."""
        if self.pad_mode != "PAD" and any(settings):
            raise ValueError(
                f"For '{type(self).__name__}', settings other than 'kernel_size' and 'stride' need "
                f"the 'pad_mode' 'pad', but got {self.pad_mode.lower()!r}."
            )

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}"


class _MaxPool(_Pool):
    """Maximum of each window, and its index in the image if ``return_indices``."""

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
    ):
        super().__init__(kernel_size, stride, pad_mode, padding, data_format)
        self.dilation = each(dilation, self.space, "dilation")
        self.return_indices, self.ceil_mode = return_indices, ceil_mode
        dilated = any(gap != 1 for gap in self.dilation)
        self._refuse_without_pad(any(self.padding), dilated, return_indices, ceil_mode)

    def construct(self, x: Any) -> Tensor:  # a pair of these with return_indices
        if self.channels_last:
            x = ops.transpose(x, (0, 3, 1, 2))
        out = max_pool(
            x,
            self.window,
            self.steps,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.space,
            self.return_indices,
            self.pad_mode,
        )
        return ops.transpose(out, (0, 2, 3, 1)) if self.channels_last else out


class _ChannelsFirstMaxPool(_MaxPool):
    """Base of the layers without a choice of ``data_format``."""

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        super().__init__(
            kernel_size, stride, pad_mode, padding, dilation, return_indices, ceil_mode
        )


class MaxPool1d(_ChannelsFirstMaxPool):
    """Max pooling of sequences (N, C, L)."""

    space, lead = 1, 1


class MaxPool2d(_MaxPool):
    """Max pooling of images (N, C, H, W)."""


class MaxPool3d(_ChannelsFirstMaxPool):
    """Max pooling of volumes (N, C, D, H, W)."""

    space = 3


class _AvgPool(_Pool):
    """Mean of each window, or its sum divided by ``divisor_override``."""

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        data_format: str = "NCHW",
    ):
        super().__init__(kernel_size, stride, pad_mode, padding, data_format)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad
        if divisor_override is not None and divisor_override <= 0:
            raise ValueError(
                f"For '{type(self).__name__}', the 'divisor_override' must be > 0, but got "
                f"{divisor_override}."
            )
        self.divisor_override = divisor_override
        # As in MindSpore, only averages of volumes count the padding of 'same'.
        self.counts_padding = count_include_pad and (self.space == 3 or self.pad_mode == "PAD")
        self._refuse_without_pad(any(self.padding))

    def construct(self, x: Any) -> Tensor:
        if self.channels_last:
            x = ops.transpose(x, (0, 3, 1, 2))
        out = avg_pool(
            x,
            self.window,
            self.steps,
            self.padding,
            self.ceil_mode,
            self.counts_padding,
            self.divisor_override,
            self.space,
            self.pad_mode,
        )
        return ops.transpose(out, (0, 2, 3, 1)) if self.channels_last else out


class AvgPool1d(_AvgPool):
    """Average pooling of sequences (N, C, L)."""

    space, lead = 1, 1

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ):
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad)


class AvgPool2d(_AvgPool):
    """Average pooling of images (N, C, H, W)."""


class AvgPool3d(_AvgPool):
    """Average pooling of volumes (N, C, D, H, W)."""

    space = 3

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ):
        super().__init__(
            kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad, divisor_override
        )


# ---- adaptive pooling: the caller gives the number of windows


class _Adaptive(Cell):
    """Base of adaptive pooling.

    ``output_size`` is the number of windows, an int or one for each spatial axis. None keeps an
    axis as it is.
    """

    def __init__(self, output_size: Any):
        super().__init__()
        self.output_size = output_size


class AdaptiveAvgPool1d(_Adaptive):
    """Means of ``output_size`` windows that cover a sequence evenly."""

    def construct(self, input: Any) -> Tensor:
        return ops.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """Means of (rows, columns) windows that cover an image evenly."""

    def construct(self, input: Any) -> Tensor:
        return ops.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_Adaptive):
    """Means of windows that cover a volume evenly."""

    def construct(self, input: Any) -> Tensor:
        return ops.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(_Adaptive):
    """Maxima of windows that cover a sequence evenly."""

    def construct(self, x: Any) -> Any:
        return ops.adaptive_max_pool1d(x, self.output_size)


class AdaptiveMaxPool2d(_Adaptive):
    """Maxima of windows that cover an image evenly, and their indices if ``return_indices``."""

    def __init__(self, output_size: Any, return_indices: bool = False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def construct(self, input: Any) -> Any:
        return ops.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class LPPool1d(Cell):
    """Power-average pooling of sequences: (sum of x ** p) ** (1 / p) over each window."""

    def __init__(
        self,
        norm_type: float,
        kernel_size: int,
        stride: int | None = None,
        ceil_mode: bool = False,
    ):
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def construct(self, x: Any) -> Tensor:
        return ops.lp_pool1d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(LPPool1d):
    """Power-average pooling of images: (sum of x ** p) ** (1 / p) over each window."""

    def construct(self, x: Any) -> Tensor:
        return ops.lp_pool2d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
]
