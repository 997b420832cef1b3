"""Tensor methods that are special functions, activations, running reductions and norms."""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable
from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ops.core.shape_queries import known_rank, shape_of
from autodiff_compiler.ops.functions import (
    activations,
    arrays,
    complex_parts,
    elementwise,
    reductions,
    scans_and_norms,
    special,
)
from autodiff_compiler.ops.methods.arrays import named


def argmax_with_value(self: Any, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
    """Returns the largest elements along an axis, and their positions."""
    return reductions.max(self, axis, keep_dims)


def argmin_with_value(self: Any, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
    """Returns the smallest elements along an axis, and their positions."""
    return reductions.min(self, axis, keep_dims)


def cov(self: Any, *, correction: int = 1) -> Tensor:
    """Returns the covariances of the rows, each a variable, divided by count - correction."""
    rows = self if known_rank(self, "cov") == 2 else arrays.reshape(self, (1, -1))
    (_, count) = shape_of(rows) or (None, None)
    centred = rows - reductions.mean(rows, 1, True)
    size = count if isinstance(count, int) else arrays.size(self) // arrays.shape(rows)[0]
    product = arrays.matmul(centred, arrays.t(centred)) / (size - correction)
    return product if rows is self else arrays.reshape(product, ())


FUNCTION_METHODS: dict[str, Callable[..., Any]] = {
    **named(
        special,
        "addcdiv addcmul addmv bitwise_left_shift bitwise_right_shift copysign deg2rad diff "
        "digamma erf erfc erfinv exp2 float_power fmax fmin fmod frac gcd hypot i0 igamma inv "
        "is_floating_point isclose isneginf isposinf lcm ldexp lerp lgamma log10 log2 logaddexp "
        "logaddexp2 logit positive rad2deg sgn sinc xdivy xlogy",
    ),
    **named(complex_parts, "angle conj imag isreal real"),
    **named(scans_and_norms, "aminmax cummax cummin cumprod logcumsumexp median nanmedian norm"),
    **named(elementwise, "bitwise_not floor_div floor_mod"),
    **dict(
        argmax_with_value=argmax_with_value,
        argmin_with_value=argmin_with_value,
        clone=elementwise.deepcopy,
        cov=cov,
        hardshrink=activations.hardshrink,
        soft_shrink=activations.softshrink,
    ),
}
