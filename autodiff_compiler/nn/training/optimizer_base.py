"""``Optimizer``: parameters in groups, learning rates, weight decay; a subclass says how they move.

An optimizer is a Cell: ``optimizer(gradients)`` gives its Parameters new values, at once or, in a
text that is compiled, when the call has ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_compiler import ops
from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.parameter import Parameter, ParameterTuple
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.nn.training.learning_rate import LearningRateSchedule

_KEYS = ("params", "lr", "weight_decay", "order_params", "grad_centralization")


class Optimizer(Cell):
    """``Optimizer(learning_rate, parameters, weight_decay, loss_scale)``.

    parameters are Parameters, or groups: dicts of 'params' and, of their own, 'lr',
    'weight_decay' and 'grad_centralization'; one dict may be of 'order_params', their order. A
    learning rate is a number, a list or Tensor of one for each step (the last one stays), or a
    ``LearningRateSchedule``. A weight decay of no group leaves out what is called beta or gamma.
    """

    def __init__(
        self, learning_rate: Any, parameters: Any, weight_decay: Any = 0.0, loss_scale: float = 1.0
    ):
        super().__init__(auto_prefix=False)
        name = type(self).__name__
        given = _listed(parameters)
        if loss_scale <= 0:
            raise ValueError(f"For '{name}', the 'loss_scale' must be > 0, but got {loss_scale}.")
        self.loss_scale = float(loss_scale)
        self.global_step: Any = Parameter(Tensor(np.zeros(1, np.int32)), name="global_step")
        grouped = isinstance(given[0], Mapping)
        groups = _checked_groups(given) if grouped else [{"params": given}]
        order: list[Parameter] = []
        settings: dict[int, tuple[Any, Any, bool]] = {}
        shared_lr = None
        for number, group in enumerate(groups):
            if "order_params" in group:
                order = _listed(group["order_params"])
                continue
            if "lr" in group:
                lr = self._rate(group["lr"], f"learning_rate_group_{number}")
            else:
                shared_lr = shared_lr or self._rate(learning_rate, "learning_rate")
                lr = shared_lr
            decay = _decay(group.get("weight_decay", weight_decay), name)
            centred = bool(group.get("grad_centralization", False))
            for parameter in _listed(group["params"]):
                if id(parameter) in settings:
                    raise RuntimeError(
                        f"For '{name}', the parameter {parameter.name} is in two groups."
                    )
                spared = not grouped and any(word in parameter.name for word in ("beta", "gamma"))
                settings[id(parameter)] = (lr, None if spared else decay, centred)
                if parameter not in _Members(order):
                    order.append(parameter)
        rates = [settings[id(parameter)] for parameter in order]
        self.rate_sources = tuple(rate for rate, _, _ in rates)
        for rate in self.rate_sources:
            if isinstance(rate, Parameter):
                self.insert_param_to_cell(rate.name, rate)
        self.parameters = ParameterTuple(order)
        self.decays = tuple(decay for _, decay, _ in rates)
        self.centred = tuple(centred for _, _, centred in rates)
        self.is_group_lr = any(rate is not rates[0][0] for rate, _, _ in rates)
        # Of groups the attribute is a tuple, though one of its Parameters may have this name.
        found = self.rate_sources if self.is_group_lr else rates[0][0]
        object.__setattr__(self, "learning_rate", found)
        self.weight_decay = weight_decay

    def _rate(self, given: Any, name: str) -> Any:
        """A learning rate as a Parameter, or as a Cell of the step."""
        if isinstance(given, LearningRateSchedule):
            return given
        rates = np.asarray(
            given.asnumpy()
            if isinstance(given, Tensor)
            else (given if isinstance(given, (int, float)) else list(given)),
            np.float32,
        )
        if rates.ndim > 1 or not rates.size or not (rates >= 0).all():
            raise ValueError(
                f"For '{type(self).__name__}', the 'learning rate' must be float and must >= 0, or "
                f"a list of such, but got {given}."
            )
        return Parameter(Tensor(rates), name=name)

    def get_lr(self) -> Any:
        """The learning rate of this step, of groups a tuple with one for each parameter."""
        if self.is_group_lr:
            return tuple(self._now(source) for source in self.rate_sources)
        return self._now(self.learning_rate)

    def _now(self, source: Any) -> Any:
        if isinstance(source, Cell):
            return ops.reshape(source(self.global_step), ())
        if source.ndim == 0:
            return source
        step = ops.minimum(self.global_step, source.shape[0] - 1)
        return ops.reshape(ops.gather(source, step, 0), ())

    def get_weight_decay(self) -> Any:
        """The weight decay of this step for each parameter, None where there is none."""
        return tuple(
            ops.reshape(decay(self.global_step), ()) if isinstance(decay, Cell) else decay
            for decay in self.decays
        )

    def get_lr_parameter(self, param: Any) -> Any:
        """What gives a parameter's learning rate: a Parameter or a Cell; of several, a list."""
        if not isinstance(param, Parameter):
            return [self.get_lr_parameter(one) for one in param]
        for one, source in zip(self.parameters, self.rate_sources):
            if one is param:
                return source
        raise ValueError(f"the parameter {param.name} is not in this optimizer")

    # ---- steps of a subclass's construct

    def decay_weight(self, gradients: Any) -> Any:
        """Gradients plus weight decay times parameters."""
        triples = zip(gradients, self.get_weight_decay(), self.parameters)
        return tuple(g if decay is None else g + decay * p for g, decay, p in triples)

    def gradients_centralization(self, gradients: Any) -> Any:
        """Gradients of mean zero over all axes but the first, where a group asks for it: only
        those of convolutions."""
        return tuple(
            g - ops.mean(g, tuple(range(1, g.ndim)), True) if centred and g.ndim > 3 else g
            for g, centred in zip(gradients, self.centred)
        )

    def scale_grad(self, gradients: Any) -> Any:
        """Gradients divided by the loss scale."""
        if self.loss_scale == 1.0:
            return gradients
        return tuple(gradient / self.loss_scale for gradient in gradients)

    def flatten_gradients(self, gradients: Any) -> Any:
        """The gradients as they are: nothing is laid out anew here."""
        return gradients

    def rows(self, gradients: Any) -> Any:
        """For each parameter itself, its gradient, learning rate, weight decay, and whether the
        gradient is to be centred; the step counts from here on as done."""
        if isinstance(gradients, Tensor):
            gradients = (gradients,)
        if len(gradients) != len(self.parameters):
            raise ValueError("as many gradients as parameters are needed, in their order")
        rates, step = self.get_lr(), self.global_step
        decays = [ops.reshape(d(step), ()) if isinstance(d, Cell) else d for d in self.decays]
        self.global_step = self.global_step + 1
        if not isinstance(rates, tuple):
            rates = (rates,) * len(self.parameters)
        return zip(self.parameters, gradients, rates, decays, self.centred)

    def ready(self, p: Any, g: Any, decay: Any, centred: bool) -> Any:
        """A gradient scaled, decayed and centred."""
        if self.loss_scale != 1.0:
            g = g / self.loss_scale
        if decay is not None:
            g = g + decay * p
        return g - ops.mean(g, tuple(range(1, g.ndim)), True) if centred and g.ndim > 3 else g

    def slots(self, prefix: str, start: float = 0.0) -> ParameterTuple:
        """A Parameter of one number beside each of ours, called ``prefix.name``."""
        init = "zeros" if start == 0.0 else start
        return self.parameters.clone(prefix, init)

    def construct(self, *gradients: Any) -> Any:
        """Gives the parameters new values; a subclass defines it."""
        raise NotImplementedError


