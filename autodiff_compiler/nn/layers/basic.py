"""``Dense``, ``Embedding``, and layers that only reshape."""

from __future__ import annotations

import math
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Tensor
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.initializer import HeUniform, Uniform, initializer
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.nn.layers.activation import get_activation
from autodiff_compiler.ops.core.primitive_base import Primitive


def positive_int(value: Any, argument: str, layer: str) -> int:
    """Returns ``value`` if it is a positive int; anything else is a ValueError."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"For '{layer}', the '{argument}' must be int and > 0, but got {value!r}.")
    return value


class Dense(Cell):
    """Fully connected layer: activation(x @ weight.T + bias), over the last axis of x."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        activation: Any = None,
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__()
        self.in_channels = positive_int(in_channels, "in_channels", "Dense")
        self.out_channels = positive_int(out_channels, "out_channels", "Dense")
        self.has_bias = has_bias
        weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        start = initializer(weight_init, (out_channels, in_channels), dtype)
        self.weight = Parameter(start, name="weight")
        self.bias = None
        if has_bias:
            bias_init = Uniform(1 / math.sqrt(in_channels)) if bias_init is None else bias_init
            self.bias = Parameter(initializer(bias_init, (out_channels,), dtype), name="bias")
        self.activation = get_activation(activation) if isinstance(activation, str) else activation
        if not isinstance(self.activation, (Cell, Primitive, type(None))):
            raise TypeError(
                "For 'Dense', the 'activation' must be str or Cell or Primitive, but got "
                f"{type(activation).__name__}."
            )

    def construct(self, x: Any) -> Tensor:
        out = ops.dense(x, self.weight, self.bias)
        if self.activation is not None:
            out = self.activation(out)
        return out

    def extend_repr(self) -> str:
        text = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        text += f", has_bias={self.has_bias}" if self.has_bias else ""
        return text if self.activation is None else f"{text}, activation={self.activation}"


class Embedding(Cell):
    """Trained table of vectors: the row of each index."""

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        use_one_hot: bool = False,
        embedding_table: Any = "normal",
        dtype: mstype.Type = mstype.float32,
        padding_idx: int | None = None,
    ):
        super().__init__()
        self.vocab_size = positive_int(vocab_size, "vocab_size", "Embedding")
        self.embedding_size = positive_int(embedding_size, "embedding_size", "Embedding")
        self.use_one_hot, self.dtype, self.padding_idx = use_one_hot, dtype, padding_idx
        start = initializer(embedding_table, (vocab_size, embedding_size), dtype)
        if padding_idx is not None:
            if not 0 <= padding_idx < vocab_size:
                raise ValueError(
                    f"For 'Embedding', the 'padding_idx' must be in [0, {vocab_size}), but got "
                    f"{padding_idx}."
                )
            start = start.copy()
            start[padding_idx] = 0.0
        self.embedding_table = Parameter(start, name="embedding_table")

    def construct(self, ids: Any) -> Tensor:
        return ops.gather(self.embedding_table, ids, 0)

    def extend_repr(self) -> str:
        return (
            f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, "
            f"use_one_hot={self.use_one_hot}, embedding_table={self.embedding_table}, "
            f"dtype={self.dtype}, padding_idx={self.padding_idx}"
        )


class EmbeddingLookup(Cell):
    """Trained table of vectors: the row of each index, scaled down to ``max_norm`` if longer."""

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        param_init: Any = "normal",
        target: str = "CPU",
        slice_mode: str = "batch_slice",
        manual_shapes: Any = None,
        max_norm: float | None = None,
        sparse: bool = True,
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__()
        self.vocab_size = positive_int(vocab_size, "vocab_size", "EmbeddingLookup")
        self.embedding_size = positive_int(embedding_size, "embedding_size", "EmbeddingLookup")
        if target not in ("CPU", "DEVICE") or slice_mode != "batch_slice":
            raise ValueError(
                "For 'EmbeddingLookup', the 'target' must be 'CPU' or 'DEVICE' and the "
                f"'slice_mode' 'batch_slice', but got {target!r} and {slice_mode!r}."
            )
        if max_norm is not None and max_norm <= 0:
            raise ValueError(f"For 'EmbeddingLookup', the 'max_norm' must be > 0: {max_norm}.")
        self.max_norm = max_norm
        start = initializer(param_init, (vocab_size, embedding_size), dtype)
        self.embedding_table = Parameter(start, name="embedding_table")

    def construct(self, indices: Any) -> Tensor:
        out = ops.gather(self.embedding_table, indices, 0)
        if self.max_norm is not None:
            length = ops.norm(out, dim=-1, keepdim=True)
            out = out * (self.max_norm / ops.maximum(length, self.max_norm))
        return out


class BiDense(Cell):
    """Bilinear layer: output k is the sum of input1[i] * weight[k, i, j] * input2[j], plus bias."""

    def __init__(
        self,
        in1_channels: int,
        in2_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__()
        self.in1_channels = positive_int(in1_channels, "in1_channels", "BiDense")
        self.in2_channels = positive_int(in2_channels, "in2_channels", "BiDense")
        self.out_channels = positive_int(out_channels, "out_channels", "BiDense")
        self.has_bias, self.bias = has_bias, None
        start = Uniform(1 / math.sqrt(in1_channels))
        shape = (out_channels, in1_channels, in2_channels)
        weight_init = start if weight_init is None else weight_init
        self.weight = Parameter(initializer(weight_init, shape, dtype), name="weight")
        if has_bias:
            bias_init = start if bias_init is None else bias_init
            self.bias = Parameter(initializer(bias_init, (out_channels,), dtype), name="bias")

    def construct(self, input1: Any, input2: Any) -> Tensor:
        if input1.shape[:-1] != input2.shape[:-1]:
            raise ValueError("the inputs of BiDense must agree in all dimensions but the last")
        out = ops.tensor_dot(input1, self.weight, ((-1,), (1,)))
        out = ops.sum(out * ops.expand_dims(input2, -2), -1)
        return out if self.bias is None else out + self.bias

    def extend_repr(self) -> str:
        text = f"in1_channels={self.in1_channels}, in2_channels={self.in2_channels}, "
        text += f"output_channels={self.out_channels}"
        return f"{text}, has_bias={self.has_bias}" if self.has_bias else text


class Flatten(Cell):
    """Merge of the axes from ``start_dim`` to ``end_dim`` into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x: Any) -> Tensor:
        return ops.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Unflatten(Cell):
    """Split of one axis into several; one of their sizes may be -1."""

    def __init__(self, axis: int, unflattened_size: Any):
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                "For 'Unflatten', the 'unflattened_size' must be tuple or list, but got "
                f"{unflattened_size!r}."
            )
        self.axis, self.unflattened_size = axis, tuple(unflattened_size)

    def construct(self, input: Any) -> Tensor:
        axis = self.axis % input.ndim
        shape = input.shape
        return ops.reshape(input, (*shape[:axis], *self.unflattened_size, *shape[axis + 1 :]))


class Identity(Cell):
    """The input unchanged. Arguments of the constructor are ignored."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def construct(self, x: Any) -> Any:
        return x


__all__ = [
    "BiDense",
    "Dense",
    "Embedding",
    "EmbeddingLookup",
    "Flatten",
    "Identity",
    "Unflatten",
]
