"""Multi-head attention: softmax(q k^T / sqrt(head size)) v in each head.

A bool mask is True where a key must not be attended to. A float mask is added to the scores.
"""

from __future__ import annotations

import math
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Tensor
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.initializer import XavierNormal, XavierUniform, initializer
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.nn.layers.basic import Dense, positive_int


def apply_mask(scores: Any, mask: Any) -> Any:
    """Returns the scores with a mask applied that broadcasts with them."""
    if mask is None:
        return scores
    if mask.dtype == mstype.bool_:
        return ops.masked_fill(scores, mask, float("-inf"))
    return scores + mask


def with_one_more_key(mask: Any) -> Any:
    """Returns a mask for one more key, which is attended to."""
    if mask is None:
        return None
    shape = (*mask.shape[:-1], 1)
    return ops.concat((mask, ops.zeros(shape, mask.dtype)), -1)


class MultiheadAttention(Cell):
    """Multi-head attention: ``attention(query, key, value)`` returns (output, weights).

    query is (L, N, E), key (S, N, kdim) and value (S, N, vdim). With ``batch_first`` the axis N
    comes first; it may be left out. key_padding_mask is (N, S), attn_mask (L, S) or
    (N * heads, L, S). The weights are (N, L, S) if they are averaged, else (N, heads, L, S).
    Without ``need_weights`` the result is (output,).
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        has_bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__()
        self.embed_dim = positive_int(embed_dim, "embed_dim", "MultiheadAttention")
        self.num_heads = positive_int(num_heads, "num_heads", "MultiheadAttention")
        if embed_dim % num_heads:
            raise ValueError(
                "For 'MultiheadAttention', the 'embed_dim' must be divisible by 'num_heads', but "
                f"got {embed_dim} and {num_heads}."
            )
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.packed = self.kdim == self.vdim == embed_dim

        def weight(name: str, *shape: int) -> Parameter:
            return Parameter(initializer(XavierUniform(), shape, dtype), name)

        if self.packed:
            self.in_proj_weight = weight("in_proj_weight", 3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = weight("q_proj_weight", embed_dim, embed_dim)
            self.k_proj_weight = weight("k_proj_weight", embed_dim, self.kdim)
            self.v_proj_weight = weight("v_proj_weight", embed_dim, self.vdim)
        self.in_proj_bias = None
        if has_bias:
            self.in_proj_bias = Parameter(
                initializer("zeros", (3 * embed_dim,), dtype), "in_proj_bias"
            )
        self.out_proj = Dense(embed_dim, embed_dim, has_bias=has_bias, dtype=dtype)
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            starts = [initializer(XavierNormal(), (1, 1, embed_dim), dtype) for _ in range(2)]
            self.bias_k = Parameter(starts[0], "bias_k")
            self.bias_v = Parameter(starts[1], "bias_v")

    def project(self, query: Any, key: Any, value: Any) -> Any:
        """Projects queries, keys and values by their weights and biases."""
        if not self.packed:
            w_q, w_k, w_v = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
        else:
            w_q, w_k, w_v = ops.chunk(self.in_proj_weight, 3, 0)
        b_q = b_k = b_v = None
        if self.in_proj_bias is not None:
            b_q, b_k, b_v = ops.chunk(self.in_proj_bias, 3, 0)
        q, k = ops.dense(query, w_q, b_q), ops.dense(key, w_k, b_k)
        return q, k, ops.dense(value, w_v, b_v)

    def split_heads(self, x: Any) -> Any:
        """Reshapes (N, L, E) to (N, heads, L, E / heads)."""
        split = ops.reshape(x, (x.shape[0], x.shape[1], self.num_heads, -1))
        return ops.transpose(split, (0, 2, 1, 3))

    def construct(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
    ) -> tuple[Tensor, ...]:
        batched = query.ndim == 3
        if not batched:
            query, key, value = query[None], key[None], value[None]
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask[None]
        elif not self.batch_first:
            query, key = ops.swapaxes(query, 0, 1), ops.swapaxes(key, 0, 1)
            value = ops.swapaxes(value, 0, 1)
        if query.shape[-1] != self.embed_dim:
            raise ValueError("the last dimension of the query must be embed_dim")
        batch, length = query.shape[0], query.shape[1]
        q, k, v = self.project(query, key, value)
        if self.bias_k is not None:
            k = ops.concat((k, ops.broadcast_to(self.bias_k, (batch, 1, self.embed_dim))), 1)
            v = ops.concat((v, ops.broadcast_to(self.bias_v, (batch, 1, self.embed_dim))), 1)
            attn_mask = with_one_more_key(attn_mask)
            key_padding_mask = with_one_more_key(key_padding_mask)
        if self.add_zero_attn:
            zero = ops.zeros((batch, 1, self.embed_dim), k.dtype)
            k, v = ops.concat((k, zero), 1), ops.concat((v, zero), 1)
            attn_mask = with_one_more_key(attn_mask)
            key_padding_mask = with_one_more_key(key_padding_mask)
        q, k, v = self.split_heads(q), self.split_heads(k), self.split_heads(v)
        scale = 1.0 / math.sqrt(self.embed_dim // self.num_heads)
        scores = ops.matmul(q * scale, ops.swapaxes(k, 2, 3))
        if attn_mask is not None and attn_mask.ndim == 3:
            attn_mask = ops.reshape(attn_mask, (batch, self.num_heads, length, -1))
        scores = apply_mask(scores, attn_mask)
        if key_padding_mask is not None:
            scores = apply_mask(scores, key_padding_mask[:, None, None])
        weights = ops.dropout(ops.softmax(scores, -1), self.dropout, self.training)
        heads = ops.transpose(ops.matmul(weights, v), (0, 2, 1, 3))
        out = self.out_proj(ops.reshape(heads, (batch, length, self.embed_dim)))
        if not batched:
            out = out[0]
        elif not self.batch_first:
            out = ops.swapaxes(out, 0, 1)
        if not need_weights:
            return (out,)
        if average_attn_weights:
            weights = ops.mean(weights, 1)
        return out, weights if batched else weights[0]


__all__ = ["MultiheadAttention"]
