"""``Optimizer``: the base of optimizers, with parameter groups, learning rates and weight decay.

An optimizer is a Cell, and its subclass defines the update. ``optimizer(gradients)`` updates its
Parameters: at once, or at the end of the call if a compiled function calls it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from autodiff_compiler import ops
from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.parameter import Parameter, ParameterTuple
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.nn.training.learning_rate import LearningRateSchedule

_KEYS = ("params", "lr", "weight_decay", "order_params", "grad_centralization")


class _Settings(NamedTuple):
    """A parameter with its learning rate, weight decay, and whether its gradient is centralized."""

    parameter: Parameter
    rate: Any
    decay: Any
    centralized: bool


class Optimizer(Cell):
    """Base of optimizers: ``Optimizer(learning_rate, parameters, weight_decay, loss_scale)``.

    ``parameters`` are Parameters or groups. A group is a dict of 'params' and, where they differ
    from the arguments, 'lr', 'weight_decay' and 'grad_centralization'. A group may hold
    'order_params' alone: all Parameters, in the order of the updates.

    A learning rate is a number, or a list or Tensor with one for each step; the last one stays. It
    may also be a ``LearningRateSchedule``. Without groups, Parameters named beta or gamma have no
    weight decay.
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
        if isinstance(given[0], Mapping):
            groups = _checked_groups(given)
            settings = self._settings(groups, learning_rate, weight_decay)
        else:
            groups = [{"params": given}]
            settings = self._settings(groups, learning_rate, weight_decay)
            settings = {key: _without_decay_of_norms(each) for key, each in settings.items()}
        ordered = _in_order(groups, settings, name)
        self.rate_sources = tuple(each.rate for each in ordered)
        for rate in self.rate_sources:
            if isinstance(rate, Parameter):
                self.insert_param_to_cell(rate.name, rate)
        self.parameters = ParameterTuple(each.parameter for each in ordered)
        self.decays = tuple(each.decay for each in ordered)
        self.centred = tuple(each.centralized for each in ordered)
        self.is_group_lr = any(rate is not self.rate_sources[0] for rate in self.rate_sources)
        # With several rates the attribute is a tuple, though one of its Parameters has this name.
        source = self.rate_sources if self.is_group_lr else self.rate_sources[0]
        object.__setattr__(self, "learning_rate", source)
        self.weight_decay = weight_decay

    def _settings(
        self, groups: Sequence[Mapping[str, Any]], learning_rate: Any, weight_decay: Any
    ) -> dict[int, _Settings]:
        """Returns the settings of each parameter, by its identity, in the order of the groups."""
        name = type(self).__name__
        settings: dict[int, _Settings] = {}
        shared_rate = None
        for number, group in enumerate(groups):
            if "order_params" in group:
                continue
            if "lr" in group:
                rate = self._rate(group["lr"], f"learning_rate_group_{number}")
            else:
                if shared_rate is None:
                    shared_rate = self._rate(learning_rate, "learning_rate")
                rate = shared_rate
            decay = _decay(group.get("weight_decay", weight_decay), name)
            centralized = bool(group.get("grad_centralization", False))
            for parameter in _listed(group["params"]):
                if id(parameter) in settings:
                    raise RuntimeError(
                        f"For '{name}', the parameter {parameter.name} is in two groups."
                    )
                settings[id(parameter)] = _Settings(parameter, rate, decay, centralized)
        return settings

    def _rate(self, given: Any, name: str) -> Any:
        """Returns a learning rate as a Parameter, or as a ``LearningRateSchedule``."""
        if isinstance(given, LearningRateSchedule):
            return given
        if isinstance(given, Tensor):
            given = given.asnumpy()
        elif not isinstance(given, (int, float)):
            given = list(given)
        rates = np.asarray(given, np.float32)
        if rates.ndim > 1 or not rates.size or not (rates >= 0).all():
            raise ValueError(
                f"For '{type(self).__name__}', the 'learning rate' must be float and must >= 0, or "
                f"a list of such, but got {given}."
            )
        return Parameter(Tensor(rates), name=name)

    def get_lr(self) -> Any:
        """Returns the learning rate of this step, or a tuple with one for each parameter."""
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
        """Returns the weight decay of this step for each parameter, or None for no decay."""
        return tuple(
            ops.reshape(decay(self.global_step), ()) if isinstance(decay, Cell) else decay
            for decay in self.decays
        )

    def get_lr_parameter(self, param: Any) -> Any:
        """Returns the Parameter or schedule of a parameter's learning rate; a list for several."""
        if not isinstance(param, Parameter):
            return [self.get_lr_parameter(one) for one in param]
        for one, source in zip(self.parameters, self.rate_sources):
            if one is param:
                return source
        raise ValueError(f"the parameter {param.name} is not in this optimizer")

    # ---- steps of a subclass's construct

    def decay_weight(self, gradients: Any) -> Any:
        """Adds weight decay times parameters to the gradients."""
        triples = zip(gradients, self.get_weight_decay(), self.parameters)
        return tuple(g if decay is None else g + decay * p for g, decay, p in triples)

    def gradients_centralization(self, gradients: Any) -> Any:
        """Centralizes gradients: subtracts their mean over all axes but the first.

        Only gradients with more than three axes change, where a group asks for it.
        """
        return tuple(
            g - ops.mean(g, tuple(range(1, g.ndim)), True) if centred and g.ndim > 3 else g
            for g, centred in zip(gradients, self.centred)
        )

    def scale_grad(self, gradients: Any) -> Any:
        """Divides the gradients by the loss scale."""
        if self.loss_scale == 1.0:
            return gradients
        return tuple(gradient / self.loss_scale for gradient in gradients)

    def flatten_gradients(self, gradients: Any) -> Any:
        """Returns the gradients unchanged: they are never flattened here."""
        return gradients

    def updates(self, gradients: Any) -> Any:
        """Returns (parameter, gradient, learning rate, weight decay, centralized) for each
        parameter, and counts the step."""
        if isinstance(gradients, Tensor):
            gradients = (gradients,)
        if len(gradients) != len(self.parameters):
            raise ValueError(
                f"an optimizer of {len(self.parameters)} parameters takes one gradient for each, "
                f"in their order, but got {len(gradients)}"
            )
        rates, step = self.get_lr(), self.global_step
        decays = [ops.reshape(d(step), ()) if isinstance(d, Cell) else d for d in self.decays]
        self.global_step = self.global_step + 1
        if not isinstance(rates, tuple):
            rates = (rates,) * len(self.parameters)
        return zip(self.parameters, gradients, rates, decays, self.centred)

    def prepared(self, p: Any, g: Any, decay: Any, centred: bool) -> Any:
        """Returns a gradient divided by the loss scale, with weight decay, and centralized."""
        if self.loss_scale != 1.0:
            g = g / self.loss_scale
        if decay is not None:
            g = g + decay * p
        return g - ops.mean(g, tuple(range(1, g.ndim)), True) if centred and g.ndim > 3 else g

    def state_like(self, prefix: str, start: float = 0.0) -> ParameterTuple:
        """Returns a state Parameter ``prefix.name`` for each parameter, filled with ``start``."""
        init = "zeros" if start == 0.0 else start
        return self.parameters.clone(prefix, init)

    def construct(self, *gradients: Any) -> Any:
        """Updates the parameters; a subclass defines it."""
        raise NotImplementedError


