"""Cells around a network: with its loss, with its gradients, with a training step."""

from __future__ import annotations

from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Tensor
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.nn.layers.basic import Identity
from autodiff_compiler.ops.transforms.gradient import GradientFunction, GradOperation


class WithLossCell(Cell):
    """A network with its loss: ``loss_fn(backbone(data), label)``."""

    def __init__(self, backbone: Any, loss_fn: Any):
        super().__init__(auto_prefix=False)
        self._backbone, self._loss_fn = backbone, loss_fn

    @property
    def backbone_network(self) -> Any:
        """Returns the network without its loss."""
        return self._backbone

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(self._backbone(data), label)


class WithEvalCell(Cell):
    """A network for evaluation: ``cell(data, label)`` returns (loss, outputs, label)."""

    def __init__(self, network: Any, loss_fn: Any, add_cast_fp32: bool = False):
        super().__init__(auto_prefix=False)
        self._network, self._loss_fn, self.add_cast_fp32 = network, loss_fn, add_cast_fp32

    def construct(self, data: Any, label: Any) -> Any:
        outputs = self._network(data)
        if self.add_cast_fp32:
            outputs = ops.cast(outputs, mstype.float32)
            label = ops.cast(label, mstype.float32)
        return self._loss_fn(outputs, label), outputs, label


class ForwardValueAndGrad(Cell):
    """A network with its gradients: a call returns (value, gradients), from one forward pass.

    The gradients are those of ``GradOperation`` with the same flags; with ``sens_param`` the last
    argument is the sensitivity.
    """

    def __init__(
        self,
        network: Any,
        weights: Any = None,
        get_all: bool = False,
        get_by_list: bool = False,
        sens_param: bool = False,
    ):
        super().__init__(auto_prefix=False)
        flags = {"get_all": get_all, "get_by_list": get_by_list, "sens_param": sens_param}
        for name, flag in flags.items():
            if not isinstance(flag, bool):
                raise TypeError(
                    f"For 'ForwardValueAndGrad', the '{name}' must be bool, but got {flag!r}."
                )
        self.network, self.get_all, self.get_by_list = network, get_all, get_by_list
        self.sens_param = sens_param
        position = "all" if get_all else None if get_by_list else 0
        self.gradient = GradientFunction(
            network,
            weights,
            position=position,
            optional=True,
            by_list=get_by_list,
            sens_param=sens_param,
            value=True,
        )

    def construct(self, *inputs: Any) -> Any:
        return self.gradient(*inputs)


class TrainOneStepCell(Cell):
    """A training step: ``step(*inputs)`` runs the optimizer once and returns the loss.

    ``sens`` scales the gradients. With ``return_grad`` the step returns (loss, gradients by name).
    """

    def __init__(
        self, network: Any, optimizer: Any, sens: float | None = None, return_grad: bool = False
    ):
        super().__init__(auto_prefix=False)
        self.network, self.optimizer, self.return_grad = network, optimizer, return_grad
        self.weights = optimizer.parameters
        self.names = tuple(weight.name for weight in self.weights)
        self.sens = 1.0 if sens is None else float(sens)
        # Subclasses with a training step of their own use these.
        self.grad = GradOperation(get_by_list=True, sens_param=True)
        self.grad_no_sens = GradOperation(get_by_list=True)
        self.grad_reducer = Identity()
        self.gradient = GradientFunction(
            network, self.weights, position=None, by_list=True, value=True
        )

    def scaled(self, gradients: Any) -> Any:
        """Multiplies the gradients by ``sens``."""
        if self.sens == 1.0:
            return gradients
        return tuple(gradient * self.sens for gradient in gradients)

    def construct(self, *inputs: Any) -> Any:
        loss, gradients = self.gradient(*inputs)
        gradients = self.scaled(gradients)
        self.optimizer(gradients)
        if not self.return_grad:
            return loss
        return loss, dict(zip(self.names, gradients))


class ParameterUpdate(Cell):
    """Assignment to a Parameter: ``update(value)`` returns the new value."""

    def __init__(self, param: Parameter):
        super().__init__(auto_prefix=False)
        if not isinstance(param, Parameter):
            raise TypeError(
                f"For 'ParameterUpdate', the 'param' must be a Parameter, but got {type(param)}."
            )
        self._param = param

    def construct(self, x: Any) -> Any:
        return ops.assign(self._param, x)


class TimeDistributed(Cell):
    """A layer applied to each step along ``time_axis``.

    With ``reshape_with_axis`` the steps are merged into that axis, and the layer runs once.
    """

    def __init__(self, layer: Any, time_axis: int, reshape_with_axis: int | None = None):
        super().__init__()
        self.layer, self.time_axis, self.reshape_with_axis = layer, time_axis, reshape_with_axis

    def construct(self, inputs: Any) -> Tensor:
        rank = inputs.ndim
        time = self.time_axis % rank
        if self.reshape_with_axis is None:
            steps = ops.unstack(inputs, time)
            return ops.stack([self.layer(step) for step in steps], time)
        other = self.reshape_with_axis % rank
        if other == time:
            raise ValueError("time_axis and reshape_with_axis must be two axes")
        moved = ops.moveaxis(inputs, time, other if other < time else other - 1)
        axis = min(other, rank - 2) if other < time else other - 1
        shape = moved.shape
        merged = ops.reshape(moved, (*shape[:axis], -1, *shape[axis + 2 :]))
        out = self.layer(merged)
        split = (*out.shape[:axis], shape[axis], shape[axis + 1], *out.shape[axis + 1 :])
        return ops.moveaxis(ops.reshape(out, split), axis, time)


__all__ = [
    "ForwardValueAndGrad",
    "ParameterUpdate",
    "TimeDistributed",
    "TrainOneStepCell",
    "WithEvalCell",
    "WithLossCell",
]
