"""The functions of a dense layer: a product with a weight, and a bias."""

from __future__ import annotations

from typing import Any

from autodiff_compiler.operators import structure
from autodiff_compiler.ops import arrays
from autodiff_compiler.ops._shapes import known_rank
from autodiff_compiler.ops.normalization import channel_shaped
from autodiff_compiler.ops.primitive import Primitive


def dense(input: Any, weight: Any, bias: Any = None) -> Any:
    """input @ weight.T + bias over the last axis; a weight of one axis makes one output."""
    if known_rank(weight, "dense") == 2:
        weight = structure.transpose(weight, perm=(1, 0))
    out = arrays.matmul(input, weight)
    return out if bias is None else out + bias


def bias_add(input_x: Any, bias: Any) -> Any:
    """Adds one number per channel, which are axis 1."""
    return input_x + channel_shaped(bias, known_rank(input_x, "bias_add"))


class Dense(Primitive):
    """``dense``: ``Dense()(input, weight, bias)``."""

    def __call__(self, input: Any, weight: Any, bias: Any = None) -> Any:
        return dense(input, weight, bias)


__all__ = ["bias_add", "dense"]
