"""Activation functions under MindSpore's names; most are a line of other functions."""

from __future__ import annotations

__macro__ = True

import math
from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.labels import named
from autodiff_compiler.operators.elementwise import activation, arithmetic, special
from autodiff_compiler.ops.core.argument_aliases import also
from autodiff_compiler.ops.core.one_kernel import as_one_kernel
from autodiff_compiler.ops.core.shape_queries import in_dtype, is_integral, known_rank, shape_of
from autodiff_compiler.ops.functions import arrays, reductions
from autodiff_compiler.ops.functions.elementwise import clip_by_value

#: Self-normalizing networks: Klambauer and others, 2017.
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def elu(input_x: Any, alpha: float = 1.0) -> Tensor:
    """Returns input where it is positive, else alpha * (exp(input) - 1)."""
    return activation.elu(input_x, alpha=float(alpha))


def celu(x: Any, alpha: float = 1.0) -> Tensor:
    """Returns x where it is positive, else alpha * (exp(x / alpha) - 1)."""
    return elu(x) if alpha == 1 else alpha * elu(x / alpha)


def selu(input_x: Any) -> Tensor:
    """Returns ``elu`` scaled so that mean 0 and variance 1 are kept from layer to layer."""
    return _SELU_SCALE * elu(input_x, _SELU_ALPHA)


@as_one_kernel
def gelu(input: Any, approximate: str = "none") -> Tensor:
    """Returns input * Phi(input) with the normal distribution's Phi; 'tanh' approximates it."""
    if approximate == "none":
        return 0.5 * input * special.erfc(-input / math.sqrt(2.0))
    if approximate == "tanh":
        scaled = math.sqrt(8.0 / math.pi) * input
        inner = scaled * named("factor", 1.0 + 0.044715 * arithmetic.square(input))
        inner = named("inner", inner)
        return input * activation.sigmoid(inner)  # 1 + tanh(u / 2) is 2 sigmoid(u)
    raise ValueError(f"approximate must be 'none' or 'tanh', not {approximate!r}")


@as_one_kernel
def fast_gelu(x: Any) -> Tensor:
    """Returns x * sigmoid(1.702 x), close to ``gelu``."""
    return x * activation.sigmoid(1.702 * x)


@as_one_kernel
def silu(input: Any) -> Tensor:
    """Returns input * sigmoid(input)."""
    return input * activation.sigmoid(input)


@also(x="input")
def mish(input: Any) -> Tensor:
    """Returns input * tanh(softplus(input))."""
    return input * activation.tanh(activation.softplus(input))


def logsigmoid(x: Any) -> Tensor:
    """Returns log(sigmoid(x)), exact also where the sigmoid is 0."""
    return -activation.softplus(-x)


def relu6(x: Any) -> Tensor:
    """Returns x limited to [0, 6]; the slope is 0 at 0 and 1 at 6."""
    return arithmetic.clip(arithmetic.relu(x), 0, 6)


def leaky_relu(input: Any, alpha: float = 0.2) -> Tensor:
    """Returns input where it is positive, else alpha * input; the slope at 0 is between both."""
    return activation.leaky_relu(input, slope=float(alpha))


def prelu(input: Any, weight: Any) -> Tensor:
    """Returns input where it is positive, else weight * input: one weight, or one for each
    channel."""
    rank, shape = known_rank(input, "prelu"), shape_of(weight)
    if shape is None or len(shape) != 1:
        raise ShapeError(
            "the weight of prelu must have one axis",
            "give the weight the shape (1,) or (channels,)",
        )
    if rank > 2 and shape != (1,):
        weight = arrays.reshape(weight, (-1, *(1,) * (rank - 2)))
    return arithmetic.where(input > 0, input, weight * input)


def hardsigmoid(input: Any) -> Tensor:
    """Returns input / 6 + 1 / 2, cut to [0, 1]."""
    return activation.hardsigmoid(input)


def hardswish(input: Any) -> Tensor:
    """Returns input * hardsigmoid(input); at -3 and 3 the slope is that of the parabola."""
    return input * arithmetic.clip(input / 6.0 + 0.5, 0.0, 1.0)


def hardtanh(input: Any, min_val: Any = -1.0, max_val: Any = 1.0) -> Tensor:
    """Returns input limited to [min_val, max_val]; at both ends the slope is a half."""
    return clip_by_value(input, min_val, max_val)


@also(input="x")
def hardshrink(x: Any, lambd: float = 0.5) -> Tensor:
    """Returns x outside of [-lambd, lambd], else 0."""
    return arithmetic.where(arithmetic.abs(x) > lambd, x, 0.0)


def softshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """Returns input moved by lambd towards 0, and not beyond."""
    return input - arithmetic.clip(input, -float(lambd), float(lambd))


def tanhshrink(input: Any) -> Tensor:
    """Returns input - tanh(input)."""
    return input - activation.tanh(input)


def softsign(x: Any) -> Tensor:
    """Returns x / (1 + abs(x))."""
    return activation.softsign(x)


def softmin(x: Any, axis: int = -1, *, dtype: Any = None) -> Tensor:
    """Returns ``softmax`` of -x."""
    return reductions.softmax(-in_dtype(x, dtype), axis)


def threshold(input: Any, thr: Any, value: Any) -> Tensor:
    """Returns input where it is above ``thr``, else ``value``."""
    value = int(value) if is_integral(input) else float(value)
    return arithmetic.where(input > thr, input, value)


def glu(x: Any, axis: int = -1) -> Tensor:
    """Returns the first half along an axis times the sigmoid of the second."""
    first, second = _halves(x, axis, "glu")
    return first * activation.sigmoid(second)


def swiglu(input: Any, dim: int = -1) -> Tensor:
    """Returns the ``silu`` of the first half along an axis times the second."""
    first, second = _halves(input, dim, "swiglu")
    return silu(first) * second


def _halves(x: Any, axis: int, what: str) -> tuple[Any, Any]:
    shape = shape_of(x)
    size = None if shape is None else shape[axis]
    if not isinstance(size, int) or size % 2:
        raise ShapeError(
            f"{what} splits axis {axis} in two, and its size is {size if size else 'not known'}",
            "use an axis of even, known size",
        )
    first, second = arrays.chunk(x, 2, axis)
    return first, second


__all__ = [
    "celu",
    "elu",
    "fast_gelu",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "logsigmoid",
    "mish",
    "prelu",
    "relu6",
    "selu",
    "silu",
    "softmin",
    "softshrink",
    "softsign",
    "swiglu",
    "tanhshrink",
    "threshold",
]
