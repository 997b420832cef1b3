"""Normalization layers. ``BatchNorm`` keeps moving statistics: training updates them."""

from __future__ import annotations

from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.cell import Cell
from autodiff_compiler.common.initializer import initializer
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.nn.basic import positive
from autodiff_compiler.ops.normalization import batch_statistics


class _BatchNorm(Cell):
    """Normalizes each channel, by the batch while training, else by the moving statistics.

    In training, statistic = momentum * statistic + (1 - momentum) * that of the batch, once for
    each call; the variance is divided by the count.
    """

    ranks: tuple[int, ...] = ()

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
        super().__init__()
        self.num_features = positive(num_features, "num_features", type(self).__name__)
        if not 0 <= momentum <= 1:
            raise ValueError(
                f"For '{type(self).__name__}', the 'momentum' must be in [0, 1], but got "
                f"{momentum}."
            )
        if data_format not in ("NCHW", "NCDHW"):
            raise ValueError(f"channels are axis 1 (NCHW), not as in {data_format!r}")
        self.eps, self.momentum = eps, momentum
        self.use_batch_statistics = use_batch_statistics
        shape = (num_features,)
        self.moving_mean = Parameter(initializer(moving_mean_init, shape, dtype), None, False)
        self.moving_variance = Parameter(initializer(moving_var_init, shape, dtype), None, False)
        self.gamma = Parameter(initializer(gamma_init, shape, dtype), None, affine)
        self.beta = Parameter(initializer(beta_init, shape, dtype), None, affine)

    def construct(self, x: Any) -> Any:
        if x.ndim not in self.ranks:
            raise ValueError("the input of this BatchNorm has another number of dimensions")
        by_batch = self.training
        if self.use_batch_statistics is not None:
            by_batch = self.use_batch_statistics
        mean, variance = self.moving_mean, self.moving_variance
        if by_batch:
            mean, variance = batch_statistics(x)
            kept, new = self.momentum, round(1.0 - self.momentum, 12)
            self.moving_mean = kept * self.moving_mean + new * mean
            self.moving_variance = kept * self.moving_variance + new * variance
        return ops.batch_norm(x, mean, variance, self.gamma, self.beta, eps=self.eps)

    def extend_repr(self) -> str:
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"gamma={self.gamma}, beta={self.beta}, moving_mean={self.moving_mean}, "
            f"moving_variance={self.moving_variance}"
        )


class BatchNorm1d(_BatchNorm):
    """Of inputs (batch, channels) or (batch, channels, length)."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Of inputs (batch, channels, height, width)."""

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Of inputs (batch, channels, depth, height, width)."""

    ranks = (5,)


class LayerNorm(Cell):
    """Normalizes each sample from an axis on; gamma and beta have ``normalized_shape``."""

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
        self.gamma = Parameter(initializer(gamma_init, normalized_shape, dtype))
        self.beta = Parameter(initializer(beta_init, normalized_shape, dtype))
        self.layer_norm = ops.LayerNorm(begin_norm_axis, begin_params_axis, epsilon)

    def construct(self, input_x: Any) -> Any:
        return self.layer_norm(input_x, self.gamma, self.beta)[0]

    def extend_repr(self) -> str:
        return (
            f"normalized_shape={self.normalized_shape}, begin_norm_axis={self.begin_norm_axis}, "
            f"begin_params_axis={self.begin_params_axis}, gamma{self.gamma}, beta={self.beta}"
        )


class GroupNorm(Cell):
    """Normalizes each sample over groups of its channels."""

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
        self.num_groups = positive(num_groups, "num_groups", "GroupNorm")
        self.num_channels = positive(num_channels, "num_channels", "GroupNorm")
        if num_channels % num_groups:
            raise ValueError(
                "For 'GroupNorm', the 'num_channels' must be divided by 'num_groups', but got "
                f"'num_channels': {num_channels}, 'num_groups': {num_groups}."
            )
        self.eps = eps
        self.gamma = Parameter(initializer(gamma_init, (num_channels,), dtype), None, affine)
        self.beta = Parameter(initializer(beta_init, (num_channels,), dtype), None, affine)

    def construct(self, x: Any) -> Any:
        return ops.group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}"


__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "LayerNorm"]
