"""Normalization: x to mean 0 and variance 1 over some axes, then scaled and shifted.

Variances are of the deviations from the mean, never a difference of squares.
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Sequence
from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.labels import named
from autodiff_compiler.operators.elementwise import arithmetic as records
from autodiff_compiler.operators.elementwise import powers
from autodiff_compiler.ops.core.one_kernel import as_one_kernel
from autodiff_compiler.ops.core.primitive_base import Primitive, primitive
from autodiff_compiler.ops.core.shape_queries import dtype_of, in_dtype, known_rank, shape_of
from autodiff_compiler.ops.functions import arrays, creation, reductions


def standardized(x: Any, mean: Any, variance: Any, eps: float) -> Any:
    """Returns (x - mean) / sqrt(variance + eps)."""
    centered, std = named("centered", x - mean), named("std", records.sqrt(variance + eps))
    return named("x_hat", centered / std)


def _scaled(x: Any, weight: Any, bias: Any) -> Any:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


@as_one_kernel
def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    """Normalizes over the last axes, as many as ``normalized_shape`` has."""
    count = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    axes = tuple(range(-count, 0))
    mean, variance = _statistics(input, axes)
    return _scaled(standardized(input, mean, variance, eps), weight, bias)


def _statistics(x: Any, axes: Sequence[int]) -> tuple[Any, Any]:
    """Returns mean and variance, with the axes kept."""
    mean = named("mean", reductions.mean(x, axes, True))
    return mean, named("variance", reductions.var(x, axes, 0, True))


@as_one_kernel
def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    """Normalizes each sample over groups of the channels, which are axis 1."""
    shape = shape_of(input)
    if shape is None or len(shape) < 2 or not all(isinstance(dim, int) for dim in shape[1:]):
        raise ShapeError(
            "group_norm needs all sizes except that of the batch at compile time",
            "give the shape of the input in the signature, such as input=f32[b,4,8,8]",
        )
    channels, *rest = (int(dim) for dim in shape[1:] if dim is not None)
    if channels % num_groups:
        raise ShapeError(
            f"group_norm divides {channels} channels into {num_groups} groups",
            "make the number of channels a multiple of the number of groups",
        )
    size = channels // num_groups * math.prod(rest)
    grouped = named("grouped", arrays.reshape(input, (-1, num_groups, size)))
    mean, variance = _statistics(grouped, (2,))
    flat = standardized(grouped, mean, variance, eps)
    x_hat = named("x_hat", arrays.reshape(flat, (-1, channels, *rest)))
    return _per_channel(x_hat, weight, bias)


def _per_channel(x: Any, weight: Any, bias: Any) -> Any:
    rank = known_rank(x, "a normalization")
    return _scaled(x, *(channel_shaped(one, rank) for one in (weight, bias)))


def channel_shaped(x: Any, rank: int) -> Any:
    """Returns one number per channel, shaped to go with an input whose axis 1 are the channels."""
    return x if x is None or rank == 2 else arrays.reshape(x, (-1, *(1,) * (rank - 2)))


def batch_statistics(x: Any) -> tuple[Any, Any]:
    """Returns mean and variance (divided by the count) of each channel, which are axis 1."""
    axes = (0, *range(2, known_rank(x, "batch_norm")))
    return named("mean", reductions.mean(x, axes)), named("variance", reductions.var(x, axes))


def unbiased(variance: Any, x: Any, axes: Sequence[int]) -> Any:
    """Returns a variance of x over some axes, divided by one less than the count instead of the
    count.

    Where there is but one element, it stays zero.
    """
    count: Any = 1
    for axis in axes:
        count = count * arrays.shape(x)[axis]
    if isinstance(count, int):
        return variance * (count / max(count - 1, 1))
    return variance * (count / (count - 1))


def lrn(
    x: Any,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    norm_region: str = "ACROSS_CHANNELS",
) -> Tensor:
    """Returns x / (bias + alpha * s) ** beta of images; s sums the squares of neighbouring
    channels.

    The sum is a product with a matrix of ones near the diagonal.
    """
    if norm_region != "ACROSS_CHANNELS":
        raise ValueError(f"For 'lrn', the 'norm_region' is 'ACROSS_CHANNELS', not {norm_region!r}.")
    shape = arrays.shape(x)
    if len(shape) != 4 or not isinstance(shape[1], int):
        raise ShapeError(f"lrn needs images (N, C, H, W) of known channels, not of shape {shape}")
    number = creation.arange(shape[1], dtype="int64")
    far = records.abs(arrays.expand_dims(number, 1) - number)
    near = in_dtype(far <= depth_radius, dtype_of(x) or "float32")
    squares = arrays.reshape(records.square(x), (shape[0], shape[1], -1))
    total = arrays.reshape(arrays.matmul(near, squares), shape)
    return x * powers.pow(bias + alpha * total, -beta)


def batch_norm(
    input_x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes each channel (axis 1), by the batch in training, else by the given statistics.

    A function changes nothing: ``nn.BatchNorm2d`` keeps the moving statistics.
    """
    mean, variance = batch_statistics(input_x) if training else (running_mean, running_var)
    rank = known_rank(input_x, "batch_norm")
    mean, variance = channel_shaped(mean, rank), channel_shaped(variance, rank)
    return _per_channel(standardized(input_x, mean, variance, eps), weight, bias)


