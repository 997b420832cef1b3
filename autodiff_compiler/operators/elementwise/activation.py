"""Activation functions that would not read well, or not be right at the joint, as compositions.

The rest (gelu, silu, mish, …) are written with other records, in ``ops/functions/activations.py``.
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Sequence
from typing import Any

from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType, Type
from autodiff_compiler.operators.core.families import elementwise, floating, real_function
from autodiff_compiler.operators.elementwise.arithmetic import (
    FLOATS,
    XY,
    abs,
    clip,
    exp,
    expm1,
    log1p,
    maximum,
    minimum,
    sigmoid,
    sign,
    where,
)


def _elu_numpy(types: Sequence[Type], *, alpha: float) -> str:
    scale = "" if alpha == 1 else "{alpha} * "
    return f"np.maximum({{x}}, 0.0) + {scale}np.expm1(np.minimum({{x}}, 0.0))"


def _elu_parts(x: Any, alpha: float) -> Any:
    if x.dtype_name not in FLOATS:
        return None
    below = expm1(minimum(x, 0.0))
    return maximum(x, 0.0) + (below if alpha == 1 else alpha * below)


def _elu_slope(x: Any, alpha: float) -> Any:
    below = exp(minimum(x, 0.0))  # and 1 where x > 0
    return below if alpha == 1 else where(x > 0, 1.0, alpha * below)


elu = elementwise(
    "elu",
    "x where x > 0, else alpha (exp(x) - 1). d_x = ct where x > 0, else ct * alpha * exp(x).",
    numpy=_elu_numpy,
    dtype=floating,
    label="elu_{x}",
    partials={"x": _elu_slope},
    decompose=_elu_parts,
)


def _leaky_relu_parts(x: Any, slope: float) -> Any:
    if x.dtype_name not in FLOATS:
        return None
    return maximum(x, 0.0) + slope * minimum(x, 0.0)


leaky_relu = elementwise(
    "leaky_relu",
    "x where x > 0, else slope * x; the slope at 0 is the mean of both sides.",
    numpy="np.maximum({x}, 0.0) + {slope} * np.minimum({x}, 0.0)",
    dtype=floating,
    label="leaky_relu_{x}",
    partials={"x": lambda x, slope: (1.0 + slope) / 2 + (1.0 - slope) / 2 * sign(x)},
    decompose=_leaky_relu_parts,
)

hardsigmoid = real_function(
    "hardsigmoid",
    "(x + 3) / 6, cut to [0, 1]; the slope at -3 and 3 is 0.",
    "np.clip(({x} + 3.0) / 6.0, 0.0, 1.0)",
    lambda ct, x: where(abs(x) < 3.0, ct / 6.0, 0.0),
)

softsign = real_function(
    "softsign",
    "x / (1 + |x|). d_x = ct / (1 + |x|)².",
    "{x} / (1.0 + np.abs({x}))",
    lambda ct, x: ct / (1.0 + abs(x)) ** 2,
)


def _huber(x: Any, delta: float) -> Any:
    limited = clip(x, -delta, delta)
    return limited * (x - 0.5 * limited)


huber = elementwise(
    "huber",
    "x² / 2 where |x| <= delta, else delta (|x| - delta / 2). d_x = ct * (x cut to [-delta, "
    "delta]).",
    numpy="{out} = np.clip({x}, -{delta}, {delta})\n{out} = {out} * ({x} - 0.5 * {out})",
    dtype=floating,
    label="huber_{x}",
    partials={"x": lambda x, delta: clip(x, -delta, delta)},
    decompose=_huber,
)


def _logistic_loss_numpy(types: Sequence[Type]) -> str:
    x, y = types
    number = not isinstance(x, ArrayType) and isinstance(y, ArrayType)
    logit = "{y}.dtype.type({x})" if number else "{x}"  # np.exp of a number is a double
    wrong = f"np.maximum({logit}, 0.0) * (1.0 - {{y}}) - np.minimum({logit}, 0.0) * {{y}}"
    return f"{wrong} + np.log1p(np.exp(-np.abs({logit})))"


def _logistic_loss_parts(x: Any, y: Any) -> Any:
    if not isinstance(x, Value) or x.dtype_name not in FLOATS:
        return None
    wrong = clip(x, 0.0, math.inf) * (1.0 - y) - clip(x, -math.inf, 0.0) * y  # faster than maximum
    return wrong + log1p(exp(-abs(x)))


logistic_loss = elementwise(
    "logistic_loss",
    "-(y log(p) + (1 - y) log(1 - p)) of p = sigmoid(x), exact for large x as well. Broadcasts. "
    "d_x = ct ((1 - y) p - y (1 - p)), d_y = -ct x.",
    operands=XY,
    dtype=floating,
    label="logistic_loss_{x}",
    numpy=_logistic_loss_numpy,
    partials={
        "x": lambda x, y: (1.0 - y) * sigmoid(x) - y * sigmoid(-x),  # p - y would cancel
        "y": lambda x: -x,
    },
    decompose=_logistic_loss_parts,
)
