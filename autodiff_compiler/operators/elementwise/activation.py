"""Activation functions that would not read well, or not be right at the joint, as compositions.

The rest (gelu, silu, mish, …) are written with other operators, in
``ops/functions/activations.py``.
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import FLOAT, ArrayType, Type, is_complex
from autodiff_compiler.operators.core.declare import PROMOTION
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
    sign,
    square,
    where,
)
from autodiff_compiler.operators.elementwise.scalar_choice import single


def follows_mathematics(x: Any) -> bool:
    """True if the slope of a saturating function is computed from ``x``: in plain functions.

    This slope is exact. Cells follow MindSpore, which computes it from the result (decision 0019).
    """
    return PROMOTION.numpy and not is_complex(getattr(x, "type", None))


#: The limits of |x| times width beyond which the slope of a sigmoid curve is 0 in a dtype.
FLAT = {"float16": 22.0, "float32": 120.0, "float64": 800.0}


def _bell(name: str, doc: str, width: float, rule: Callable[..., Any]) -> OpDef:
    """Declares the slope of a sigmoid curve: with e = exp(-width |x|) it is width² e / (1 + e)².

    Of single numbers it is the square of width / 2 / cosh(width x / 2), which is one NumPy call.
    """
    height = width * width

    def numpy(types: Sequence[Type]) -> str:
        if (dtype := "float64" if types[0] == FLOAT else single(types)) in FLAT:
            half, limit = ("{x}" if width == 2 else f"{width / 2} * {{x}}"), FLAT[dtype] / width
            root = f"0.0 if abs({{x}}) > {limit} else {width / 2} / np.cosh({half})"
            return f"{{out}} = {root}\n{{out}} = {{out}} * {{out}}"
        scaled, tall = ("", "") if width == 1 else (f"{width} * ", f"{height} * ")
        power = f"np.exp(-{scaled}np.abs({{x}}))"
        return f"{{out}} = {power}\n{{out}} = {tall}{{out}} / np.square(1.0 + {{out}})"

    def parts(x: Any) -> Any:
        if x.dtype_name not in FLOATS:
            return None
        power = exp(-width * abs(x) if width != 1 else -abs(x))
        return (height * power if height != 1 else power) / square(1.0 + power)

    return real_function(name, doc, numpy, rule, parts)


tanh_slope: OpDef = _bell(
    "tanh_slope",
    "1 - tanh(x)², exact where tanh rounds to 1 as well.",
    2.0,
    lambda x, out: -2.0 * tanh(x) * out,
)
sigmoid_slope: OpDef = _bell(
    "sigmoid_slope",
    "sigmoid(x) sigmoid(-x), exact where one of them rounds to 1 as well.",
    1.0,
    lambda x, out: -tanh(0.5 * x) * out,
)
tanh: OpDef = real_function(
    "tanh",
    "Hyperbolic tangent; its slope is exact in plain functions.",
    "np.tanh({x})",
    lambda x, out: tanh_slope(x) if follows_mathematics(x) else 1.0 - out * out,
)


def _saturation_limit(dtype: str | None) -> float | None:
    """Returns a limit from which on exp(x) + 1 rounds to exp(x), and exp(x) is finite."""
    return None if dtype is None else 11.0 if dtype == "float16" else 40.0


def _sigmoid_numpy(types: Sequence[Type]) -> str:
    limit = _saturation_limit(types[0].dtype if isinstance(types[0], ArrayType) else "float64")
    if limit is None:
        return "np.exp(np.minimum({x}, 0.0)) / (1.0 + np.exp(-np.abs({x})))"
    return f"{{out}} = np.exp(np.minimum({{x}}, {limit}))\n{{out}} = {{out}} / (1.0 + {{out}})"


def _sigmoid_parts(x: Any) -> Any:
    if x.dtype_name not in FLOATS:
        return None
    power = exp(minimum(x, _saturation_limit(x.dtype_name)))
    return power / (1.0 + power)


sigmoid = real_function(
    "sigmoid",
    "exp(x) / (1 + exp(x)), where x is cut to where that is 1, so that nothing overflows.",
    _sigmoid_numpy,
    lambda x, out: sigmoid_slope(x) if follows_mathematics(x) else out * (1.0 - out),
    _sigmoid_parts,
)


def _softplus_parts(x: Any) -> Any:
    """Decomposes ``softplus``. ``clip`` takes half the time of ``maximum``.

    The sign that ``clip`` gives a zero is lost in the sum.
    """
    return clip(x, 0.0, math.inf) + log1p(exp(-abs(x))) if x.dtype_name in FLOATS else None


softplus = real_function(
    "softplus",
    "log(1 + exp(x)), stable.",
    "np.maximum({x}, 0.0) + np.log1p(np.exp(-np.abs({x})))",  # logaddexp takes ten times as long
    lambda x: sigmoid(x),
    _softplus_parts,
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
