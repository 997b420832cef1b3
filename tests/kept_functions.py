"""Functions, Cells and what is made of them, under names that another process can import."""

from __future__ import annotations

from typing import Any

import numpy as np

import autodiff_compiler as ad
from autodiff_compiler import Parameter, Tensor, nn, ops


def cubes(x: Any) -> Any:
    return np.sum(x**3)


def product(x: Any, y: Any) -> Any:
    return np.sum(x * x * y)


@ad.jit
def jitted(x: Any) -> Any:
    return np.sum(x**3)


@ad.differentiable
def checked(x: Any) -> Any:
    return np.sum(x**3)


class Scale(nn.Cell):
    def __init__(self, factor: float = 2.0):
        super().__init__()
        self.factor = factor
        self.w = Parameter(Tensor(np.array([2.0, 3.0], np.float32)), name="w")

    def construct(self, x: Any) -> Any:
        return ops.sum(x * x * self.w * self.factor)


@ad.differentiable
class Checked(Scale):
    pass


X = np.array([1.0, 2.0])
T = Tensor(X.astype(np.float32))


def _scaled(**flags: Any) -> Any:
    net = Scale()
    return ops.GradOperation(**flags)(net, net.trainable_params())


#: What is called, and on what.
MADE: dict[str, Any] = {
    "grad": lambda: (ad.grad(cubes), (X,)),
    "value_and_grad": lambda: (ad.value_and_grad(product, (0, 1)), (X, X)),
    "GradOperation": lambda: (ops.GradOperation()(Scale()), (T,)),
    "GradOperation, weights": lambda: (_scaled(get_by_list=True), (T,)),
    "GradOperation, all": lambda: (_scaled(get_all=True, get_by_list=True), (T,)),
    "weights by name": lambda: _by_weight(),
    "method": lambda: (ad.grad(Scale().construct), (T,)),
    "jit": lambda: (jitted, (X,)),
    "grad of jit": lambda: (ad.grad(jitted), (X,)),
    "jit of grad": lambda: (ad.jit(ad.grad(cubes)), (X,)),
    "differentiable": lambda: (checked, (X,)),
    "grad of differentiable": lambda: (ad.grad(checked), (X,)),
    "Cell": lambda: (Scale(), (T,)),
    "jitted Cell": lambda: (ad.jit(Scale()), (T,)),
    "differentiable Cell": lambda: (Checked(), (T,)),
    "vmap": lambda: (ad.vmap(cubes), (np.ones((3, 2)),)),
    "jacfwd": lambda: (ad.jacfwd(cubes), (X,)),
    "jacrev": lambda: (ad.jacrev(cubes), (X,)),
    "hessian": lambda: (ad.hessian(cubes), (X,)),
    "grad of grad": lambda: (ad.grad(ad.grad(cubes)), (X,)),
    "train step": lambda: _train_step(),
}


def _by_weight() -> tuple:
    net = Scale()
    return ad.grad(net, None, {"w": net.w}), (T,)


def _train_step() -> tuple:
    net = Scale()
    return nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.0)), (T,)


def numbers(answer: Any) -> Any:
    """An answer in plain lists."""
    if isinstance(answer, (tuple, list)):
        return [*map(numbers, answer)]
    if isinstance(answer, dict):
        return {key: numbers(item) for key, item in answer.items()}
    return np.asarray(answer.asnumpy() if isinstance(answer, Tensor) else answer).tolist()


def asked(function: Any, args: tuple) -> Any:
    """What ``function`` answers, in plain lists; for another process."""
    return numbers(function(*args))
