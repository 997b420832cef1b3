"""Activation layers, and ``get_activation``, which knows them by name."""

from __future__ import annotations

from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.initializer import initializer
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.tensor import Tensor


class _Along(Cell):
    """Settings of the layers that work along an axis."""

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = axis


class _Alpha(Cell):
    """Settings of the layers with a negative branch."""

    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = alpha


class _Lambda(Cell):
    """Settings of the layers that shrink."""

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd = lambd


class CELU(_Alpha):
    """x where it is positive, else alpha * (exp(x / alpha) - 1)."""

    def construct(self, x: Any) -> Tensor:
        return ops.celu(x, self.alpha)


class ELU(_Alpha):
    """x where it is positive, else alpha * (exp(x) - 1)."""

    def construct(self, x: Any) -> Tensor:
        return ops.elu(x, self.alpha)


class FastGelu(Cell):
    """x * sigmoid(1.702 x)."""

    def construct(self, x: Any) -> Tensor:
        return ops.fast_gelu(x)


class GELU(Cell):
    """x * Phi(x), by default with the approximation of Phi by tanh."""

    def __init__(self, approximate: bool = True):
        super().__init__()
        self.approximate = approximate

    def construct(self, x: Any) -> Tensor:
        return ops.gelu(x, "tanh" if self.approximate else "none")


class GLU(_Along):
    """The first half along an axis times the sigmoid of the second."""

    def construct(self, x: Any) -> Tensor:
        return ops.glu(x, self.axis)


class HShrink(_Lambda):
    """x outside of [-lambd, lambd], else 0."""

    def construct(self, x: Any) -> Tensor:
        return ops.hardshrink(x, self.lambd)


class HSigmoid(Cell):
    """x / 6 + 1 / 2, cut to [0, 1]."""

    def construct(self, x: Any) -> Tensor:
        return ops.hardsigmoid(x)


class HSwish(Cell):
    """x times its hard sigmoid."""

    def construct(self, x: Any) -> Tensor:
        return ops.hardswish(x)


class Hardtanh(Cell):
    """x limited to [min_val, max_val]."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0):
        super().__init__()
        self.min_val, self.max_val = min_val, max_val

    def construct(self, x: Any) -> Tensor:
        return ops.hardtanh(x, self.min_val, self.max_val)


class LeakyReLU(Cell):
    """x where it is positive, else alpha * x."""

    def __init__(self, alpha: float = 0.2):
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Any) -> Tensor:
        return ops.leaky_relu(x, self.alpha)


class LogSigmoid(Cell):
    """log(sigmoid(x))."""

    def construct(self, x: Any) -> Tensor:
        return ops.logsigmoid(x)


class LogSoftmax(_Along):
    """log(softmax(x)) along an axis."""

    def construct(self, x: Any) -> Tensor:
        return ops.log_softmax(x, self.axis)


class Mish(Cell):
    """x * tanh(softplus(x))."""

    def construct(self, x: Any) -> Tensor:
        return ops.mish(x)


class PReLU(Cell):
    """x where it is positive, else w * x with a trained w, one or one for each channel."""

    def __init__(self, channel: int = 1, w: Any = 0.25, dtype: mstype.Type = mstype.float32):
        super().__init__()
        if channel < 1:
            raise ValueError(f"For 'PReLU', the 'channel' must be positive, but got {channel}.")
        start = Tensor(w, dtype) if isinstance(w, list) else initializer(w, (channel,), dtype)
        self.w = Parameter(start, name="a")

    def construct(self, x: Any) -> Tensor:
        return ops.prelu(x, self.w)


class RReLU(Cell):
    """x where it is not below 0, else times a slope drawn evenly from [lower, upper)."""

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
    """x where it is positive, else 0."""

    def construct(self, x: Any) -> Tensor:
        return ops.relu(x)


class ReLU6(Cell):
    """x limited to [0, 6]."""

    def construct(self, x: Any) -> Tensor:
        return ops.relu6(x)


class SeLU(Cell):
    """The scaled ELU of self-normalizing networks."""

    def construct(self, x: Any) -> Tensor:
        return ops.selu(x)


class SiLU(Cell):
    """x * sigmoid(x)."""

    def construct(self, x: Any) -> Tensor:
        return ops.silu(x)


class Sigmoid(Cell):
    """1 / (1 + exp(-x))."""

    def construct(self, x: Any) -> Tensor:
        return ops.sigmoid(x)


class SoftShrink(_Lambda):
    """x moved by lambd towards 0, and not beyond."""

    def construct(self, x: Any) -> Tensor:
        return ops.softshrink(x, self.lambd)


class Softmax(_Along):
    """exp(x) / sum(exp(x)) along an axis."""

    def construct(self, x: Any) -> Tensor:
        return ops.softmax(x, self.axis)


class Softmax2d(Cell):
    """The softmax of the channels of an image (N, C, H, W) or (C, H, W), place by place."""

    def construct(self, x: Any) -> Tensor:
        if x.ndim not in (3, 4):
            raise ValueError("the input of Softmax2d must have 3 or 4 dimensions")
        return ops.softmax(x, -3)


class Softmin(_Along):
    """The softmax of -x."""

    def construct(self, x: Any) -> Tensor:
        return ops.softmin(x, self.axis)


class Softsign(Cell):
    """x / (1 + abs(x))."""

    def construct(self, x: Any) -> Tensor:
        return ops.softsign(x)


class Tanh(Cell):
    """The hyperbolic tangent."""

    def construct(self, x: Any) -> Tensor:
        return ops.tanh(x)


class Tanhshrink(Cell):
    """x - tanh(x)."""

    def construct(self, x: Any) -> Tensor:
        return ops.tanhshrink(x)


class Threshold(Cell):
    """x where it is above a threshold, else a value."""

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
    """A new layer by its name in small letters; None for none."""
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
