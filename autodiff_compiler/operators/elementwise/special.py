"""Special functions. Those that NumPy lacks are computed by series.

Sources: the error function from M. Shepherd and J. Laframboise, "Chebyshev approximation of
(1 + 2x) exp(x²) erfc(x)", Math. Comp. 36 (1981), the coefficients computed anew.
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Callable, Sequence

from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType, Type
from autodiff_compiler.operators.core.families import elementwise, floating, real_function, signed
from autodiff_compiler.operators.elementwise.activation import sigmoid
from autodiff_compiler.operators.elementwise.arithmetic import XY, exp, log, round, sign, where
from autodiff_compiler.operators.elementwise.comparisons import equal
from autodiff_compiler.operators.elementwise.error_function import (
    MIDDLE,
    SHORT_MIDDLE,
    SHORT_TAIL,
    TAIL,
    erf_parts,
    erfc_parts,
)

log2 = real_function(
    "log2", "The logarithm to base 2.", "np.log2({x})", lambda ct, x: ct / (math.log(2.0) * x)
)
log10 = real_function(
    "log10", "The logarithm to base 10.", "np.log10({x})", lambda ct, x: ct / (math.log(10.0) * x)
)


def _turned_sine(quarters: int, angle: str) -> str:
    """Returns the text of sin(angle + quarters * pi / 2)."""
    wave = f"np.{('sin', 'cos')[quarters % 2]}({angle})"
    return wave if quarters % 4 < 2 else f"-{wave}"


def _sinc_slope_numpy(types: Sequence[Type], *, n: int) -> str:
    dtype = next((t.dtype for t in types if isinstance(t, ArrayType) and t.dtype), None)
    steps = [
        f"far = ({math.pi**k} * {_turned_sine(k, 'wave')} - {k * math.pi} * far) / wave\n"
        for k in range(1, n + 1)
    ]
    return (
        "near = np.abs({x}) < 2.0\n"
        "wave = np.pi * np.where(near, 1.0, {x})\n"
        "far = np.sin(wave) / wave\n"
        + "".join(steps)
        + "t, weight = np.polynomial.legendre.leggauss(24)\n"
        "t = 0.5 + 0.5 * t\n"
        "{out} = np.pi * np.expand_dims(np.where(near, {x}, 0.0), -1) * t\n"
        f"{{out}} = {_turned_sine(n + 1, '{out}')} @ (0.5 * weight * t ** {float(n)})\n"
        f"{{out}} = np.where(near, {math.pi**n} * {{out}}, far)\n"
        f"{{out}} = {{out}}.astype({f'np.{dtype}' if dtype else '{x}.dtype'})"
    )


sinc_slope: OpDef = elementwise(
    "sinc_slope",
    "The n-th derivative of sinc, n > 0: near 0 the integral of pi^n t^n cos(pi x t + n pi / 2) "
    "over [0, 1] by Gauss' rule, exact to the last digits; beyond by the recurrence "
    "x f[n] = pi^(n - 1) sin(pi x + n pi / 2) - n f[n - 1]. d_x = ct * sinc_slope(n + 1).",
    numpy=_sinc_slope_numpy,
    dtype=floating,
    label="slope_{x}",
    partials={"x": lambda x, n: sinc_slope(x, n=n + 1)},
)

sinc = real_function(
    "sinc",
    "sin(pi x) / (pi x), and 1 at 0. d_x = ct * sinc_slope(x, n=1).",
    "np.sinc({x})",
    lambda x: sinc_slope(x, n=1),
)

logaddexp = elementwise(
    "logaddexp",
    "log(exp(x) + exp(y)), stable. Broadcasts.",
    operands=XY,
    numpy="np.logaddexp({x}, {y})",
    dtype=floating,
    label="logaddexp_{x}_{y}",
    partials={"x": lambda x, y: sigmoid(x - y), "y": lambda x, y: sigmoid(y - x)},
)

xlogy = elementwise(
    "xlogy",
    "x log(y), and 0 where x is 0; y is an array. Broadcasts; the slope in y at (0, 0) is NaN.",
    operands=XY,
    numpy="np.where({x} == 0, 0, {x} * np.log({y}))",
    dtype=floating,
    label="{x}_log_{y}",
    partials={
        "x": lambda ct, x, y: where(equal(x, 0.0) & (y <= 0.0), 0.0, ct * log(y)),
        "y": lambda ct, x, y: ct * x / y,
    },
)

fmod = elementwise(
    "fmod",
    "x - trunc(x / y) * y, with the sign of x, as C's fmod. Broadcasts.",
    operands=XY,
    numpy="np.fmod({x}, {y})",
    dtype=signed,
    label="{x}_fmod_{y}",
    partials={"x": lambda ct: ct, "y": lambda ct, x, y, out: -ct * round((x - out) / y)},
)

copysign: OpDef = elementwise(
    "copysign",
    "The size of x with the sign of y, an array. Broadcasts; the slope at x = 0 is 0.",
    operands=XY,
    numpy="np.copysign({x}, {y})",
    dtype=floating,
    label="{x}_signed",
    partials={"x": lambda x, y: sign(x) * copysign(1.0, y), "y": lambda ct: None},
)


# ---- the error function


def _dtype_of(type_: Type) -> str | None:
    return type_.dtype if isinstance(type_, ArrayType) else "float64"


def in_dtype(types: Sequence[Type], text: str) -> str:
    """Returns ``text``, which computes in float64, cast to the dtype of the operand."""
    dtype = _dtype_of(types[0])
    if dtype == "float64":
        return text
    return f"{text}.astype({'{x}.dtype' if dtype is None else f'np.{dtype}'})"


def _is_short(types: Sequence[Type]) -> bool:
    """True if float32 is precise enough to compute in."""
    return _dtype_of(types[0]) in ("float16", "float32")


def _from_tail(last: str, square: str) -> Callable[..., str]:
    """Returns the text that computes erfc(|x|) as ``{out}`` and ends in ``last``. ``square`` is the
    text of {out}² where the rest is in 32 bits: as far as its rounding matters, in 64."""

    def text(types: Sequence[Type]) -> str:
        dtype = _dtype_of(types[0])
        if _is_short(types):
            widened = ".astype(np.float32)" if dtype == "float16" else ""
            power = f"np.exp(-{square})" + (".astype(np.float32)" if "64" in square else "")
            narrowed = f"({last}).astype(np.float16)" if dtype == "float16" else last
            return (
                f"{{out}} = np.abs({{x}}{widened})\n"
                "t = 1.0 / (1.0 + 0.5 * {out})\n"
                f"{{out}} = t * np.polyval(np.float32({list(SHORT_TAIL)}), t) * {power}\n"
                f"{{out}} = {narrowed}"
            )
        size = "np.abs({x})" + ("" if dtype == "float64" else ".astype(np.float64)")
        return (
            f"{{out}} = {size}\n"
            f"{{out}} = np.polyval({list(TAIL)}, 1.0 - 7.5 / ({{out}} + 3.75)) * "
            "np.exp(-{out} * {out}) / (1.0 + 2.0 * {out})\n"
            f"{{out}} = {in_dtype(types, last)}"
        )

    return text


def _erf_numpy(types: Sequence[Type]) -> str:
    short = _is_short(types)
    powers = f"np.float32({list(SHORT_MIDDLE)})" if short else f"{list(MIDDLE)}"
    near = f"{{x}} * np.polyval({powers}, {{x}} * {{x}})"
    limit = 1.0 if short else 0.5
    last = f"np.where(np.abs({{x}}) < {limit}, {near}, np.copysign(1.0 - {{out}}, {{x}}))"
    return _from_tail(last, "{out} * {out}")(types)


erf = real_function(
    "erf",
    "The error function, the integral of 2 / sqrt(pi) exp(-t²) from 0 to x; the relative error is "
    "below 1e-15, or 2e-7 in float32. d_x = ct * 2 / sqrt(pi) * exp(-x²).",
    _erf_numpy,
    lambda x: 2.0 / math.sqrt(math.pi) * exp(-x * x),
    decompose=erf_parts,
)
erfc = real_function(
    "erfc",
    "1 - erf(x), exact also where it is small. d_x = -ct * 2 / sqrt(pi) * exp(-x²).",
    _from_tail("np.abs(1.0 - np.copysign(1.0, {x}) - {out})", "np.square({out}, dtype=np.float64)"),
    lambda x: -2.0 / math.sqrt(math.pi) * exp(-x * x),
    decompose=erfc_parts,
)

#: Q in erfinv(x) = x sqrt(w + 2) Q(u), w = -log(1 - x²), u = (27 - 368 / (w + 8)) / 19: falling
#: powers; the relative error is below 1e-14 for all x in (-1, 1) that float64 can tell from 1.
_INVERSE = (
    2.906152502101295e-07,
    -1.6990156265128925e-06,
    8.192480199109614e-06,
    2.1451725812082055e-05,
    -9.315239300198236e-05,
    -0.00013910010231733334,
    0.0004289951578045531,
    0.000568433583836849,
    -0.0011608937711860218,
    -0.0015621484587346596,
    0.00214157546941679,
    0.0029834833141313393,
    -0.003150771581159026,
    -0.004069219402531711,
    0.004789316227770162,
    0.004226426006941538,
    -0.008662184051158305,
    -0.004332943930718712,
    0.016028982865899218,
    0.006071312783151765,
    -0.025880597127432056,
    -0.01016314193232698,
    0.03747367287281904,
    0.011621034115471336,
    -0.04736733826036585,
    -0.008895846038197848,
    0.07108859485330662,
    -0.0409992006348738,
    -0.05657309474819846,
    0.20773132617092213,
    0.8006456482327289,
)


def _erfinv_numpy(types: Sequence[Type]) -> str:
    wide = "{x}" if _dtype_of(types[0]) == "float64" else "{x}.astype(np.float64)"
    last = (
        f"({{x}} * np.sqrt({{out}} + 2.0) * np.polyval({list(_INVERSE)}, "
        "(27.0 - 368.0 / ({out} + 8.0)) / 19.0))"
    )
    return (
        f"{{out}} = {wide}\n{{out}} = -np.log((1.0 - {{out}}) * (1.0 + {{out}}))\n"
        f"{{out}} = {in_dtype(types, last)}"
    )


erfinv = real_function(
    "erfinv",
    "The inverse of erf: infinite at -1 and 1, NaN beyond. d_x = ct * sqrt(pi) / 2 * exp(out²).",
    _erfinv_numpy,
    lambda out: math.sqrt(math.pi) / 2.0 * exp(out * out),
)


# ---- Bessel functions

#: The middles of 128 equal pieces of [0, pi].
_ANGLES = "np.pi * (np.arange(128) + 0.5) / 128"


def _bessel_numpy(types: Sequence[Type], *, n: int) -> str:
    harmonic = f" * np.cos({n} * {{out}})" if n else ""
    power = "sinh" if n % 2 else "exp"  # for odd n sinh, which is exact near 0
    text = f"np.mean(np.{power}(np.expand_dims({{x}}, -1) * np.cos({{out}})){harmonic}, axis=-1)"
    return f"{{out}} = {_ANGLES}\n{{out}} = {in_dtype(types, text)}"


bessel_i: OpDef = elementwise(
    "bessel_i",
    "The modified Bessel function of the first kind and of order n: the mean of "
    "exp(x cos t) cos(n t) over [0, pi] (NIST DLMF 10.32.3), for odd n of sinh(x cos t) cos(n t); "
    "exact for |x| < 400. "
    "d_x = ct * (bessel_i(n - 1) + bessel_i(n + 1)) / 2.",
    numpy=_bessel_numpy,
    dtype=floating,
    label="bessel_{x}",
    partials={
        "x": lambda x, n: (
            bessel_i(x, n=1) if n == 0 else 0.5 * (bessel_i(x, n=n - 1) + bessel_i(x, n=n + 1))
        )
    },
)


#: The first term of the series of gamma_p. Where z is cut off, gamma_p is 1 to the last bit.
_SERIES_BEGINS = (
    "z = np.minimum(np.asarray({x}, np.float64), {a} + 12.0 * np.sqrt({a}) + 60.0)\n"
    "z = np.maximum(z, 1e-300)\n"
    "term = 1.0 / ({a} + 0.0 * z)\n"
)
_SERIES_LOOP = "for n in range(1, 150 + int(25.0 * np.sqrt(np.max(z, initial=1.0)))):\n"


def _gamma_p_numpy(types: Sequence[Type]) -> str:
    dtype = next((t.dtype for t in types if isinstance(t, ArrayType) and t.dtype), None)
    last = "np.exp({a} * np.log(z) - z - {log_gamma}) * {out}"
    return (
        f"{_SERIES_BEGINS}{{out}} = term\n{_SERIES_LOOP}"
        "    term = term * z / ({a} + n)\n"
        "    {out} = {out} + term\n"
        f"{{out}} = np.where({{x}} < 0, np.nan, np.sign({{x}}) * np.minimum({last}, 1.0))\n"
        f"{{out}} = {{out}}.astype({f'np.{dtype}' if dtype else '{x}.dtype'})"
    )


def _gamma_p_slope_numpy(types: Sequence[Type]) -> str:
    dtype = next((t.dtype for t in types if isinstance(t, ArrayType) and t.dtype), None)
    last = "np.exp({a} * np.log(z) - z - {log_gamma}) * {out}"
    return (
        f"{_SERIES_BEGINS}total = np.log(z) - 1.0 / {{a}}\n{{out}} = term * total\n{_SERIES_LOOP}"
        "    term = term * z / ({a} + n)\n"
        "    total = total - 1.0 / ({a} + n)\n"
        "    {out} = {out} + term * total\n"
        f"{{out}} = np.where({{x}} < 0, np.nan, {last})\n"
        f"{{out}} = {{out}}.astype({f'np.{dtype}' if dtype else '{x}.dtype'})"
    )


gamma_p: OpDef = elementwise(
    "gamma_p",
    "The regularized lower incomplete gamma function P(a, x) for a > 0 and x >= 0, given "
    "log_gamma = lgamma(a): the series x^a exp(-x) sum(x^n / (a (a + 1) … (a + n))) / gamma(a) "
    "(NIST DLMF 8.11.4). d_x = ct * exp((a - 1) log(x) - x - log_gamma), d_log_gamma = -ct * out, "
    "d_a = ct * gamma_p_slope.",
    numpy=_gamma_p_numpy,
    dtype=floating,
    operands=("a", "x", "log_gamma"),
    label="gamma_p_{x}",
    partials={
        "a": lambda a, x, log_gamma: gamma_p_slope(a, x, log_gamma),
        "x": lambda a, x, log_gamma: exp(xlogy(a - 1.0, x) - x - log_gamma),
        "log_gamma": lambda out: -out,
    },
)

gamma_p_slope: OpDef = elementwise(
    "gamma_p_slope",
    "The derivative of gamma_p in a, for the same log_gamma: log(x) gamma_p less the same series "
    "with each term times 1 / a + 1 / (a + 1) + … + 1 / (a + n). A gradient for a is refused.",
    numpy=_gamma_p_slope_numpy,
    dtype=floating,
    operands=("a", "x", "log_gamma"),
    label="slope_{x}",
    partials={
        "x": lambda a, x, log_gamma: log(x) * exp(xlogy(a - 1.0, x) - x - log_gamma),
        "log_gamma": lambda out: -out,
    },
)
