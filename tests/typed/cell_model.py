"""A user's model and training loop, with every type written: ``make types`` checks it strictly."""

from __future__ import annotations

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops


class Net(nn.Cell):
    """Two dense layers, scaled by a Parameter."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = nn.Dense(2, width)
        self.out = nn.Dense(width, 1)
        self.matmul = ops.MatMul()
        self.scale = Parameter(Tensor(np.ones(1, np.float32)), name="scale")

    def construct(self, x: Tensor, slope: float = 1.0) -> Tensor:
        h = ops.tanh(self.hidden(x) * slope)
        return self.out(h) * self.scale


class Loss(nn.Cell):
    """The mean squared error, by Tensor methods."""

    def __init__(self, net: Net) -> None:
        super().__init__()
        self.net = net

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        error = self.net(x) - y
        return (error * error).mean()


def data(seed: int) -> tuple[Tensor, Tensor]:
    """Return points and what the net is to answer there."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(32, 2)).astype(np.float32)
    return Tensor(x), Tensor(np.sin(x).sum(axis=1, keepdims=True))


def train(steps: int) -> list[float]:
    """Train with an optimizer; return the losses."""
    ms.set_seed(1)
    x, y = data(0)
    loss = Loss(Net(8))
    optimizer = nn.Adam(loss.trainable_params(), learning_rate=0.02)
    step = ms.value_and_grad(loss, None, optimizer.parameters)
    losses: list[float] = []
    for _ in range(steps):
        value, gradients = step(x, y)
        optimizer(gradients)
        losses.append(float(value))
    return losses


def train_in_steps(steps: int) -> list[float]:
    """Train with the Cells for it; return the losses."""
    ms.set_seed(1)
    net = Net(8)
    with_loss = nn.WithLossCell(net, nn.MSELoss())
    step = nn.TrainOneStepCell(with_loss, nn.SGD(net.trainable_params(), 0.1)).set_train()
    return [float(step(*data(0))) for _ in range(steps)]


def descend(loss: Loss, x: Tensor, y: Tensor, rate: float) -> None:
    """Make one step of gradient descent by hand."""
    weights = loss.trainable_params()
    gradients = ms.grad(loss, None, weights)(x, y)
    for weight, gradient in zip(weights, gradients):
        weight.set_data(weight - rate * gradient)


def sensitivity(net: Net, x: Tensor) -> Tensor:
    """Return the gradient of the summed outputs in the inputs."""
    return ms.grad(net)(x, 0.5)


@ms.jit
def activation(x: Tensor) -> Tensor:
    """Return a smooth step, compiled."""
    return ops.sigmoid(4.0 * x).clip(0.0, 1.0)