@as_one_kernel
def rms_norm(x: Any, gamma: Any, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """Returns x * r * gamma, and r = 1 / sqrt(mean(x ** 2) + epsilon), over the axes of gamma."""
    axes = tuple(range(-known_rank(gamma, "rms_norm"), 0))
    square = named("mean_square", reductions.mean(records.square(x), axes, True))
    inv_rms = named("inv_rms", records.rsqrt(square + epsilon))
    return named("x_hat", x * inv_rms) * gamma, inv_rms


LRN = primitive(
    "LRN", lrn, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region="ACROSS_CHANNELS"
)


class LayerNorm(Primitive):
    """``layer_norm`` from an axis on; also the mean and the variance."""

    def __init__(self, begin_norm_axis: int = 1, begin_params_axis: int = 1, epsilon: float = 1e-7):
        super().__init__()
        self.begin_norm_axis, self.begin_params_axis = begin_norm_axis, begin_params_axis
        self.epsilon = epsilon

    def __call__(self, input_x: Any, gamma: Any, beta: Any) -> tuple[Tensor, Tensor, Tensor]:
        return _norm_and_statistics(input_x, gamma, beta, self.begin_norm_axis, self.epsilon)


@as_one_kernel
def _norm_and_statistics(x: Any, gamma: Any, beta: Any, start: int, epsilon: float) -> Any:
    """Returns ``layer_norm`` over the axes from ``start`` on, the mean and the variance."""
    rank = known_rank(x, "LayerNorm")
    mean, variance = _statistics(x, range(start % rank, rank))
    return _scaled(standardized(x, mean, variance, epsilon), gamma, beta), mean, variance


class BatchNorm(Primitive):
    """``batch_norm``; also the mean and variance used, twice. Changes no parameter."""

    def __init__(
        self,
        is_training: bool = False,
        epsilon: float = 1e-5,
        momentum: float = 0.1,
        data_format: str = "NCHW",
    ):
        super().__init__()
        if data_format != "NCHW":
            raise ValueError(f"BatchNorm takes channels from axis 1 (NCHW), not {data_format!r}")
        self.is_training, self.epsilon, self.momentum = is_training, epsilon, momentum

    def __call__(
        self, input_x: Any, scale: Any, bias: Any, mean: Any, variance: Any
    ) -> tuple[Any, ...]:
        if self.is_training:
            mean, variance = batch_statistics(input_x)
        out = batch_norm(input_x, mean, variance, scale, bias, eps=self.epsilon)
        return out, mean, variance, mean, variance


__all__ = ["batch_norm", "group_norm", "layer_norm", "lrn", "rms_norm"]
