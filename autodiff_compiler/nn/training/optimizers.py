"""Optimizers. p is a parameter, g its gradient, lr the learning rate of the step."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_compiler import ops
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.nn.training.optimizer_base import Optimizer


def _number(value: float, name: str | None = None) -> Any:
    return Parameter(Tensor(np.float32(value)), name)


def _check(layer: str, bounds: str, **values: float) -> None:
    """Raises ValueError for a number outside of '[0, inf)', '(0, 1)' or '(0, inf)'."""
    for name, value in values.items():
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        is_above = is_number and (value >= 0 if bounds[0] == "[" else value > 0)
        if not is_above or (bounds.endswith("1)") and value >= 1):
            raise ValueError(f"For '{layer}', the '{name}' must be in {bounds}, but got {value!r}.")


class _Compiled(Optimizer):
    """Base of optimizers whose calls run compiled in every mode."""

    _compiled_forward = True


class SGD(_Compiled):
    """Stochastic gradient descent: a = momentum * a + (1 - dampening) * g; p -= lr * a.

    The first step sets a = g. With ``nesterov``, p -= lr * (g + momentum * a).
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: Any = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check("SGD", "[0, inf)", momentum=momentum, dampening=dampening)
        if nesterov and (momentum == 0 or dampening != 0):
            raise ValueError(
                "For 'SGD', if 'nesterov' is true, 'momentum' must be > 0.0 and 'dampening' must "
                f"equal to 0.0; but got 'momentum' {momentum}, 'dampening' {dampening}."
            )
        self.dampening, self.nesterov, self.moves = dampening, nesterov, momentum > 0
        self.momentum = _number(momentum, "momentum")
        self.accum, self.stat = self.state_like("accum"), self.state_like("stat", 1.0)

    def construct(self, gradients: Any) -> Any:
        states = zip(self.accum, self.stat)
        for (p, g, lr, decay, centred), (accum, stat) in zip(self.updates(gradients), states):
            g = self.prepared(p, g, decay, centred)
            if self.moves:
                later = self.momentum * accum + (1.0 - self.dampening) * g
                velocity = ops.assign(accum, ops.where(stat > 0, g, later))
                ops.assign(stat, ops.zeros_like(stat))
                g = g + self.momentum * velocity if self.nesterov else velocity
            ops.assign(p, p - lr * g)
        return True


class Momentum(_Compiled):
    """Momentum: m = momentum * m + g; p -= lr * m, by Nesterov p -= lr * (g + momentum * m)."""

    def __init__(
        self,
        params: Any,
        learning_rate: Any,
        momentum: float,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check("Momentum", "[0, inf)", momentum=momentum)
        self.use_nesterov = use_nesterov
        self.momentum = _number(momentum, "momentum")
        self.moments = self.state_like("moments")

    def construct(self, gradients: Any) -> Any:
        for (p, g, lr, decay, centred), m in zip(self.updates(gradients), self.moments):
            g = self.prepared(p, g, decay, centred)
            velocity = ops.assign(m, self.momentum * m + g)
            step = g + self.momentum * velocity if self.use_nesterov else velocity
            ops.assign(p, p - lr * step)
        return True


class Adam(_Compiled):
    """Adam: p -= lr * sqrt(1 - b2^t) / (1 - b1^t) * m / (sqrt(v) + eps).

    m and v are running means of g and g * g. With ``use_nesterov``, b1 * m + (1 - b1) * g stands
    for m. With ``use_amsgrad``, the largest v so far stands for v.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
        use_amsgrad: bool = False,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check("Adam", "(0, 1)", beta1=beta1, beta2=beta2)
        _check("Adam", "(0, inf)", eps=eps)
        self.beta1, self.beta2, self.eps = beta1, beta2, eps
        self.use_nesterov, self.use_amsgrad = use_nesterov, use_amsgrad
        self.beta1_power, self.beta2_power = _number(1.0), _number(1.0)
        self.moment1, self.moment2 = self.state_like("moment1"), self.state_like("moment2")
        self.vhat = self.state_like("vhat") if use_amsgrad else self.moment2

    def construct(self, gradients: Any) -> Any:
        b1, b2 = self.beta1, self.beta2
        self.beta1_power = self.beta1_power * b1
        self.beta2_power = self.beta2_power * b2
        correction = ops.sqrt(1.0 - self.beta2_power) / (1.0 - self.beta1_power)
        states = zip(self.moment1, self.moment2, self.vhat)
        for (p, g, lr, decay, centred), (m, v, vhat) in zip(self.updates(gradients), states):
            g = self.prepared(p, g, decay, centred)
            mean = ops.assign(m, m + (g - m) * (1.0 - b1))
            square = ops.assign(v, v + (g * g - v) * (1.0 - b2))
            if self.use_amsgrad:
                square = ops.assign(vhat, ops.maximum(vhat, square))
            if self.use_nesterov:
                mean = mean * b1 + (1.0 - b1) * g
            ops.assign(p, p - lr * correction * mean / (ops.sqrt(square) + self.eps))
        return True


class AdamWeightDecay(_Compiled):
    """AdamW: p -= lr * (m / (sqrt(v) + eps) + weight_decay * p), without bias correction.

    m and v are running means of g and g * g.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay)
        _check("AdamWeightDecay", "(0, 1)", beta1=beta1, beta2=beta2)
        _check("AdamWeightDecay", "(0, inf)", eps=eps)
        self.beta1, self.beta2, self.eps = beta1, beta2, eps
        self.moments1, self.moments2 = self.state_like("adam_m"), self.state_like("adam_v")

    def construct(self, gradients: Any) -> Any:
        b1, b2 = self.beta1, self.beta2
        states = zip(self.moments1, self.moments2)
        for (p, g, lr, decay, centred), (m, v) in zip(self.updates(gradients), states):
            g = self.prepared(p, g, None, centred)
            mean = ops.assign(m, b1 * m + (1.0 - b1) * g)
            square = ops.assign(v, b2 * v + (1.0 - b2) * g * g)
            step = mean / (ops.sqrt(square) + self.eps)
            ops.assign(p, p - lr * (step if decay is None else step + decay * p))
        return True


