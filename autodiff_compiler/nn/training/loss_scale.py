"""Training with a scaled loss, so that small gradients of low precision do not underflow.

The loss is multiplied by the scale, and the gradients are divided by it. The optimizer skips a
step whose gradients are not all finite, and an update Cell chooses the next scale.
"""

from __future__ import annotations

from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.nn.training.training_cells import TrainOneStepCell
from autodiff_compiler.ops.transforms.gradient import GradientFunction


class FixedLossScaleUpdateCell(Cell):
    """Update Cell of a constant scale: ``update(loss_scale, overflow)`` returns ``overflow``."""

    def __init__(self, loss_scale_value: float):
        super().__init__()
        self.loss_scale_value = loss_scale_value

    def get_loss_scale(self) -> float:
        """Returns the initial scale."""
        return self.loss_scale_value

    def construct(self, _: Any, overflow: Any) -> Any:
        return overflow


class DynamicLossScaleUpdateCell(Cell):
    """Update Cell of a dynamic scale: ``update(loss_scale, overflow)`` returns ``overflow``.

    An overflow divides the scale by ``scale_factor``, down to 1 at least. ``scale_window`` steps
    without one multiply it by ``scale_factor``. ``loss_scale`` is a Parameter, to which the Cell
    assigns; ``overflow`` is a bool Tensor of shape ``()``.
    """

    def __init__(self, loss_scale_value: float, scale_factor: float, scale_window: int):
        super().__init__()
        self.loss_scale_value = loss_scale_value
        self.scale_factor = Tensor(scale_factor, mstype.float32)
        self.scale_window = Tensor(scale_window, mstype.int32)
        self.cur_iter = Parameter(Tensor(1, mstype.int32), name="current_iterator_step")
        self.last_overflow_iter = Parameter(
            Tensor(0, mstype.int32), name="last_overflow_iterator_step"
        )

    def get_loss_scale(self) -> float:
        """Returns the initial scale."""
        return self.loss_scale_value

    def next_scale(self, loss_scale: Any, overflow: Any) -> Any:
        """Returns the scale after a step, and counts the step."""
        window_is_full = self.cur_iter - self.last_overflow_iter >= self.scale_window
        smaller = ops.maximum(loss_scale / self.scale_factor, 1.0)
        larger = ops.select(window_is_full, loss_scale * self.scale_factor, loss_scale)
        changed = ops.logical_or(overflow, window_is_full)
        last = ops.select(changed, self.cur_iter, self.last_overflow_iter)
        ops.assign(self.last_overflow_iter, last)
        ops.assign(self.cur_iter, self.cur_iter + 1)
        return ops.select(overflow, smaller, larger)

    def construct(self, loss_scale: Any, overflow: Any) -> Any:
        ops.assign(loss_scale, self.next_scale(loss_scale, overflow))
        return overflow


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """A training step with a scaled loss: ``step(*inputs)`` returns (loss, overflow, scale).

    The loss is the unscaled one, and the scale is the one after the step. ``overflow`` is a bool
    Tensor of shape ``()``, True if a gradient was infinite or NaN; then the optimizer did not run.

    ``scale_sense`` is an update Cell, whose ``get_loss_scale()`` is the first scale. Or it is the
    scale itself, a Tensor of shape ``()`` or ``(1,)``. Another shape is a ValueError, anything else
    a TypeError.
    """

    def __init__(self, network: Any, optimizer: Any, scale_sense: Any):
        super().__init__(network, optimizer)
        self.loss_scaling_manager = None
        if isinstance(scale_sense, Cell):
            self.loss_scaling_manager = scale_sense
            scale_sense = Tensor(scale_sense.get_loss_scale(), mstype.float32)
        elif not isinstance(scale_sense, Tensor):
            raise TypeError(
                "For 'TrainOneStepWithLossScaleCell', the 'scale_sense' must be Cell or Tensor, "
                f"but got 'scale_sense' type: {type(scale_sense)}."
            )
        if scale_sense.shape not in ((), (1,)):
            raise ValueError(
                "For 'TrainOneStepWithLossScaleCell', the shape of 'scale_sense' must be (1,) or "
                f"(), but got {scale_sense.shape}."
            )
        self.scale_sense = Parameter(scale_sense, name="scale_sense")
        self.gradient = GradientFunction(
            self.scaled_loss, self.weights, position=None, by_list=True, value=True, has_aux=True
        )

    def scaled_loss(self, *inputs: Any) -> Any:
        """Returns the loss times the scale, which is differentiated, and the loss."""
        loss = self.network(*inputs)
        return loss * ops.cast(ops.reshape(self.scale_sense, ()), loss.dtype), loss

    def scaled(self, gradients: Any) -> Any:
        """Divides the gradients of the scaled loss by the scale."""
        factor = ops.reciprocal(ops.reshape(self.scale_sense, ()))
        return tuple(gradient * ops.cast(factor, gradient.dtype) for gradient in gradients)

    def set_sense_scale(self, sens: Tensor) -> None:
        """Sets the scale to a Tensor; anything else is a TypeError."""
        if not isinstance(sens, Tensor):
            raise TypeError(
                "For 'TrainOneStepWithLossScaleCell', the type of 'sens' must be Tensor, but got "
                f"{type(sens)}"
            )
        self.scale_sense.set_data(sens)

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> Any:
        """Returns (status, compute_input) for ``get_overflow_status``. No flag is cleared."""
        return ops.zeros((8,), mstype.int32), compute_input

    def get_overflow_status(self, status: Any, compute_output: Any) -> Any:
        """True if a gradient in ``compute_output`` has an element that is not finite."""
        finite = [ops.isfinite(gradient).all() for gradient in compute_output]
        return ops.logical_not(ops.stack(finite).all())

    def process_loss_scale(self, overflow: Any) -> Any:
        """Updates the scale by the update Cell, and returns ``overflow``."""
        manager = self.loss_scaling_manager
        if manager is None:
            return overflow
        return manager(self.scale_sense, overflow)

    def construct(self, *inputs: Any) -> Any:
        (_, loss), gradients = self.gradient(*inputs)
        gradients = self.scaled(gradients)
        overflow = self.get_overflow_status(None, gradients)
        if not self.process_loss_scale(overflow):
            self.optimizer(gradients)
        return loss, overflow, self.scale_sense


