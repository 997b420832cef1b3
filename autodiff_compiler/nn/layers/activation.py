"""Activation layers, and ``get_activation``, which makes them by name."""

from __future__ import annotations

from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.initializer import initializer
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.tensor import Tensor


class _AlongAxis(Cell):
    """Base of the layers that work along an axis."""

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = axis


class _Alpha(Cell):
    """Base of the layers whose negative branch has a factor ``alpha``."""

    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = alpha


class _Lambda(Cell):
    """Base of the layers that shrink by a threshold ``lambd``."""

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd = lambd


class CELU(_Alpha):
    """Continuously differentiable ELU: x where x > 0, else alpha * (exp(x / alpha) - 1)."""

    def construct(self, x: Any) -> Tensor:
        return ops.celu(x, self.alpha)


class ELU(_Alpha):
    """Exponential linear unit: x where x > 0, else alpha * (exp(x) - 1)."""

    def construct(self, x: Any) -> Tensor:
        return ops.elu(x, self.alpha)


class FastGelu(Cell):
    """GELU approximated by x * sigmoid(1.702 x)."""

    def construct(self, x: Any) -> Tensor:
        return ops.fast_gelu(x)


class GELU(Cell):
    """Gaussian error linear unit: x * Phi(x), by default with Phi approximated by tanh."""

    def __init__(self, approximate: bool = True):
        super().__init__()
        self.approximate = approximate

    def construct(self, x: Any) -> Tensor:
        return ops.gelu(x, "tanh" if self.approximate else "none")


class GLU(_AlongAxis):
    """Gated linear unit: the first half along an axis times the sigmoid of the second."""

    def construct(self, x: Any) -> Tensor:
        return ops.glu(x, self.axis)


class HShrink(_Lambda):
    """Hard shrinkage: x outside of [-lambd, lambd], else 0."""

    def construct(self, x: Any) -> Tensor:
        return ops.hardshrink(x, self.lambd)


class HSigmoid(Cell):
    """Hard sigmoid: x / 6 + 1 / 2, clipped to [0, 1]."""

    def construct(self, x: Any) -> Tensor:
        return ops.hardsigmoid(x)


class HSwish(Cell):
    """Hard swish: x times its hard sigmoid."""

    def construct(self, x: Any) -> Tensor:
        return ops.hardswish(x)


