"""Transformers of encoder and decoder layers, after "Attention is all you need".

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
    """Base of encoder and decoder layers: self-attention and a feed-forward network."""

    #: True if the layer also attends to the encoder's output.
    has_cross_attention = False

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
        accepted = (*_ACTIVATIONS, *_ACTIVATIONS.values())
        if not isinstance(activation, (ReLU, GELU)) and activation not in accepted:
            raise ValueError(
                f"For '{type(self).__name__}', the 'activation' must be 'relu', 'gelu', ops.relu, "
                f"ops.gelu, nn.ReLU() or nn.GELU(), but got {activation!r}."
            )
        options: dict[str, Any] = {"dropout": dropout, "batch_first": batch_first, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, **options)
        if self.has_cross_attention:
            self.multihead_attn = MultiheadAttention(d_model, nhead, **options)
        self.dense1 = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dropout = Dropout(p=dropout)
        self.dense2 = Dense(dim_feedforward, d_model, dtype=dtype)
        self.norm_first = norm_first
        blocks = range(1, 4 if self.has_cross_attention else 3)
        for block in blocks:
            norm = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
            setattr(self, f"norm{block}", norm)
        for block in blocks:
            setattr(self, f"dropout{block}", Dropout(p=dropout))
        by_name = isinstance(activation, str)
        self.activation = _ACTIVATIONS[activation] if by_name else activation

    def self_attention(self, x: Any, mask: Any, padding: Any) -> Any:
        """Returns the self-attention of x, with dropout."""
        out = self.self_attn(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False)
        return self.dropout1(out[0])

    def feed_forward(self, x: Any) -> Any:
        """Applies the feed-forward network to each position by itself."""
        return self.dense2(self.dropout(self.activation(self.dense1(x))))


class TransformerEncoderLayer(_Layer):
    """Encoder layer: self-attention and feed-forward, each added to its input and normalized."""

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Tensor:
        x = src
        if self.norm_first:
            x = x + self.self_attention(self.norm1(x), src_mask, src_key_padding_mask)
            return x + self.dropout2(self.feed_forward(self.norm2(x)))
        x = self.norm1(x + self.self_attention(x, src_mask, src_key_padding_mask))
        return self.norm2(x + self.dropout2(self.feed_forward(x)))


class TransformerDecoderLayer(_Layer):
    """Decoder layer: self-attention, attention to the encoder's output, and feed-forward."""

    has_cross_attention = True

    def cross_attention(self, x: Any, memory: Any, mask: Any, padding: Any) -> Any:
        """Returns the attention of x to the encoder's output, with dropout."""
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
            x = x + self.self_attention(self.norm1(x), tgt_mask, tgt_key_padding_mask)
            y = self.norm2(x)
            x = x + self.cross_attention(y, memory, memory_mask, memory_key_padding_mask)
            return x + self.dropout3(self.feed_forward(self.norm3(x)))
        x = self.norm1(x + self.self_attention(x, tgt_mask, tgt_key_padding_mask))
        x = self.norm2(x + self.cross_attention(x, memory, memory_mask, memory_key_padding_mask))
        return self.norm3(x + self.dropout3(self.feed_forward(x)))


class TransformerEncoder(Cell):
    """Stack of copies of an encoder layer, with an optional norm at the end."""

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
    """Stack of copies of a decoder layer, with an optional norm at the end."""

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
    """Encoder and decoder: ``transformer(src, tgt)``. Matrices have Xavier initial values."""

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
