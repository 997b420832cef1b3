"""Dropout: nothing but in training; there zeros and scaled elements, or whole channels of them."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn

ONES = np.ones((4, 5, 6, 7), np.float32)


def test_elements() -> None:
    ms.set_seed(3)
    net = nn.Dropout(p=0.25)
    np.testing.assert_array_equal(net(Tensor(ONES)).asnumpy(), ONES)
    net.set_train()
    out = net(Tensor(ONES)).asnumpy()
    assert set(np.unique(out)) == {0.0, np.float32(1 / 0.75)}
    assert out.mean() == pytest.approx(1, abs=0.1)
    keep = nn.Dropout(keep_prob=0.25).set_train()
    assert keep(Tensor(ONES)).asnumpy().max() == 4.0
    assert [repr(net), repr(keep)] == ["Dropout(p=0.25)", "Dropout(keep_prob=0.25)"]


@pytest.mark.parametrize("layer, rank", [(nn.Dropout1d, 3), (nn.Dropout2d, 4), (nn.Dropout3d, 5)])
def test_channels(layer: type[nn.Cell], rank: int) -> None:
    ms.set_seed(3)
    ones = np.ones((8, 9, 2, 2, 2)[:rank], np.float32)
    net = layer(0.5)
    np.testing.assert_array_equal(net(Tensor(ones)).asnumpy(), ones)
    out = net.set_train()(Tensor(ones)).asnumpy().reshape(72, -1)
    assert (out == out[:, :1]).all() and set(np.unique(out)) == {0.0, 2.0}


def test_the_gradient_passes_through_elements_that_are_not_dropped() -> None:
    net = nn.Dropout(p=0.5).set_train()
    forward = ms.value_and_grad(net)
    value, gradient = forward(Tensor(ONES))
    np.testing.assert_array_equal(gradient.asnumpy(), value.asnumpy())


def test_refusals() -> None:
    with pytest.raises(ValueError, match="the 'p' must be in"):
        nn.Dropout(p=1.0)
    with pytest.raises(ValueError, match="'keep_prob' must be in"):
        nn.Dropout(0.0)
    with pytest.raises(TypeError, match="must be a float"):
        nn.Dropout2d("half")
    with pytest.raises(ValueError, match="the 'upper' must be >="):
        nn.RReLU(0.5, 0.25)