class Hardtanh(Cell):
    """x clipped to [min_val, max_val]."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0):
        super().__init__()
        self.min_val, self.max_val = min_val, max_val

    def construct(self, x: Any) -> Tensor:
        return ops.hardtanh(x, self.min_val, self.max_val)


class LeakyReLU(Cell):
    """Leaky rectified linear unit: x where x > 0, else alpha * x."""

    def __init__(self, alpha: float = 0.2):
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Any) -> Tensor:
        return ops.leaky_relu(x, self.alpha)


class LogSigmoid(Cell):
    """Logarithm of the sigmoid: log(1 / (1 + exp(-x)))."""

    def construct(self, x: Any) -> Tensor:
        return ops.logsigmoid(x)


class LogSoftmax(_AlongAxis):
    """Logarithm of the softmax along an axis."""

    def construct(self, x: Any) -> Tensor:
        return ops.log_softmax(x, self.axis)


class Mish(Cell):
    """Mish: x * tanh(softplus(x))."""

    def construct(self, x: Any) -> Tensor:
        return ops.mish(x)


class PReLU(Cell):
    """Parametric ReLU: x where x > 0, else w * x.

    The slope w is trained: one for all channels, or one for each.
    """

    def __init__(self, channel: int = 1, w: Any = 0.25, dtype: mstype.Type = mstype.float32):
        super().__init__()
        if channel < 1:
            raise ValueError(f"For 'PReLU', the 'channel' must be positive, but got {channel}.")
        start = Tensor(w, dtype) if isinstance(w, list) else initializer(w, (channel,), dtype)
        self.w = Parameter(start, name="a")

    def construct(self, x: Any) -> Tensor:
        return ops.prelu(x, self.w)


class RReLU(Cell):
    """Randomized leaky ReLU: x where x >= 0, else x times a slope from U[lower, upper)."""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3):
        super().__init__()
        if upper < lower:
            raise ValueError(
                f"For 'RReLU', the 'upper' must be >= 'lower', but got {lower} and {upper}."
            )
        self.lower, self.upper = lower, upper

    def construct(self, x: Any) -> Tensor:
        return ops.rrelu(x, self.lower, self.upper)


class ReLU(Cell):
    """Rectified linear unit: max(x, 0)."""

    def construct(self, x: Any) -> Tensor:
        return ops.relu(x)


class ReLU6(Cell):
    """ReLU clipped to [0, 6]."""

    def construct(self, x: Any) -> Tensor:
        return ops.relu6(x)


class SeLU(Cell):
    """Scaled ELU of self-normalizing networks."""

    def construct(self, x: Any) -> Tensor:
        return ops.selu(x)


class SiLU(Cell):
    """Sigmoid linear unit: x * sigmoid(x)."""

    def construct(self, x: Any) -> Tensor:
        return ops.silu(x)


class Sigmoid(Cell):
    """Logistic sigmoid: 1 / (1 + exp(-x))."""

    def construct(self, x: Any) -> Tensor:
        return ops.sigmoid(x)


class SoftShrink(_Lambda):
    """Soft shrinkage: sign(x) * max(abs(x) - lambd, 0)."""

    def construct(self, x: Any) -> Tensor:
        return ops.softshrink(x, self.lambd)


class Softmax(_AlongAxis):
    """Softmax: exp(x) / sum(exp(x)) along an axis."""

    def construct(self, x: Any) -> Tensor:
        return ops.softmax(x, self.axis)


class Softmax2d(Cell):
    """Softmax over the channels of images (N, C, H, W) or (C, H, W), at each pixel."""

    def construct(self, x: Any) -> Tensor:
        if x.ndim not in (3, 4):
            raise ValueError("the input of Softmax2d must have 3 or 4 dimensions")
        return ops.softmax(x, -3)


class Softmin(_AlongAxis):
    """Softmax of -x along an axis."""

    def construct(self, x: Any) -> Tensor:
        return ops.softmin(x, self.axis)


class Softsign(Cell):
    """Softsign: x / (1 + abs(x))."""

    def construct(self, x: Any) -> Tensor:
        return ops.softsign(x)


class Tanh(Cell):
    """Hyperbolic tangent."""

    def construct(self, x: Any) -> Tensor:
        return ops.tanh(x)


class Tanhshrink(Cell):
    """Tanh shrinkage: x - tanh(x)."""

    def construct(self, x: Any) -> Tensor:
        return ops.tanhshrink(x)


class Threshold(Cell):
    """x where x > threshold, else ``value``."""

    def __init__(self, threshold: float, value: float):
        super().__init__()
        self.threshold, self.value = threshold, value

    def construct(self, x: Any) -> Tensor:
        return ops.threshold(x, self.threshold, self.value)


_BY_NAME: dict[str, type[Cell]] = {
    "elu": ELU,
    "fast_gelu": FastGelu,
    "gelu": GELU,
    "hshrink": HShrink,
    "hsigmoid": HSigmoid,
    "hswish": HSwish,
    "leakyrelu": LeakyReLU,
    "logsigmoid": LogSigmoid,
    "logsoftmax": LogSoftmax,
    "prelu": PReLU,
    "relu": ReLU,
    "relu6": ReLU6,
    "sigmoid": Sigmoid,
    "silu": SiLU,
    "softmax": Softmax,
    "softshrink": SoftShrink,
    "tanh": Tanh,
}


def get_activation(name: str | None) -> Cell | None:
    """Returns a new layer by its lower-case name; None for None."""
    if name is None:
        return None
    if name not in _BY_NAME:
        raise KeyError(f"For 'get_activation', '{name}' is none of {sorted(_BY_NAME)}.")
    return _BY_NAME[name]()


__all__ = [
    "CELU",
    "ELU",
    "FastGelu",
    "GELU",
    "GLU",
    "HShrink",
    "HSigmoid",
    "HSwish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SeLU",
    "SiLU",
    "Sigmoid",
    "SoftShrink",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "get_activation",
]
