"""Normalization layers: moving statistics by hand numbers, eager and compiled; names; printing."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.testing import check_grads

#: Means 2 and 5; variances 1 and 4, and divided by one less than the count 2 and 8.
X = np.array([[1.0, 3.0], [3.0, 7.0]], np.float32)


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "compiled"])
def mode(request: pytest.FixtureRequest):  # type: ignore[no-untyped-def]
    before = ms.get_context("mode")
    ms.set_context(mode=request.param)
    yield
    ms.set_context(mode=before)


def test_training_moves_the_statistics_once_per_call(mode: None) -> None:
    net = nn.BatchNorm1d(2).set_train()
    out = net(Tensor(X))
    np.testing.assert_allclose(out.asnumpy(), [[-1, -1], [1, 1]], atol=1e-4)
    np.testing.assert_allclose(net.moving_mean.asnumpy(), [0.2, 0.5], rtol=1e-6)
    np.testing.assert_allclose(net.moving_variance.asnumpy(), [1.1, 1.7], rtol=1e-6)
    net(Tensor(X))
    np.testing.assert_allclose(net.moving_mean.asnumpy(), [0.38, 0.95], rtol=1e-6)
    np.testing.assert_allclose(net.moving_variance.asnumpy(), [1.19, 2.33], rtol=1e-6)


def test_a_gradient_call_moves_the_statistics_once(mode: None) -> None:
    net = nn.BatchNorm1d(2, momentum=0.5).set_train()
    weights = ms.ParameterTuple(net.trainable_params())
    to_x, (to_gamma, to_beta) = ops.GradOperation(True, True)(net, weights)(Tensor(X))
    np.testing.assert_allclose(to_x[0].asnumpy(), 0, atol=1e-5)
    np.testing.assert_allclose(to_gamma.asnumpy(), 0, atol=1e-5)
    np.testing.assert_allclose(to_beta.asnumpy(), [2, 2])
    np.testing.assert_allclose(net.moving_mean.asnumpy(), [1.0, 2.5])
    np.testing.assert_allclose(net.moving_variance.asnumpy(), [1.5, 4.5])


def test_without_training_the_moving_statistics_count(mode: None) -> None:
    net = nn.BatchNorm1d(2, moving_mean_init=1.0, moving_var_init=4.0, eps=0.0)
    np.testing.assert_allclose(net(Tensor(X)).asnumpy(), [[0, 1], [1, 3]])
    np.testing.assert_array_equal(net.moving_mean.asnumpy(), [1, 1])
    always = nn.BatchNorm1d(2, use_batch_statistics=True)
    np.testing.assert_allclose(always(Tensor(X)).asnumpy(), [[-1, -1], [1, 1]], atol=1e-4)


def test_images_are_normalized_per_channel(mode: None) -> None:
    image = Tensor(X.reshape(1, 2, 2, 1).astype(np.float32))
    net = nn.BatchNorm2d(2).set_train()
    np.testing.assert_allclose(net(image).asnumpy().ravel(), [-1, 1, -1, 1], atol=1e-4)
    np.testing.assert_allclose(net.moving_mean.asnumpy(), [0.2, 0.5], rtol=1e-6)


@pytest.mark.parametrize(
    "net, shape",
    [
        (nn.BatchNorm1d(3), (4, 3)),
        (nn.BatchNorm1d(3).set_train(), (4, 3)),
        (nn.BatchNorm2d(2).set_train(), (2, 2, 2, 2)),
        (nn.LayerNorm((4,)), (2, 4)),
        (nn.LayerNorm((2, 3), begin_norm_axis=1, begin_params_axis=1), (2, 2, 3)),
        (nn.GroupNorm(2, 4), (1, 4, 2, 2)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_gradients(net: nn.Cell, shape: tuple[int, ...]) -> None:
    check_grads(net, [np.random.default_rng(3).normal(size=shape)])


def test_instances_are_normalized_by_themselves(mode: None) -> None:
    x = np.random.default_rng(2).normal(size=(2, 3, 4)).astype(np.float32)
    net = nn.InstanceNorm1d(3, eps=0.0)
    want = (x - x.mean(2, keepdims=True)) / x.std(2, keepdims=True)
    np.testing.assert_allclose(net(Tensor(x)).asnumpy(), want, rtol=1e-4, atol=1e-5)
    assert not net.moving_mean.asnumpy().any()
    net.set_train()(Tensor(x))
    np.testing.assert_allclose(net.moving_mean.asnumpy(), 0.9 * x.mean((0, 2)), rtol=1e-4)
    spread = 0.1 + 0.9 * x.var(2, ddof=1).mean(0)
    np.testing.assert_allclose(net.moving_variance.asnumpy(), spread, rtol=1e-4)


def test_channels_last(mode: None) -> None:
    x = np.random.default_rng(2).normal(size=(2, 3, 4, 5)).astype(np.float32)
    got = nn.BatchNorm2d(5, data_format="NHWC").set_train()(Tensor(x)).asnumpy()
    same = nn.BatchNorm2d(5).set_train()(Tensor(x.transpose(0, 3, 1, 2))).asnumpy()
    np.testing.assert_allclose(got, same.transpose(0, 2, 3, 1), rtol=1e-5)


def test_one_element_has_no_spread() -> None:
    net = nn.BatchNorm2d(2).set_train()
    net(Tensor(np.ones((1, 2, 1, 1), np.float32)))
    np.testing.assert_allclose(net.moving_variance.asnumpy(), [0.9, 0.9])


def test_parameters() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.bn = nn.BatchNorm2d(2)
            self.ln = nn.LayerNorm([2])
            self.gn = nn.GroupNorm(1, 2, affine=False)

    names = [parameter.name for parameter in Net().get_parameters()]
    assert names == [
        "bn.moving_mean", "bn.moving_variance", "bn.gamma", "bn.beta",
        "ln.gamma", "ln.beta", "gn.gamma", "gn.beta",
    ]  # fmt: skip
    assert [p.name for p in Net().trainable_params()] == ["bn.gamma", "bn.beta", *names[4:6]]


def test_printing_and_refusals() -> None:
    assert repr(nn.BatchNorm2d(2)).startswith("BatchNorm2d(num_features=2, eps=1e-05, momentum=0.9")
    start = "LayerNorm(normalized_shape=[2], begin_norm_axis=-1, begin_params_axis=-1, gammaParam"
    assert repr(nn.LayerNorm([2])).startswith(start)
    assert repr(nn.GroupNorm(2, 4)) == "GroupNorm(num_groups=2, num_channels=4)"
    with pytest.raises(ValueError, match="another number of dimensions"):
        nn.BatchNorm2d(2)(Tensor(X))
    with pytest.raises(ValueError, match="must be divided by"):
        nn.GroupNorm(3, 4)
    with pytest.raises(ValueError, match="'num_features' must be int and > 0"):
        nn.BatchNorm1d(0)