def _without_decay_of_norms(settings: _Settings) -> _Settings:
    """Removes the weight decay of a parameter that is called beta or gamma."""
    exempt = any(word in settings.parameter.name for word in ("beta", "gamma"))
    return settings._replace(decay=None) if exempt else settings


def _in_order(
    groups: Sequence[Mapping[str, Any]], settings: Mapping[int, _Settings], name: str
) -> list[_Settings]:
    """Returns the settings in the order of 'order_params'; parameters not named there follow."""
    first = [
        parameter
        for group in groups
        if "order_params" in group
        for parameter in _listed(group["order_params"])
    ]
    for parameter in first:
        if id(parameter) not in settings:
            raise ValueError(
                f"For '{name}', the parameter {parameter.name} of 'order_params' is in no group."
            )
    return [settings[key] for key in dict.fromkeys([*map(id, first), *settings])]


def _listed(given: Any) -> list[Any]:
    """Returns Parameters or groups as a list that is not empty; else raises."""
    if not isinstance(given, Iterable) or isinstance(given, (Tensor, str)):
        raise TypeError(f"an optimizer takes a list of Parameters or of groups, not {given!r}")
    items = list(given)
    if not items:
        raise ValueError("For 'Optimizer', the argument parameters must not be empty.")
    if not all(isinstance(item, (Parameter, Mapping)) for item in items):
        raise TypeError(f"an optimizer takes Parameters or groups, but got {items}")
    return items


def _checked_groups(groups: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Returns the groups if all their keys are known; else raises KeyError."""
    for group in groups:
        unknown = [key for key in group if key not in _KEYS]
        if unknown or not ("params" in group or "order_params" in group):
            raise KeyError(
                f"For 'Optimizer', the key in group params must be one of in {list(_KEYS)}, but "
                f"got {unknown or list(group)}."
            )
    return list(groups)


def _decay(given: Any, name: str) -> Any:
    """Returns a weight decay: a Cell, a number, or None for zero."""
    if isinstance(given, Cell):
        return given
    if not isinstance(given, (int, float)) or isinstance(given, bool) or given < 0:
        raise ValueError(f"For '{name}', the 'weight_decay' must be >= 0, but got {given!r}.")
    return float(given) or None


__all__ = ["Optimizer"]