class GradAccumulationCell(Cell):
    """Sum of a network's outputs over ``micro_size`` micro-batches of equal size.

    Each input is split along its first axis. A length that is no multiple of ``micro_size`` is a
    ValueError.
    """

    def __init__(self, network: Any, micro_size: int):
        super().__init__(auto_prefix=False)
        if not isinstance(network, Cell):
            raise TypeError(
                "For 'GradAccumulationCell', the argument 'network' must cell type, but got the "
                f"type : {type(network)}."
            )
        if not isinstance(micro_size, int) or isinstance(micro_size, bool):
            raise TypeError(
                "For 'GradAccumulationCell', the argument 'micro_size' must be integer, but got "
                f"the type : {type(micro_size)}."
            )
        if micro_size <= 0:
            raise ValueError(
                "For 'GradAccumulationCell', the argument 'micro_size' must be large than 0, but "
                f"got {micro_size}."
            )
        self.network, self.micro_size = network, micro_size

    def construct(self, *inputs: Any) -> Any:
        for x in inputs:
            if x.shape[0] % self.micro_size != 0:
                raise ValueError(
                    "For micro batch initialization, the 0th dimension shape of "
                    f"input({x.shape[0]}) must be divided by micro size({self.micro_size})"
                )
        parts = [ops.split(x, x.shape[0] // self.micro_size) for x in inputs]
        total = self.network(*[part[0] for part in parts])
        for i in range(1, self.micro_size):
            total = total + self.network(*[part[i] for part in parts])
        return total


__all__ = [
    "DynamicLossScaleUpdateCell",
    "FixedLossScaleUpdateCell",
    "GradAccumulationCell",
    "TrainOneStepWithLossScaleCell",
]
