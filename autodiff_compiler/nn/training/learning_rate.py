"""Learning rate schedules: Cells that optimizers call, and lists computed beforehand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Tensor
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.nn.layers.basic import positive_int


def _check_positive(layer: str, **values: float) -> None:
    """Raises ValueError unless all values are numbers > 0."""
    for name, value in values.items():
        if not isinstance(value, (int, float)) or isinstance(value, bool) or value <= 0:
            raise ValueError(f"For '{layer}', the '{name}' must be a float > 0, but got {value!r}.")


class LearningRateSchedule(Cell):
    """Base of schedules: ``construct(global_step)`` returns the learning rate of a step."""

    def construct(self, global_step: Any) -> Any:
        """Returns the learning rate of a step; a subclass defines it."""
        raise NotImplementedError


class ExponentialDecayLR(LearningRateSchedule):
    """Exponential decay: learning_rate * decay_rate ** (step / decay_steps).

    With ``is_stair`` the exponent is rounded down.
    """

    def __init__(
        self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False
    ):
        super().__init__()
        _check_positive("ExponentialDecayLR", learning_rate=learning_rate, decay_rate=decay_rate)
        self.decay_steps = positive_int(decay_steps, "decay_steps", "ExponentialDecayLR")
        self.learning_rate, self.decay_rate, self.is_stair = learning_rate, decay_rate, is_stair

    def construct(self, global_step: Any) -> Tensor:
        power = ops.cast(global_step, mstype.float32) / self.decay_steps
        if self.is_stair:
            power = ops.floor(power)
        return self.learning_rate * self.decay_rate**power


class CosineDecayLR(LearningRateSchedule):
    """Cosine decay: half a period from ``max_lr`` down to ``min_lr`` in ``decay_steps`` steps."""

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int):
        super().__init__()
        if min_lr < 0 or max_lr <= min_lr:
            raise ValueError(
                f"For 'CosineDecayLR', 0 <= min_lr < max_lr is needed, but got {min_lr}, {max_lr}."
            )
        self.decay_steps = positive_int(decay_steps, "decay_steps", "CosineDecayLR")
        self.min_lr, self.max_lr = float(min_lr), float(max_lr)

    def construct(self, global_step: Any) -> Tensor:
        step = ops.minimum(ops.cast(global_step, mstype.float32), float(self.decay_steps))
        cosine = ops.cos(step * (math.pi / self.decay_steps))
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * (1.0 + cosine)


class PolynomialDecayLR(LearningRateSchedule):
    """Polynomial decay to ``end_learning_rate`` by (1 - step / decay_steps) ** power.

    With ``update_decay_steps``, the least multiple of ``decay_steps`` that is not below the step
    stands for it.
    """

    def __init__(
        self,
        learning_rate: float,
        end_learning_rate: float,
        decay_steps: int,
        power: float,
        update_decay_steps: bool = False,
    ):
        super().__init__()
        _check_positive("PolynomialDecayLR", learning_rate=learning_rate, power=power)
        if not 0 <= end_learning_rate < learning_rate:
            raise ValueError(
                "For 'PolynomialDecayLR', 0 <= end_learning_rate < learning_rate is needed, but "
                f"got {end_learning_rate}, {learning_rate}."
            )
        self.decay_steps = positive_int(decay_steps, "decay_steps", "PolynomialDecayLR")
        self.start, self.end, self.power = learning_rate, end_learning_rate, power
        self.update_decay_steps = update_decay_steps

    def construct(self, global_step: Any) -> Tensor:
        step = ops.cast(global_step, mstype.float32)
        decay_steps: Tensor | float = float(self.decay_steps)
        if self.update_decay_steps:
            decay_steps = decay_steps * ops.maximum(ops.ceil(step / decay_steps), 1.0)
        else:
            step = ops.minimum(step, decay_steps)
        return (self.start - self.end) * (1.0 - step / decay_steps) ** self.power + self.end


class WarmUpLR(LearningRateSchedule):
    """Linear warm-up: learning_rate * min(step, warmup_steps) / warmup_steps."""

    def __init__(self, learning_rate: float, warmup_steps: int):
        super().__init__()
        if learning_rate < 0:
            raise ValueError(
                f"For 'WarmUpLR', the 'learning_rate' must be >= 0, but got {learning_rate}."
            )
        self.warmup_steps = positive_int(warmup_steps, "warmup_steps", "WarmUpLR")
        self.learning_rate = learning_rate

    def construct(self, global_step: Any) -> Tensor:
        step = ops.minimum(ops.cast(global_step, mstype.float32), float(self.warmup_steps))
        return self.learning_rate * step / self.warmup_steps


# ---- lists, one number for each step


def piecewise_constant_lr(milestone: Sequence[int], learning_rates: Sequence[float]) -> list[float]:
    """Returns the learning rate of each step: learning_rates[k] before step milestone[k].

    >>> piecewise_constant_lr([2, 3], [0.1, 0.05])
    [0.1, 0.1, 0.05]
    """
    if len(milestone) != len(learning_rates):
        raise ValueError(
            "For 'piecewise_constant_lr', 'milestone' and 'learning_rates' must have one size, but "
            f"got {len(milestone)} and {len(learning_rates)}."
        )
    rates: list[float] = []
    for stop, rate in zip(milestone, learning_rates):
        if stop <= len(rates):
            raise ValueError(f"For 'piecewise_constant_lr', {milestone} must be increasing.")
        rates += [rate] * (stop - len(rates))
    return rates


def exponential_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """Returns learning_rate * decay_rate ** (epoch / decay_epoch) for each step.

    >>> exponential_decay_lr(0.5, 0.5, 4, 2, 1)
    [0.5, 0.5, 0.25, 0.25]
    """
    _check_positive("exponential_decay_lr", learning_rate=learning_rate, decay_rate=decay_rate)
    rates = []
    for step in range(positive_int(total_step, "total_step", "exponential_decay_lr")):
        power = (step // step_per_epoch) / decay_epoch
        rates.append(learning_rate * decay_rate ** (math.floor(power) if is_stair else power))
    return rates


def cosine_decay_lr(
    min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int
) -> list[float]:
    """Returns a cosine decay from max_lr to min_lr over ``decay_epoch`` epochs, for each step.

    >>> cosine_decay_lr(0.0, 1.0, 3, 1, 2)
    [1.0, 0.5, 0.0]
    """
    if min_lr < 0 or max_lr <= min_lr:
        raise ValueError(
            f"For 'cosine_decay_lr', 0 <= min_lr < max_lr is needed, but got {min_lr}, {max_lr}."
        )
    rates = []
    for step in range(positive_int(total_step, "total_step", "cosine_decay_lr")):
        epoch = min(step // step_per_epoch, decay_epoch)
        cosine = math.cos(math.pi * epoch / decay_epoch)
        rates.append(round(min_lr + 0.5 * (max_lr - min_lr) * (1.0 + cosine), 15))
    return rates


__all__ = [
    "CosineDecayLR",
    "ExponentialDecayLR",
    "PolynomialDecayLR",
    "WarmUpLR",
    "cosine_decay_lr",
    "exponential_decay_lr",
    "piecewise_constant_lr",
]
