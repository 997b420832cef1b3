"""Loops of training as programs write them; numbers are MindSpore's, in both of its modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, amp, nn, ops

_DRAWN = np.random.default_rng(0)
X = _DRAWN.normal(size=(12, 4)).astype(np.float32)
Y = (X @ _DRAWN.normal(size=(4, 2))).astype(np.float32)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1, self.relu, self.fc2 = nn.Dense(4, 5), nn.ReLU(), nn.Dense(5, 2)
        drawn = np.random.default_rng(3)
        for parameter in self.trainable_params():
            value = drawn.normal(size=parameter.shape).astype(np.float32)
            parameter.set_data(Tensor(value * np.float32(0.3)))

    def construct(self, x):
        return self.fc2(self.relu(self.fc1(x)))


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.array([float(one) for one in found]), expected, rtol=1e-3)


@ms.jit_class
class Accumulator:
    """Adds gradients up, and takes a step with every third."""

    def __init__(self, optimizer, steps):
        self.inner = optimizer.parameters.clone(prefix="accumulate_", init="zeros")
        self.zeros = optimizer.parameters.clone(prefix="zeros_", init="zeros")
        self.counter = Parameter(Tensor(1, ms.int32), "counter_")
        self.steps, self.optimizer, self.map = steps, optimizer, ops.HyperMap()

    def __call__(self, gradients):
        self.map(ops.partial(ops.assign_add), self.inner, gradients)
        if self.counter % self.steps == 0:
            self.optimizer(self.inner)
            self.map(ops.partial(ops.assign), self.inner, self.zeros)
        ops.assign_add(self.counter, Tensor(1, ms.int32))
        return True


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_are_accumulated(compiled: bool) -> None:
    net, loss_fn = Net(), nn.MSELoss()
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    accumulate = Accumulator(optimizer, 3)

    def forward_fn(data, label):
        return loss_fn(net(data), label) / 3

    grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters)

    def train_step(data, label):
        loss, gradients = grad_fn(data, label)
        accumulate(gradients)
        return loss

    step = ms.jit(train_step) if compiled else train_step
    losses = [step(Tensor(X[k : k + 4]), Tensor(Y[k : k + 4])) for k in (0, 4, 8, 0, 4, 8)]
    close(losses, [1.912, 0.8533, 1.778, 1.594, 0.7768, 1.548])
    close(net.fc2.bias, [-0.1292, -0.7925])
    assert int(accumulate.counter) == 7


def test_a_dynamic_scale_leaves_steps_out() -> None:
    net, loss_fn = Net(), nn.MSELoss()
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    scaler = amp.DynamicLossScaler(2**10, 2, 2)

    def forward_fn(data, label):
        return scaler.scale(loss_fn(net(data), label))

    grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters)
    losses, scales = [], []
    for k in range(5):
        loss, gradients = grad_fn(Tensor(X), Tensor(Y))
        losses.append(scaler.unscale(loss))
        if k == 3:
            gradients = (gradients[0] * np.inf, *gradients[1:])
        finite = amp.all_finite(gradients)
        if finite:
            optimizer(scaler.unscale(gradients))
        scaler.adjust(finite)
        scales.append(scaler.scale_value + 0.0)
    close(losses, [4.543, 3.918, 3.507, 3.203, 3.203])
    close(scales, [1024, 2048, 2048, 1024, 1024])
    close(net.fc2.bias, [-0.3596, -0.7348])


@pytest.mark.parametrize("compiled", [False, True])
def test_how_a_dynamic_scale_moves(compiled: bool) -> None:
    scaler = amp.DynamicLossScaler(1.5, 3, 3)
    adjust = ms.jit(scaler.adjust) if compiled else scaler.adjust
    moves = []
    for finite in (1, 1, 1, 0, 1, 0, 0, 1, 1):
        adjust(Tensor(bool(finite)))
        moves.append((float(scaler.scale_value), int(scaler.counter)))
    up = [(1.5, 1), (1.5, 2), (4.5, 0), (1.5, 0), (1.5, 1)]
    assert moves == [*up, (1.0, 0), (1.0, 0), (1.0, 1), (1.0, 2)]
    largest = amp.DynamicLossScaler(2.0**127, 2, 1)
    largest.adjust(Tensor(True))
    assert float(largest.scale_value) == 2.0**127


def test_a_scale_keeps_dtypes() -> None:
    scaler = amp.StaticLossScaler(4.0)
    half = scaler.unscale((Tensor([1.0], ms.float16), [Tensor([2.0])]))
    assert (
        half[0].dtype == ms.float16 and half[0].tolist() == [0.25] and half[1][0].tolist() == [0.5]
    )
    assert scaler.adjust(Tensor(True)) is False
    for wrong, error in ((0.5, ValueError), ("4", TypeError)):
        with pytest.raises(error, match="the 'scale_value' must be"):
            amp.StaticLossScaler(wrong)
    with pytest.raises(ValueError, match="'scale_window' must be"):
        amp.DynamicLossScaler(2.0, 2, 0)


class Normed(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1, self.norm, self.fc2 = nn.Dense(4, 5), nn.BatchNorm1d(5), nn.Dense(5, 2)

    def construct(self, x):
        return self.fc2(ops.relu(self.norm(self.fc1(x))))


@pytest.mark.parametrize(
    ("level", "casts"), [("O0", [False, False]), ("O2", [True, False]), ("O3", [True, True])]
)
def test_levels_of_mixed_precision(level: str, casts: list[bool]) -> None:
    """Which of layer and norm cast their parameters to float16; the result is float32."""
    net = Normed()
    want = net(Tensor(X)).asnumpy()
    assert amp.auto_mixed_precision(net, level) is net
    out = net(Tensor(X))
    assert out.dtype == ms.float32
    np.testing.assert_allclose(out.asnumpy(), want, atol=2e-3)
    assert (np.abs(out.asnumpy() - want).max() > 0) == (level != "O0")
    source = ms.gradient_source(net, "f32[12,4]", get_by_list=True)
    found = ["weight.astype(np.float16)" in source, "gamma.astype(np.float16)" in source]
    assert found == casts
    gradients = ms.grad(net, None, net.trainable_params())(Tensor(X))
    assert all(gradient.dtype == ms.float32 for gradient in gradients)


def test_levels_that_are_refused() -> None:
    with pytest.raises(ValueError, match="O9 is not supported; O0, O2 and O3 are"):
        amp.auto_mixed_precision(Net(), "O9")
    with pytest.raises(TypeError, match="should be Cell"):
        amp.auto_mixed_precision(lambda x: x, "O2")


def test_an_average_of_the_parameters() -> None:
    net = Net()
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    average = optimizer.parameters.clone(prefix="ema")
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer).set_train()
    history = [net.fc2.bias.asnumpy().copy()]
    for _ in range(3):
        step(Tensor(X), Tensor(Y))
        history.append(net.fc2.bias.asnumpy().copy())
        for kept, parameter in zip(average, optimizer.parameters):
            ops.assign(kept, 0.9 * kept + 0.1 * parameter)
    want = history[0]
    for now in history[1:]:
        want = 0.9 * want + 0.1 * now
    np.testing.assert_allclose(average[3].asnumpy(), want, rtol=1e-5)
    assert np.abs(want - history[-1]).max() > 0.01
