"""Attention and Transformers: what masks hide, dropout, one text for equal blocks, refusals.

Values and gradients against MindSpore are in ``test_measured.py``.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, gradient_source, nn
from autodiff_compiler.testing import check_grads

X = np.random.default_rng(1).normal(size=(4, 2, 6)).astype(np.float32)


def test_attention_written_out() -> None:
    net = nn.MultiheadAttention(6, 2, has_bias=False, batch_first=True)
    x = X.transpose(1, 0, 2)
    out, weights = net(Tensor(x), Tensor(x), Tensor(x), average_attn_weights=False)
    q, k, v = np.split(x @ net.in_proj_weight.asnumpy().T, 3, -1)
    joined = []
    for head in (slice(0, 3), slice(3, 6)):
        scores = np.exp(q[..., head] @ k[..., head].transpose(0, 2, 1) / np.sqrt(3))
        share = scores / scores.sum(-1, keepdims=True)
        np.testing.assert_allclose(weights.asnumpy()[:, len(joined)], share, rtol=1e-4)
        joined.append(share @ v[..., head])
    want = np.concatenate(joined, -1) @ net.out_proj.weight.asnumpy().T
    np.testing.assert_allclose(out.asnumpy(), want, rtol=1e-4, atol=1e-5)


def test_masked_positions_have_no_effect() -> None:
    net = nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0)
    ahead = Tensor(np.triu(np.ones((4, 4), bool), 1))
    whole = net(Tensor(X), ahead).asnumpy()
    np.testing.assert_allclose(net(Tensor(X[:3]), ahead[:3, :3]).asnumpy(), whole[:3], rtol=1e-4)
    padding = np.zeros((2, 4), bool)
    padding[0, 3] = True
    padded = net(Tensor(X), None, Tensor(padding)).asnumpy()
    np.testing.assert_allclose(net(Tensor(X[:3])).asnumpy()[:, 0], padded[:3, 0], rtol=1e-4)
    gradient = ms.GradOperation()(net)(Tensor(X), ahead).asnumpy()
    assert np.isfinite(gradient).all() and gradient.any()


@pytest.mark.thorough
def test_gradients() -> None:
    net = nn.TransformerDecoderLayer(4, 2, 3, dropout=0.0, norm_first=True)
    x = X[:2, :1, :4].copy()
    check_grads(net, [x, X[:3, :1, 2:].copy()], order=1)


def test_dropout_in_training() -> None:
    ms.set_seed(4)
    net = nn.TransformerEncoderLayer(6, 2, 8, dropout=0.5)
    still = net(Tensor(X)).asnumpy()
    np.testing.assert_array_equal(net(Tensor(X)).asnumpy(), still)
    assert (net.set_train()(Tensor(X)).asnumpy() != still).any()


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_twelve_equal_blocks_are_one_text(kind: str) -> None:
    """Also the first one, whose input has no gradient; more blocks add calls alone."""
    if kind == "encoder":
        net = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0), 12)
    else:
        net = nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 2, 8, dropout=0.0), 12)
    types = ["f32[4,2,6]"] * (1 if kind == "encoder" else 2)
    text = gradient_source(net, *types, get_by_list=True)
    for half in ("forward", "backward"):
        block = f"transformer_{kind}_layer_{half}"
        assert re.findall(rf"^def ({block}\w*)\(", text, re.M) == [block]
        assert text.count(f"= {block}(") == 12


def test_copies_are_independent() -> None:
    layer = nn.TransformerEncoderLayer(6, 2, 8)
    net = nn.TransformerEncoder(layer, 2)
    layer.dense1.weight.set_data(Tensor(np.zeros((8, 6), np.float32)))
    one, other = net.layers
    np.testing.assert_array_equal(one.dense1.weight.asnumpy(), other.dense1.weight.asnumpy())
    assert one.dense1.weight.asnumpy().any() and one.dense1.weight is not other.dense1.weight


def test_refusals() -> None:
    with pytest.raises(ValueError, match="must be divisible by 'num_heads'"):
        nn.MultiheadAttention(6, 4)
    with pytest.raises(ValueError, match="'activation' must be"):
        nn.TransformerEncoderLayer(6, 2, activation="tanh")
    with pytest.raises(ValueError, match="must be d_model"):
        nn.Transformer(4, 2, 1, 1, 4)(Tensor(X), Tensor(X))
