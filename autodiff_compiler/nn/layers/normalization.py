"""Normalization layers.

Batch and instance normalization keep moving statistics, which training updates. The moving
variance is unbiased: divided by the count less one.
"""

from __future__ import annotations

from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Tensor
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.initializer import initializer
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.nn.layers.basic import positive_int
from autodiff_compiler.ops.neural.normalization import batch_statistics, unbiased


class _MovingStatistics(Cell):
    """Base of layers with gamma and beta, and with moving statistics, of each channel.

    Each call in training sets: moving = momentum * moving + (1 - momentum) * statistic.
    """

    #: The numbers of axes that an input may have.
    ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float,
        affine: bool,
        gamma_init: Any,
        beta_init: Any,
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__()
        self.num_features = positive_int(num_features, "num_features", type(self).__name__)
        if not 0 <= momentum <= 1:
            raise ValueError(
                f"For '{type(self).__name__}', the 'momentum' must be in [0, 1], but got "
                f"{momentum}."
            )
        self.eps, self.momentum = eps, momentum

        def parameter(init: Any, name: str, trained: bool) -> Parameter:
            return Parameter(initializer(init, (num_features,), dtype), name, trained)

        self.moving_mean = parameter(moving_mean_init, "mean", False)
        self.moving_variance = parameter(moving_var_init, "variance", False)
        self.gamma = parameter(gamma_init, "gamma", affine)
        self.beta = parameter(beta_init, "beta", affine)

    def update_statistics(self, mean: Any, variance: Any) -> None:
        """Updates the moving statistics by those of a batch."""
        momentum, rate = self.momentum, round(1.0 - self.momentum, 12)
        self.moving_mean = momentum * self.moving_mean + rate * mean
        self.moving_variance = momentum * self.moving_variance + rate * variance

    def check_rank(self, x: Any) -> None:
        """Raises ValueError for an input of another number of axes."""
        if x.ndim not in self.ranks:
            raise ValueError("the input of this layer has another number of dimensions")

    def extend_repr(self) -> str:
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"gamma={self.gamma}, beta={self.beta}, moving_mean={self.moving_mean}, "
            f"moving_variance={self.moving_variance}"
        )


