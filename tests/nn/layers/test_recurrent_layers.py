"""Recurrent layers: steps written out, lengths, dropout between layers, refusals.

Values and gradients against MindSpore are in ``test_measured.py``.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, gradient_source, nn, ops
from autodiff_compiler.testing import check_grads

X = np.random.default_rng(1).normal(size=(4, 2, 3)).astype(np.float32)


def test_a_layer_repeats_its_cell() -> None:
    for layer, cell in ((nn.RNN(3, 5), nn.RNNCell(3, 5)), (nn.GRU(3, 5), nn.GRUCell(3, 5))):
        for into, out_of in zip(cell.get_parameters(), layer.get_parameters()):
            into.set_data(out_of)
        outputs, end = layer(Tensor(X))
        hidden = Tensor(np.zeros((2, 5), np.float32))
        for step, x in enumerate(X):
            hidden = cell(Tensor(x), hidden)
            np.testing.assert_allclose(outputs.asnumpy()[step], hidden.asnumpy(), rtol=1e-5)
        np.testing.assert_allclose(end.asnumpy()[0], hidden.asnumpy(), rtol=1e-5)


def test_steps_beyond_the_length_have_no_effect() -> None:
    net = nn.LSTM(3, 4, bidirectional=True)
    lengths = Tensor(np.array([2, 4], np.int32))
    outputs, (end, cell) = net(Tensor(X), None, lengths)
    short, (short_end, short_cell) = net(Tensor(X[:2, :1]))
    np.testing.assert_allclose(outputs.asnumpy()[:2, :1], short.asnumpy(), rtol=1e-5)
    assert not outputs.asnumpy()[2:, 0].any()
    np.testing.assert_allclose(end.asnumpy()[:, :1], short_end.asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(cell.asnumpy()[:, :1], short_cell.asnumpy(), rtol=1e-5)


def test_dropout_between_layers() -> None:
    ms.set_seed(2)
    net = nn.RNN(3, 4, num_layers=2, dropout=0.5)
    still = net(Tensor(X))[0].asnumpy()
    np.testing.assert_array_equal(net(Tensor(X))[0].asnumpy(), still)
    assert (net.set_train()(Tensor(X))[0].asnumpy() != still).any()


@pytest.mark.thorough
def test_gradients() -> None:
    check_grads(nn.GRU(3, 2), [X[:2, :1]])
    lengths = Tensor(np.array([1, 3], np.int32))
    check_grads(nn.LSTM(3, 2), [X[:3], None, lengths], order=1)


def test_loops_stay_and_weights_are_done_ahead_and_after() -> None:
    """The text does not grow with the steps; its loops hold no product that could be outside."""
    net = nn.LSTM(3, 4)
    texts = [gradient_source(net, f"f32[{n},2,3]", get_by_list=True) for n in (5, 50)]
    assert len(texts[0].splitlines()) == len(texts[1].splitlines())
    loops, inside = [], False
    for line in texts[0].splitlines():
        if line.startswith("    for "):
            inside = True
            loops.append("")
        elif inside and not line.startswith("        ") and "):" not in line:
            inside = False
        if inside:
            loops[-1] += line
    ahead, back = loops
    products = [len(re.findall(r"np\.(?:dot|matmul)\(", text)) for text in (ahead, back, texts[0])]
    assert products == [1, 1, 5]  # of the state, its cotangent, and those over all steps


def test_refusals() -> None:
    with pytest.raises(ValueError, match="'num_layers' must be int and > 0"):
        nn.LSTM(3, 4, 0)
    with pytest.raises(ValueError, match="'dropout' must be in"):
        nn.GRU(3, 4, dropout=1.0)
    with pytest.raises(TypeError, match="'batch_first' must be bool"):
        nn.LSTM(3, 4, batch_first=1)
    with pytest.raises(ValueError, match="'nonlinearity' must be in"):
        nn.RNN(3, 4, nonlinearity="sigmoid")
    states, x = [ops.ones((layers, 2, 5)) for layers in (1, 3)], ops.ones((4, 2, 3))
    pairs = [(nn.LSTM(3, 5, 2), (state, state)) for state in states]
    for net, given in (*pairs, *((nn.GRU(3, 5, 2), state) for state in states)):
        for run in (net, lambda x, hx, net=net: ops.grad(lambda x: net(x, hx)[0].sum())(x)):
            with pytest.raises(ValueError, match="the first axis of a state must have the size 2"):
                run(x, given)