class _Members:
    """Whether a Parameter is in a list, by identity."""

    def __init__(self, items: Sequence[Parameter]):
        self.items = items

    def __contains__(self, thing: object) -> bool:
        return any(item is thing for item in self.items)


def _listed(given: Any) -> list[Any]:
    if not isinstance(given, Iterable) or isinstance(given, (Tensor, str)):
        raise TypeError(f"an optimizer takes a list of Parameters or of groups, not {given!r}")
    items = list(given)
    if not items:
        raise ValueError("For 'Optimizer', the argument parameters must not be empty.")
    if not all(isinstance(item, (Parameter, Mapping)) for item in items):
        raise TypeError(f"an optimizer takes Parameters or groups, but got {items}")
    return items


def _checked_groups(groups: Sequence[Any]) -> list[Mapping[str, Any]]:
    for group in groups:
        unknown = [key for key in group if key not in _KEYS]
        if unknown or not ("params" in group or "order_params" in group):
            raise KeyError(
                f"For 'Optimizer', the key in group params must be one of in {list(_KEYS)}, but "
                f"got {unknown or list(group)}."
            )
    return list(groups)


def _decay(given: Any, name: str) -> Any:
    if isinstance(given, Cell):
        return given
    if not isinstance(given, (int, float)) or isinstance(given, bool) or given < 0:
        raise ValueError(f"For '{name}', the 'weight_decay' must be >= 0, but got {given!r}.")
    return float(given) or None


__all__ = ["Optimizer"]