class RMSProp(_Compiled):
    """RMSProp: m = momentum * m + lr * g / sqrt(s + epsilon); p -= m.

    s is the running mean of g * g. ``centered`` subtracts the square of the running mean of g.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check("RMSProp", "[0, inf)", decay=decay, momentum=momentum)
        _check("RMSProp", "(0, inf)", epsilon=epsilon)
        self.decay, self.momentum, self.epsilon = decay, momentum, epsilon
        self.centered = centered
        if centered:
            self.mg = self.state_like("mean_grad")
        self.ms = self.state_like("mean_square", 1.0)
        self.moment = self.state_like("moment")
        self.mg = self.mg if centered else self.ms

    def construct(self, gradients: Any) -> Any:
        rho = self.decay
        states = zip(self.ms, self.mg, self.moment)
        for (p, g, lr, decay, centred), (s, mean, m) in zip(self.updates(gradients), states):
            g = self.prepared(p, g, decay, centred)
            square = ops.assign(s, rho * s + (1.0 - rho) * g * g)
            if self.centered:
                mean_grad = ops.assign(mean, rho * mean + (1.0 - rho) * g)
                square = square - mean_grad * mean_grad
            step = self.momentum * m + lr * g / ops.sqrt(square + self.epsilon)
            ops.assign(p, p - ops.assign(m, step))
        return True


class Adagrad(_Compiled):
    """Adagrad: a += g * g; p -= lr * g / sqrt(a)."""

    def __init__(
        self,
        params: Any,
        accum: float = 0.1,
        learning_rate: Any = 0.001,
        update_slots: bool = True,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check("Adagrad", "[0, inf)", accum=accum)
        self.accum, self.update_slots = self.state_like("accum", accum), update_slots

    def construct(self, gradients: Any) -> Any:
        for (p, g, lr, decay, centred), a in zip(self.updates(gradients), self.accum):
            g = self.prepared(p, g, decay, centred)
            square = ops.assign(a, a + g * g) if self.update_slots else a
            ops.assign(p, p - lr * g / ops.sqrt(square))
        return True


class Adadelta(_Compiled):
    """Adadelta: p -= lr * sqrt(u + epsilon) / sqrt(a + epsilon) * g.

    a is the running mean of g * g, and u that of the squared steps.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1.0,
        rho: float = 0.9,
        epsilon: float = 1e-6,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check("Adadelta", "[0, inf)", rho=rho)
        _check("Adadelta", "(0, inf)", epsilon=epsilon)
        self.rho, self.epsilon = rho, epsilon
        self.accum, self.accum_update = self.state_like("accum"), self.state_like("accum_update")

    def construct(self, gradients: Any) -> Any:
        rho, eps = self.rho, self.epsilon
        states = zip(self.accum, self.accum_update)
        for (p, g, lr, decay, centred), (a, u) in zip(self.updates(gradients), states):
            g = self.prepared(p, g, decay, centred)
            square = ops.assign(a, rho * a + (1.0 - rho) * g * g)
            step = ops.sqrt(u + eps) / ops.sqrt(square + eps) * g
            ops.assign(u, rho * u + (1.0 - rho) * step * step)
            ops.assign(p, p - lr * step)
        return True


class AdaMax(_Compiled):
    """AdaMax: p -= lr / (1 - b1^t) * m / (v + eps), with v = max(b2 * v, abs(g)).

    m is the running mean of g.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check("AdaMax", "(0, 1)", beta1=beta1, beta2=beta2)
        _check("AdaMax", "(0, inf)", eps=eps)
        self.beta1, self.beta2, self.eps = beta1, beta2, eps
        self.beta1_power: Any = Parameter(Tensor(np.ones(1, np.float32)))
        self.moment1, self.moment2 = self.state_like("moment1"), self.state_like("moment2")

    def construct(self, gradients: Any) -> Any:
        b1, b2 = self.beta1, self.beta2
        self.beta1_power = self.beta1_power * b1
        correction = ops.reshape(1.0 / (1.0 - self.beta1_power), ())
        states = zip(self.moment1, self.moment2)
        for (p, g, lr, decay, centred), (m, v) in zip(self.updates(gradients), states):
            g = self.prepared(p, g, decay, centred)
            mean = ops.assign(m, b1 * m + (1.0 - b1) * g)
            largest = ops.assign(v, ops.maximum(b2 * v, ops.abs(g)))
            ops.assign(p, p - lr * correction * mean / (largest + self.eps))
        return True


__all__ = [
    "SGD",
    "AdaMax",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamWeightDecay",
    "Momentum",
    "RMSProp",
]
