"""Updates of Parameters: immediate in eager code, after the call in compiled functions.

``parameter_update`` computes the new value, also for the front end.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable
from typing import Any

from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ops.core.marks import mark
from autodiff_compiler.ops.core.primitive_base import Primitive


def updated(variable: Parameter, new: Any) -> Tensor:
    """Gives a Parameter a new value of its shape, in eager code."""
    if not isinstance(variable, Parameter):
        raise TypeError(f"a Parameter can be assigned, but got a {type(variable).__name__}")
    value = new if isinstance(new, Tensor) else Tensor(new)
    if value.shape != variable.shape:
        raise ValueError(
            f"the Parameter '{variable.name}' has the shape {variable.shape}, and is given "
            f"{value.shape}"
        )
    variable.set_data(value)
    return variable.value()


def _changed(variable: Parameter, new: Tensor) -> Tensor:
    updated(variable, new)
    return new.astype(variable.dtype)


def assign(variable: Parameter, value: Any) -> Tensor:
    """Gives a Parameter a new value of its shape, cast to its dtype; returns the value."""
    return updated(variable, value)


def assign_add(variable: Parameter, value: Any) -> Tensor:
    """Adds to a Parameter; returns the sum."""
    return _changed(variable, variable + value)


def assign_sub(variable: Parameter, value: Any) -> Tensor:
    """Subtracts from a Parameter; returns the difference."""
    return _changed(variable, variable - value)


UPDATES: dict[Callable[..., Tensor], Callable[[Any, Any], Any]] = {
    assign: lambda before, value: value,
    assign_add: lambda before, value: before + value,
    assign_sub: lambda before, value: before - value,
}
for _function, _update in UPDATES.items():
    mark(_function, parameter_update=_update)


class Assign(Primitive):
    """``assign`` as a primitive."""

    parameter_update = staticmethod(UPDATES[assign])

    def __call__(self, variable: Parameter, value: Any) -> Tensor:
        return assign(variable, value)


class AssignAdd(Primitive):
    """``assign_add`` as a primitive."""

    parameter_update = staticmethod(UPDATES[assign_add])

    def __call__(self, variable: Parameter, value: Any) -> Tensor:
        return assign_add(variable, value)


class AssignSub(Primitive):
    """``assign_sub`` as a primitive."""

    parameter_update = staticmethod(UPDATES[assign_sub])

    def __call__(self, variable: Parameter, value: Any) -> Tensor:
        return assign_sub(variable, value)
