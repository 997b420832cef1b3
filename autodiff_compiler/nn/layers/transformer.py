"""Transformers of encoder and decoder layers, as "Attention is all you need" has them.

Inputs are (L, N, E), with ``batch_first`` (N, L, E), or without N. Masks are those of
``MultiheadAttention``.
"""

from __future__ import annotations

import copy
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Tensor
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.cells.containers import CellList
from autodiff_compiler.common.initializer import initializer
from autodiff_compiler.nn.layers.activation import GELU, ReLU
from autodiff_compiler.nn.layers.attention import MultiheadAttention
from autodiff_compiler.nn.layers.basic import Dense
from autodiff_compiler.nn.layers.dropout import Dropout
from autodiff_compiler.nn.layers.normalization import LayerNorm

_ACTIVATIONS = {"relu": ops.relu, "gelu": ops.gelu}


class _Layer(Cell):
    """What both layers have: self-attention, and two products with an activation between."""

    #: Whether it also attends to the encoder's output.
    crossed = False

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__()
        known = isinstance(activation, (ReLU, GELU)) or activation in (
            *_ACTIVATIONS,
            *_ACTIVATIONS.values(),
        )
        if not known:
            raise ValueError(
                f"For '{type(self).__name__}', the 'activation' must be 'relu', 'gelu', ops.relu, "
                f"ops.gelu, nn.ReLU() or nn.GELU(), but got {activation!r}."
            )
        options: dict[str, Any] = {"dropout": dropout, "batch_first": batch_first, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, **options)
        if self.crossed:
            self.multihead_attn = MultiheadAttention(d_model, nhead, **options)
        self.dense1 = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dropout = Dropout(p=dropout)
        self.dense2 = Dense(dim_feedforward, d_model, dtype=dtype)
        self.norm_first = norm_first
        parts = range(1, 4 if self.crossed else 3)
        for part in parts:
            norm = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
            setattr(self, f"norm{part}", norm)
        for part in parts:
            setattr(self, f"dropout{part}", Dropout(p=dropout))
        named = isinstance(activation, str)
        self.activation = _ACTIVATIONS[activation] if named else activation

    def attend(self, x: Any, mask: Any, padding: Any) -> Any:
        """What x sees in itself."""
        out = self.self_attn(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False)
        return self.dropout1(out[0])

    def feed(self, x: Any) -> Any:
        """Each place by itself."""
        return self.dense2(self.dropout(self.activation(self.dense1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and feed-forward, each added to its input and normalized."""

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Tensor:
        x = src
        if self.norm_first:
            x = x + self.attend(self.norm1(x), src_mask, src_key_padding_mask)
            return x + self.dropout2(self.feed(self.norm2(x)))
        x = self.norm1(x + self.attend(x, src_mask, src_key_padding_mask))
        return self.norm2(x + self.dropout2(self.feed(x)))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, and feed-forward."""

    crossed = True

    def attend_to(self, x: Any, memory: Any, mask: Any, padding: Any) -> Any:
        """What x sees in the encoder's output."""
        out = self.multihead_attn(
            x, memory, memory, attn_mask=mask, key_padding_mask=padding, need_weights=False
        )
        return self.dropout2(out[0])

    def construct(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Tensor:
        x = tgt
        if self.norm_first:
            x = x + self.attend(self.norm1(x), tgt_mask, tgt_key_padding_mask)
            x = x + self.attend_to(self.norm2(x), memory, memory_mask, memory_key_padding_mask)
            return x + self.dropout3(self.feed(self.norm3(x)))
        x = self.norm1(x + self.attend(x, tgt_mask, tgt_key_padding_mask))
        x = self.norm2(x + self.attend_to(x, memory, memory_mask, memory_key_padding_mask))
        return self.norm3(x + self.dropout3(self.feed(x)))


class TransformerEncoder(Cell):
    """Copies of an encoder layer, one after the other, and perhaps a norm at the end."""

    def __init__(self, encoder_layer: Cell, num_layers: int, norm: Cell | None = None):
        super().__init__()
        self.layers = CellList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Tensor:
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=src_mask, src_key_padding_mask=src_key_padding_mask)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(Cell):
    """Copies of a decoder layer, one after the other, and perhaps a norm at the end."""

    def __init__(self, decoder_layer: Cell, num_layers: int, norm: Cell | None = None):
        super().__init__()
        self.layers = CellList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def construct(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Tensor:
        x = tgt
        for layer in self.layers:
            x = layer(
                x,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
            )
        return x if self.norm is None else self.norm(x)


class Transformer(Cell):
    """Encoder and decoder: ``transformer(src, tgt)``. Matrices start by Glorot's rule."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        custom_encoder: Cell | None = None,
        custom_decoder: Cell | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__()
        settings = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            dtype,
        )

        def norm() -> LayerNorm:
            return LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*settings), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*settings), num_decoder_layers, norm()
        )
        for parameter in self.get_parameters():
            if parameter.ndim > 1:
                start = initializer("xavier_uniform", parameter.shape, parameter.dtype)
                parameter.set_data(start)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def construct(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Tensor:
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise ValueError("the last dimension of src and tgt must be d_model")
        memory = self.encoder(src, src_mask=src_mask, src_key_padding_mask=src_key_padding_mask)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
        )


__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]
