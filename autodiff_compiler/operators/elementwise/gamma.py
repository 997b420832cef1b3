"""The logarithm of the gamma function and its derivatives.

Stirling's series (NIST DLMF 5.11.1, 5.15.8) after eight steps of recurrence upward; the reflection
formula below 0 (5.5.3, 5.15.6), and the series around 2 (5.7.3) near the zeros of the logarithm.
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Sequence

import numpy as np

from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import Type
from autodiff_compiler.operators.core.families import elementwise, floating, real_function
from autodiff_compiler.operators.elementwise.special import in_dtype

#: Bernoulli's numbers B2, B4 … B16.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
#: x, x + 1 … x + 7 in a new last axis, and then z = x + 8, where the series is exact.
_STEPS = "{out} = np.expand_dims({x}, -1) + np.arange(9.0)\n"
_BELOW, _Z = "{out}[..., :8]", "{out}[..., 8]"


def _series(*rising: float) -> str:
    """Returns a polynomial in 1 / z²."""
    return f"np.polyval({list(rising[::-1])}, {_Z} ** -2.0)"


#: Q in lgamma(2 + u) = u Q(u), falling powers: 1 - Euler's constant, (zeta(k) - 1) (-1)^k / k.
_NEAR_TWO = (
    -2.7595228851242334e-10,
    5.731367241678862e-10,
    -1.1921401405860912e-09,
    2.4836745438024785e-09,
    -5.183475041970047e-09,
    1.0838659214896955e-08,
    -2.2711094608943164e-08,
    4.7698101693639804e-08,
    -1.0043224823968099e-07,
    2.1207184805554665e-07,
    -4.492469198764566e-07,
    9.55141213040742e-07,
    -2.039215753801366e-06,
    4.374866789907488e-06,
    -9.439488275268397e-06,
    2.050721277567069e-05,
    -4.492623673813314e-05,
    9.945751278180853e-05,
    -0.00022315475845357939,
    0.0005096695247430425,
    -0.001192753911703261,
    0.0028905103307415234,
    -0.007385551028673986,
    0.020580808427784546,
    -0.0673523010531981,
    0.3224670334241132,
    0.42278433509846713,
)


def _reflected(types: Sequence[Type], text: str, sign: str, other: str) -> str:
    """Returns lines that apply a reflection formula: ``sign text(1 - x) - other`` where x < 0.

    ``other`` reads the distance of x from the nearest integer as ``turned``.
    """
    steps = _STEPS.replace("{x}", "np.where({x} < 0, 1.0 - {x}, {x})")
    return (
        f"{steps}{{out}} = {text}\n"
        "turned = np.where({x} < 0, {x} - np.round({x}), 0.25).astype(np.float64)\n"
        f"{{out}} = np.where({{x}} < 0, {sign}{{out}} - {other}, {{out}})\n"
        f"{{out}} = {in_dtype(types, '{out}')}"
    )


def _lgamma_numpy(types: Sequence[Type]) -> str:
    stirling = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(_BERNOULLI, 1)]
    far = (
        f"({_Z} - 0.5) * np.log({_Z}) - {_Z} + {0.5 * math.log(2 * math.pi)}"
        f" + {_series(*stirling)} / {_Z} - np.sum(np.log({_BELOW}), axis=-1)"
    )
    other = (
        "np.log(np.abs(turned * np.sinc(turned)))"  # sin(pi t) / pi, right for denormal numbers too
    )
    return _reflected(types, far, "-", other) + (
        "\nu = np.where(({x} > 0.5) & ({x} < 2.5), {x}, 1.0).astype(np.float64)\n"
        "u = u - np.where(u < 1.5, 1.0, 2.0)\n"
        f"near = u * np.polyval({list(_NEAR_TWO)}, u) - np.where({{x}} < 1.5, np.log1p(u), 0.0)\n"
        f"{{out}} = {in_dtype(types, 'np.where(({x} > 0.5) & ({x} < 2.5), near, {out})')}"
    )


def _cotangent_slope(n: int) -> list[float]:
    """Returns the n-th derivative of cot(pi x) over pi^n, as a polynomial in cot(pi x): falling
    powers."""
    polynomial = np.poly1d([1.0, 0.0])
    for _ in range(n):
        polynomial = -np.poly1d([1.0, 0.0, 1.0]) * polynomial.deriv()
    return [float(each) for each in polynomial.coeffs]


def _polygamma_numpy(types: Sequence[Type], *, n: int) -> str:
    sign = "-" if n % 2 else ""
    cotangent = (
        "np.clip(1.0 / np.tan(np.pi * turned), -1e308, 1e308)"  # finite, so that 0 times it is 0
    )
    other = f"{math.pi ** (n + 1)} * np.polyval({_cotangent_slope(n)}, {cotangent})"
    if n == 0:
        terms = [-b / (2 * k) for k, b in enumerate(_BERNOULLI, 1)]
        text = (
            f"np.log({_Z}) - 0.5 / {_Z} + {_series(0.0, *terms)} - np.sum(1.0 / {_BELOW}, axis=-1)"
        )
        return _reflected(types, text, sign, other)
    up = (-1.0) ** (n + 1)
    factor = up * math.factorial(n)
    terms = [
        up * b * math.factorial(2 * k + n - 1) / math.factorial(2 * k)
        for k, b in enumerate(_BERNOULLI, 1)
    ]
    text = (
        f"({_series(factor / n, *terms)} + {factor / 2} / {_Z}) / {_Z} ** {float(n)}"
        f" + {factor} * np.sum({_BELOW} ** {-float(n + 1)}, axis=-1)"
    )
    return _reflected(types, text, sign, other)


polygamma: OpDef = elementwise(
    "polygamma",
    "The n-th derivative of the digamma function, which is that of log(|gamma(x)|). "
    "d_x = ct * polygamma(n + 1, x).",
    numpy=_polygamma_numpy,
    dtype=floating,
    label="polygamma_{x}",
    partials={"x": lambda x, n: polygamma(x, n=n + 1)},
)

lgamma = real_function(
    "lgamma",
    "log(|gamma(x)|), exact also near 1 and 2. d_x = ct * digamma(x).",
    _lgamma_numpy,
    lambda x: polygamma(x, n=0),
)