class _BatchNorm(_MovingStatistics):
    """Batch normalization: by the batch's statistics in training, else by the moving ones."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        data_format: str = "NCHW",
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__(
            num_features,
            eps,
            momentum,
            affine,
            gamma_init,
            beta_init,
            moving_mean_init,
            moving_var_init,
            dtype,
        )
        if data_format not in ("NCHW", "NHWC"):
            raise ValueError(
                f"For '{type(self).__name__}', the 'data_format' must be 'NCHW' or 'NHWC', but got "
                f"{data_format!r}."
            )
        self.use_batch_statistics = use_batch_statistics
        self.channels_last = data_format == "NHWC"

    def construct(self, x: Any) -> Tensor:
        self.check_rank(x)
        if self.channels_last:
            x = ops.transpose(x, (0, 3, 1, 2))
        by_batch = self.training
        if self.use_batch_statistics is not None:
            by_batch = self.use_batch_statistics
        mean, variance = self.moving_mean, self.moving_variance
        if by_batch:
            batch_mean, batch_variance = batch_statistics(x)
            mean, variance = batch_mean, batch_variance
            self.update_statistics(mean, unbiased(variance, x, (0, *range(2, x.ndim))))
        out = ops.batch_norm(x, mean, variance, self.gamma, self.beta, eps=self.eps)
        return ops.transpose(out, (0, 2, 3, 1)) if self.channels_last else out


class BatchNorm1d(_BatchNorm):
    """Batch normalization of inputs (N, C) or (N, C, L)."""

    ranks = (2, 3)
    _keeps_float32 = True


class BatchNorm2d(_BatchNorm):
    """Batch normalization of images (N, C, H, W)."""

    ranks = (4,)
    _keeps_float32 = True


class SyncBatchNorm(_BatchNorm):
    """``BatchNorm2d`` under another name: one device has nothing to synchronize with."""

    ranks = (2, 4)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        process_groups: Any = None,
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__(
            num_features,
            eps,
            momentum,
            affine,
            gamma_init,
            beta_init,
            moving_mean_init,
            moving_var_init,
            use_batch_statistics,
            dtype=dtype,
        )


class BatchNorm3d(Cell):
    """Batch normalization of volumes (N, C, D, H, W), by a ``BatchNorm2d`` of (N, C, D * H, W)."""

    _keeps_float32 = True

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__()
        self.bn2d = BatchNorm2d(
            num_features,
            eps,
            momentum,
            affine,
            gamma_init,
            beta_init,
            moving_mean_init,
            moving_var_init,
            use_batch_statistics,
            dtype=dtype,
        )

    def construct(self, input_x: Any) -> Tensor:
        if input_x.ndim != 5:
            raise ValueError("the input of this layer has another number of dimensions")
        shape = input_x.shape
        flat = ops.reshape(input_x, (shape[0], shape[1], shape[2] * shape[3], shape[4]))
        return ops.reshape(self.bn2d(flat), shape)


class _InstanceNorm(_MovingStatistics):
    """Instance normalization: each channel of each sample by its own statistics, always."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__(num_features, eps, momentum, affine, gamma_init, beta_init, dtype=dtype)

    def construct(self, x: Any) -> Tensor:
        self.check_rank(x)
        space = tuple(range(2, x.ndim))
        mean, variance = ops.mean(x, space), ops.var(x, space)
        if self.training:
            self.update_statistics(ops.mean(mean, 0), ops.mean(unbiased(variance, x, space), 0))
        return ops.group_norm(x, self.num_features, self.gamma, self.beta, self.eps)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of sequences (N, C, L)."""

    ranks = (3,)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of images (N, C, H, W)."""

    ranks = (4,)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of volumes (N, C, D, H, W)."""

    ranks = (5,)


class LayerNorm(Cell):
    """Layer normalization over the axes from ``begin_norm_axis`` on.

    gamma and beta have ``normalized_shape``.
    """

    _keeps_float32 = True

    def __init__(
        self,
        normalized_shape: Any,
        begin_norm_axis: int = -1,
        begin_params_axis: int = -1,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        epsilon: float = 1e-7,
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__()
        if not isinstance(normalized_shape, (tuple, list)):
            raise TypeError(
                "For 'LayerNorm', the type of 'normalized_shape' must be tuple[int] or list[int], "
                f"but got {normalized_shape} and the type is {type(normalized_shape)}."
            )
        self.normalized_shape = normalized_shape
        self.begin_norm_axis, self.begin_params_axis = begin_norm_axis, begin_params_axis
        self.epsilon = epsilon
        self.gamma = Parameter(initializer(gamma_init, normalized_shape, dtype), "gamma")
        self.beta = Parameter(initializer(beta_init, normalized_shape, dtype), "beta")
        self.layer_norm = ops.LayerNorm(begin_norm_axis, begin_params_axis, epsilon)

    def construct(self, input_x: Any) -> Tensor:
        return self.layer_norm(input_x, self.gamma, self.beta)[0]

    def extend_repr(self) -> str:
        return (
            f"normalized_shape={self.normalized_shape}, begin_norm_axis={self.begin_norm_axis}, "
            f"begin_params_axis={self.begin_params_axis}, gamma{self.gamma}, beta={self.beta}"
        )


class GroupNorm(Cell):
    """Group normalization: each sample over each group of its channels."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__()
        self.num_groups = positive_int(num_groups, "num_groups", "GroupNorm")
        self.num_channels = positive_int(num_channels, "num_channels", "GroupNorm")
        if num_channels % num_groups:
            raise ValueError(
                "For 'GroupNorm', the 'num_channels' must be divided by 'num_groups', but got "
                f"'num_channels': {num_channels}, 'num_groups': {num_groups}."
            )
        self.eps = eps
        self.gamma = Parameter(initializer(gamma_init, (num_channels,), dtype), "gamma", affine)
        self.beta = Parameter(initializer(beta_init, (num_channels,), dtype), "beta", affine)

    def construct(self, x: Any) -> Tensor:
        return ops.group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}"


class LRN(Cell):
    """Local response normalization: x / (bias + alpha * s) ** beta.

    s is the sum of squares over the channels within ``depth_radius``.
    """

    def __init__(
        self,
        depth_radius: int = 5,
        bias: float = 1.0,
        alpha: float = 1.0,
        beta: float = 0.5,
        norm_region: str = "ACROSS_CHANNELS",
    ):
        super().__init__()
        if norm_region != "ACROSS_CHANNELS":
            raise ValueError(f"For 'LRN', the 'norm_region' is 'ACROSS_CHANNELS': {norm_region!r}.")
        self.depth_radius, self.bias, self.alpha, self.beta = depth_radius, bias, alpha, beta

    def construct(self, input_x: Any) -> Tensor:
        return ops.lrn(input_x, self.depth_radius, self.bias, self.alpha, self.beta)


__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LRN",
    "LayerNorm",
    "SyncBatchNorm",
]
