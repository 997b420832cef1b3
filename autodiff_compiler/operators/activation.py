"""Activation functions that would not read well, or not be right at the joint, as compositions.

The rest (gelu, silu, mish, …) are written with other records, in ``ops/activations.py``.
"""

from __future__ import annotations

from typing import Any

from autodiff_compiler.operators.elementwise import abs, clip, exp, minimum, sign, where
from autodiff_compiler.operators.families import elementwise, floating, real_function

elu = elementwise(
    "elu",
    "x where x > 0, else alpha (exp(x) - 1). d_x = ct where x > 0, else ct * alpha * exp(x).",
    numpy="np.maximum({x}, 0.0) + {alpha} * np.expm1(np.minimum({x}, 0.0))", dtype=floating,
    label="elu_{x}",
    partials={"x": lambda x, alpha: where(x > 0, 1.0, alpha * exp(minimum(x, 0.0)))},
)  # fmt: skip

leaky_relu = elementwise(
    "leaky_relu",
    "x where x > 0, else slope * x; the slope at 0 is the mean of both sides.",
    numpy="np.maximum({x}, 0.0) + {slope} * np.minimum({x}, 0.0)", dtype=floating,
    label="leaky_relu_{x}",
    partials={"x": lambda x, slope: (1.0 + slope) / 2 + (1.0 - slope) / 2 * sign(x)},
)  # fmt: skip

hardsigmoid = real_function(
    "hardsigmoid",
    "(x + 3) / 6, cut to [0, 1]; the slope at -3 and 3 is 0.",
    "np.clip({x} / 6.0 + 0.5, 0.0, 1.0)",
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
    dtype=floating, label="huber_{x}",
    partials={"x": lambda x, delta: clip(x, -delta, delta)}, parts=_huber,
)  # fmt: skip
