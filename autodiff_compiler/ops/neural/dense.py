"""The functions of a dense layer: a product with a weight, and a bias."""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.operators.core import structure
from autodiff_compiler.ops.core.one_kernel import as_one_kernel
from autodiff_compiler.ops.core.primitive_base import Primitive
from autodiff_compiler.ops.core.shape_queries import known_rank
from autodiff_compiler.ops.functions import arrays, reductions
from autodiff_compiler.ops.neural.normalization import channel_shaped


@as_one_kernel
def dense(input: Any, weight: Any, bias: Any = None) -> Tensor:
    """Returns input @ weight.T + bias over the last axis; a weight of one axis makes one output."""
    if known_rank(weight, "dense") == 2:
        weight = structure.transpose(weight, perm=(1, 0))
    out = arrays.matmul(input, weight)
    return out if bias is None else out + bias


@as_one_kernel
def bias_add(input_x: Any, bias: Any) -> Tensor:
    """Adds one number per channel, which are axis 1."""
    return input_x + channel_shaped(bias, known_rank(input_x, "bias_add"))


def bidense(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Tensor:
    """Returns input1 @ weight[o] @ input2 plus the bias for each output o.

    Shapes: (*, m), (*, n), (outputs, m, n), (outputs,) to (*, outputs).
    """
    lead, rank = arrays.shape(input1)[:-1], known_rank(input1, "bidense")
    outputs, rows, columns = arrays.shape(weight)
    flat = arrays.reshape(structure.transpose(weight, perm=(1, 0, 2)), (rows, -1))
    first = arrays.reshape(arrays.matmul(input1, flat), (*lead, outputs, columns))
    out = reductions.sum(first * arrays.expand_dims(input2, rank - 1), -1)
    return out if bias is None else out + bias


class Dense(Primitive):
    """``dense``: ``Dense()(input, weight, bias)``."""

    def __call__(self, input: Any, weight: Any, bias: Any = None) -> Tensor:
        return dense(input, weight, bias)


__all__ = ["bias_add", "bidense", "dense"]
