"""Mixed precision: loss scalers for custom training loops, and nets that compute in float16.

A small gradient underflows in float16. The loss is therefore multiplied by a scale, and the
gradient is divided by it. A step whose gradients are not all finite is skipped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_compiler import ops
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.mutable import jit_class
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.tensor import Tensor


def all_finite(inputs: Any) -> Any:
    """True if no element of the Tensors in a tuple or list is infinite or NaN.

    The result is a bool Tensor of shape ``()``."""
    finite = Tensor(True)
    for tensor in inputs:
        finite = ops.logical_and(finite, ops.all(ops.isfinite(tensor)))
    return finite


def _times(inputs: Any, factor: Any) -> Any:
    """Multiplies a Tensor, or each in a tuple or list, by a factor. Dtypes stay."""
    if isinstance(inputs, tuple):
        return tuple([_times(one, factor) for one in inputs])
    if isinstance(inputs, list):
        return [_times(one, factor) for one in inputs]
    return inputs * ops.cast(factor, inputs.dtype)


class LossScaler:
    """The base of loss scalers: ``scale_value``, a Parameter f32[], and its two uses."""

    def __init__(self, scale_value: float):
        if isinstance(scale_value, bool) or not isinstance(scale_value, (int, float)):
            raise TypeError(f"the 'scale_value' must be a number, but got {scale_value!r}")
        if scale_value < 1:
            raise ValueError(f"the 'scale_value' must be >= 1, but got {scale_value}")
        self.scale_value = Parameter(Tensor(np.float32(scale_value)), name="scale_value")

    def scale(self, inputs: Any) -> Any:
        """Multiplies a Tensor, or Tensors in a tuple or list, by the scale. Dtypes stay."""
        return _times(inputs, self.scale_value)

    def unscale(self, inputs: Any) -> Any:
        """Divides a Tensor, or Tensors in a tuple or list, by the scale."""
        return _times(inputs, 1.0 / self.scale_value)

    def adjust(self, grads_finite: Any) -> Any:
        """Chooses the scale of the next step. Subclasses define it."""
        raise NotImplementedError


@jit_class
class StaticLossScaler(LossScaler):
    """A constant scale. ``adjust`` returns False."""

    def adjust(self, grads_finite: Any) -> bool:
        return False


@jit_class
class DynamicLossScaler(LossScaler):
    """A scale that is divided by ``scale_factor`` after a step that was not finite, down to 1.

    It is multiplied by the factor after ``scale_window`` finite steps. ``adjust`` returns True."""

    def __init__(self, scale_value: float, scale_factor: int, scale_window: int):
        super().__init__(scale_value)
        for name, given in (("scale_factor", scale_factor), ("scale_window", scale_window)):
            if isinstance(given, bool) or not isinstance(given, (int, float)) or given < 1:
                raise ValueError(
                    f"For 'DynamicLossScaler', the '{name}' must be a number >= 1: {given!r}"
                )
        self.scale_factor, self.scale_window = scale_factor, scale_window
        self.counter = Parameter(Tensor(0, mstype.int32), name="counter")

    def adjust(self, grads_finite: Any) -> bool:
        larger = self.scale_value * self.scale_factor
        smaller = ops.maximum(self.scale_value / self.scale_factor, 1.0)
        grows = ops.logical_and(self.counter == self.scale_window - 1, ops.isfinite(larger))
        if_finite = ops.select(grows, larger, self.scale_value * 1.0)
        ops.assign(self.scale_value, ops.select(grads_finite, if_finite, smaller))
        ahead = ops.cast((self.counter + 1) % self.scale_window, mstype.int32)
        ops.assign(self.counter, ops.select(grads_finite, ahead, ops.zeros_like(ahead)))
        return True


def auto_mixed_precision(
    network: Cell, amp_level: str = "O0", dtype: mstype.Type = mstype.float16
) -> Cell:
    """Makes a network compute in ``dtype`` by ``Cell.to_float``, and returns it.

    Its result is float32. Level 'O0' changes nothing; at 'O3' all layers compute in ``dtype``, at
    'O2' all but batch and layer norms. Raises TypeError for a network that is no Cell, ValueError
    for another level.
    """
    if not isinstance(network, Cell):
        raise TypeError(f"The network type should be Cell, but got {type(network)}.")
    if amp_level not in ("O0", "O2", "O3"):
        raise ValueError(f"The amp level {amp_level} is not supported; O0, O2 and O3 are.")
    if amp_level == "O0":
        return network
    network.to_float(dtype)
    for _, cell in network.cells_and_names() if amp_level == "O2" else ():
        if cell._keeps_float32:
            cell.to_float(mstype.float32)
            cell.register_forward_hook(_Cast(dtype))
    network.register_forward_hook(_Cast(mstype.float32))
    return network


class _Cast:
    """A hook that casts the result of a Cell."""

    def __init__(self, dtype: mstype.Type):
        self.dtype = dtype

    def __call__(self, cell: Any, inputs: Any, output: Any) -> Any:
        return self.cast(output)

    def cast(self, output: Any) -> Any:
        """Casts a floating Tensor, or each in a tuple or list, to the dtype."""
        if isinstance(output, tuple):
            return tuple([self.cast(one) for one in output])
        if isinstance(output, list):
            return [self.cast(one) for one in output]
        if isinstance(output, Tensor) and output.dtype in mstype.float_type:
            return ops.cast(output, self.dtype)
        return output


__all__ = [
    "DynamicLossScaler",
    "LossScaler",
    "StaticLossScaler",
    "all_finite",
    "auto_mixed_precision",
]
