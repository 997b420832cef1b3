"""Fits the polynomials of the C library and prints the module that holds them.

``python -m tests.emit.c.library.fit_coefficients`` needs mpmath and takes some minutes. Its output
is ``autodiff_compiler/emit/c/library/coefficients.py``, byte for byte.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import mpmath as m
import numpy as np
from mpmath import mp, mpf

from tests.emit.c.library.minimax import Fit

mp.prec = 180
LOG2 = m.log(2)
F32, F64 = "float32", "float64"


def _series(function: Callable[[Any], Any], *terms: Any) -> Callable[[Any], Any]:
    """Returns ``function``; near 0, where it is 0 / 0, the polynomial of ``terms`` replaces it."""

    def value(x: Any) -> Any:
        if abs(x) > mpf(2) ** -30:
            return function(x)
        return sum((c * x**k for k, c in enumerate(terms)), mpf(0))

    return value


# ---- the functions that are approximated

exp_rest = _series(lambda r: (m.expm1(r) - r) / r**2, mpf(1) / 2, mpf(1) / 6, mpf(1) / 24)


def log_ratio(z: Any) -> Any:
    """Returns R in log((1 + s) / (1 - s)) = 2 s + s R(s²)."""
    s = m.sqrt(z)
    return 2 * m.atanh(s) / s - 2 if z > mpf(2) ** -40 else 2 * z / 3 + 2 * z**2 / 5


log_rest = _series(
    lambda f: (m.log1p(f) - f + f**2 / 2) / f**3, mpf(1) / 3, -mpf(1) / 4, mpf(1) / 5
)


def of_square(function: Callable[[Any], Any], *terms: Any) -> Callable[[Any], Any]:
    """Returns P in function(x) = x + x x² P(x²), from its series near 0."""
    return _series(lambda z: (function(m.sqrt(z)) / m.sqrt(z) - 1) / z, *terms)


def odd_weight(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns the weight by which the error of that P is relative to the function."""
    return _series(lambda z: z * m.sqrt(z) / function(m.sqrt(z)), 0, 1)


sin_rest = of_square(m.sin, -mpf(1) / 6, mpf(1) / 120)
cos_rest = _series(lambda z: (m.cos(m.sqrt(z)) - 1 + z / 2) / z**2, mpf(1) / 24, -mpf(1) / 720)
sinh_rest = of_square(m.sinh, mpf(1) / 6, mpf(1) / 120)
asin_rest = of_square(m.asin, mpf(1) / 6, mpf(3) / 40)
atan_rest = of_square(m.atan, -mpf(1) / 3, mpf(1) / 5)
asinh_rest = of_square(m.asinh, -mpf(1) / 6, mpf(3) / 40)
atanh_rest = of_square(m.atanh, mpf(1) / 3, mpf(1) / 5)
tanh_rest = of_square(m.tanh, -mpf(1) / 3, mpf(2) / 15)
TWO_OVER_ROOT_PI = 2 / m.sqrt(m.pi)
#: erf(x) = x + x Q(x²)
erf_rest = _series(
    lambda z: m.erf(m.sqrt(z)) / m.sqrt(z) - 1, TWO_OVER_ROOT_PI - 1, -TWO_OVER_ROOT_PI / 3
)


def erf_weight(z: Any) -> Any:
    return 1 / (1 + erf_rest(z))


def erf_tail(t: Any) -> Any:
    """Returns -log(erfc(x)), x = t + 2."""
    return -m.log(m.erfc(t + 2))


def erfc_scaled(t: Any) -> Any:
    """Returns R in erfc(x) = (1.2 + R(t)) exp(-x²) / (1 + 2 x), t = (x - 3.75) / (x + 3.75)."""
    if t == 1:
        return TWO_OVER_ROOT_PI - mpf("1.2")
    x = mpf("3.75") * (1 + t) / (1 - t)
    if x > 1000:
        ratio = sum((-1) ** k * m.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(12))
        return ratio / m.sqrt(m.pi) / x * (1 + 2 * x) - mpf("1.2")
    return m.erfc(x) * m.exp(x * x) * (1 + 2 * x) - mpf("1.2")


def erfc_weight(t: Any) -> Any:
    return 1 / (mpf("1.2") + erfc_scaled(t))


@cache
def _inverse_error(w: Any) -> Any:
    """Returns y where erf(y)² = 1 - exp(-w)."""
    x = m.sqrt(-m.expm1(-w))
    y = m.sqrt(w) * mpf("0.92")
    tail = 1 - x if w < 5 else m.exp(-w) / (1 + x)
    for _ in range(12):  # Newton's steps on log(erfc(y)), which is nearly a parabola
        value = m.erfc(y)
        y += value / (TWO_OVER_ROOT_PI * m.exp(-y * y)) * m.log(value / tail)
    return y


def erfinv_near(v: Any) -> Any:
    """Returns D in erfinv(x) = sqrt(w) (1 - D(w - 3)), w = -log(1 - x²)."""
    w = v + 3
    if w < mpf(2) ** -40:
        return 1 - m.sqrt(m.pi) / 2
    return 1 - _inverse_error(w) / m.sqrt(w)


def erfinv_far(u: Any) -> Any:
    """Returns D in erfinv(x) = s (1 - D(s - 4)), s = sqrt(-log(1 - x²))."""
    return 1 - _inverse_error((u + 4) ** 2) / (u + 4)


lgamma_two = _series(
    lambda u: m.loggamma(2 + u) / u, 1 - m.euler, (m.zeta(2) - 1) / 2, -(m.zeta(3) - 1) / 3
)
lgamma_one = _series(lambda u: m.loggamma(1 + u) / u, -m.euler, m.zeta(2) / 2, -m.zeta(3) / 3)
DIGAMMA_ZERO = m.findroot(m.digamma, mpf("1.46163"))


def digamma_middle(v: Any) -> Any:
    """Returns P in digamma(x) = (x - x0) P(x - 2), where x0 is the zero of digamma."""
    u = v + 2 - DIGAMMA_ZERO
    if abs(u) < mpf(2) ** -30:
        return m.psi(1, DIGAMMA_ZERO) + m.psi(2, DIGAMMA_ZERO) / 2 * u
    return m.digamma(v + 2) / u


def stirling_rest(z: Any) -> Any:
    """Returns S in lgamma(x) = (x - 1/2) log(x) - x + log(2 pi) / 2 + S(1 / x²) / x."""
    if z < mpf(2) ** -60:
        return mpf(1) / 12 - z / 360
    x = 1 / m.sqrt(z)
    return x * (m.loggamma(x) - (x - 0.5) * m.log(x) + x - m.log(2 * m.pi) / 2)


def digamma_rest(z: Any) -> Any:
    """Returns S in digamma(x) = log(x) - 1 / (2 x) - S(1 / x²) / x²."""
    if z < mpf(2) ** -60:
        return mpf(1) / 12 - z / 120
    x = 1 / m.sqrt(z)
    return (m.log(x) - 1 / (2 * x) - m.digamma(x)) / z


def power_ratio(z: Any) -> Any:
    """Returns P in log((1 + s) / (1 - s)) = 2 s (1 + z / 3 + z² P(z)), z = s²."""
    if z < mpf(2) ** -30:
        return mpf(1) / 5 + z / 7
    s = m.sqrt(z)
    return (m.atanh(s) / s - 1 - z / 3) / z**2


HALF_LOG2 = LOG2 / 2 * mpf("1.0001")
ROOT = m.sqrt(2)
LARGEST_RATIO = ((ROOT - 1) / (ROOT + 1)) ** 2 * mpf("1.0001")
EIGHTH = (m.pi / 4) ** 2 * mpf("1.0001")

#: Every polynomial by name, with a comment.
FITS: dict[str, tuple[str, Fit]] = {
    "exp_f32": (
        "exp(r) = 1 + r + r² P(r), |r| <= log(2) / 2",
        Fit(exp_rest, -HALF_LOG2, HALF_LOG2, 5, F32),
    ),
    "exp_f64": ("the same", Fit(exp_rest, -HALF_LOG2, HALF_LOG2, 10, F64)),
    "exp_short": ("the same for 32 bits in f64", Fit(exp_rest, -HALF_LOG2, HALF_LOG2, 5, F64)),
    "log_f32": (
        "log(1 + f) = f - f² / 2 + f³ P(f), 1 + f in [sqrt(1/2), sqrt(2)]",
        Fit(
            log_rest, 1 / ROOT - mpf("1.0001"), ROOT - mpf("0.9999"), 8, F32,
            _series(lambda f: f**3 / m.log1p(f), 0, 0, 1),
        ),
    ),
    "log_f64": (
        "log(1 + f) = 2 s + s R(s²), s = f / (2 + f); R(z) = z P(z)",
        Fit(
            lambda z: log_ratio(z) / z if z else mpf(2) / 3, mpf(0), LARGEST_RATIO, 7, F64,
            lambda z: z / (2 + log_ratio(z)),
        ),
    ),
    "log_short": (
        "the same for 32 bits in f64",
        Fit(
            lambda z: log_ratio(z) / z if z else mpf(2) / 3, mpf(0), LARGEST_RATIO, 4, F64,
            lambda z: z / (2 + log_ratio(z)),
        ),
    ),
    "sin_f32": ("sin(r) = r + r³ P(r²), |r| <= pi / 4",
        Fit(sin_rest, mpf(0), EIGHTH, 3, F32, odd_weight(m.sin))),
    "sin_f64": ("the same", Fit(sin_rest, mpf(0), EIGHTH, 6, F64, odd_weight(m.sin))),
    "cos_f32": ("cos(r) = 1 - r² / 2 + r⁴ P(r²)",
        Fit(cos_rest, mpf(0), EIGHTH, 3, F32, lambda z: z * z)),
    "cos_f64": ("the same", Fit(cos_rest, mpf(0), EIGHTH, 6, F64, lambda z: z * z)),
    "sinh_f64": ("sinh(x) = x + x³ P(x²), |x| <= 1",
        Fit(sinh_rest, mpf(0), mpf(1), 8, F64, odd_weight(m.sinh))),
    "tanh_f32": ("tanh(x) = x + x³ P(x²), |x| <= 5/8",
        Fit(tanh_rest, mpf(0), mpf(25) / 64, 5, F32, odd_weight(m.tanh))),
    "tanh_f64": ("the same", Fit(tanh_rest, mpf(0), mpf(25) / 64, 11, F64, odd_weight(m.tanh))),
    "asin_f32": ("asin(x) = x + x³ P(x²), |x| <= 1/2",
        Fit(asin_rest, mpf(0), mpf(1) / 4, 5, F32, odd_weight(m.asin))),
    "asin_f64": ("the same", Fit(asin_rest, mpf(0), mpf(1) / 4, 12, F64, odd_weight(m.asin))),
    "atan_f32": ("atan(x) = x + x³ P(x²), |x| <= 1/2",
        Fit(atan_rest, mpf(0), mpf(1) / 4, 6, F32, odd_weight(m.atan))),
    "atan_f64": ("the same", Fit(atan_rest, mpf(0), mpf(1) / 4, 12, F64, odd_weight(m.atan))),
    "asinh_f64": ("asinh(x) = x + x³ P(x²), |x| <= 1/2",
        Fit(asinh_rest, mpf(0), mpf(1) / 4, 11, F64, odd_weight(m.asinh))),
    "atanh_f64": ("atanh(x) = x + x³ P(x²), |x| <= 1/2",
        Fit(atanh_rest, mpf(0), mpf(1) / 4, 13, F64, odd_weight(m.atanh))),
    "erf_f32": ("erf(x) = x + x P(x²), |x| <= 1",
        Fit(erf_rest, mpf(0), mpf(1), 7, F32, erf_weight)),
    "erf_f64": ("the same", Fit(erf_rest, mpf(0), mpf(1), 13, F64, erf_weight)),
    "erf_tail_f32": ("erfc(x) = exp(-P(x - 2)), 1 <= x <= 4",
        Fit(erf_tail, mpf(-1), mpf(2), 8, F32, lambda t: m.erfc(t + 2))),
    "erf_tail_f64": ("erfc(x) = exp(-P(x - 2)), 1 <= x <= 6",
        Fit(erf_tail, mpf(-1), mpf(4), 20, F64, lambda t: m.erfc(t + 2))),
    "erfc_f64": (
        "erfc(x) = (1.2 + P(t)) exp(-x²) / (1 + 2 x), x = 3.75 (1 + t) / (1 - t) <= 28",
        Fit(erfc_scaled, mpf(-1), mpf("0.77"), 24, F64, erfc_weight),
    ),
    "erfinv_near_f64": ("erfinv(x) = s (1 - P(w - 3)), w = s² = -log(1 - x²), 0 <= w <= 6.25",
        Fit(erfinv_near, mpf(-3), mpf("3.25"), 22, F64)),
    "erfinv_far_f64": ("erfinv(x) = s (1 - P(s - 4)), 2.5 <= s <= 6.1",
        Fit(erfinv_far, mpf("-1.51"), mpf("2.1"), 26, F64)),
    "lgamma_two_f64": ("lgamma(2 + u) = u P(u), |u| <= 1/2",
        Fit(lgamma_two, mpf(-1) / 2, mpf(1) / 2, 19, F64, lambda u: 1 / lgamma_two(u))),
    "lgamma_one_f64": ("lgamma(1 + u) = u P(u), |u| <= 1/2",
        Fit(lgamma_one, mpf(-1) / 2, mpf(1) / 2, 29, F64, lambda u: 1 / lgamma_one(u))),
    "stirling_f64": ("lgamma(x) = (x - 1/2) log(x) - x + log(2 pi) / 2 + P(1 / x²) / x, x >= 8",
        Fit(stirling_rest, mpf(0), mpf(1) / 64, 7, F64)),
    "digamma_middle_f64": ("digamma(x) = (x - x0) P(x - 2), 1 <= x <= 3",
        Fit(digamma_middle, mpf(-1), mpf(1), 30, F64)),
    "digamma_f64": ("digamma(x) = log(x) - 1 / (2 x) - P(1 / x²) / x², x >= 8",
        Fit(digamma_rest, mpf(0), mpf(1) / 64, 8, F64)),
    "pow_f64": ("log((1 + s) / (1 - s)) = 2 s (1 + z / 3 + z² P(z)), z = s²",
        Fit(power_ratio, mpf(0), LARGEST_RATIO, 8, F64, lambda z: z * z)),
    "cbrt_f64": ("the cube root of m, 1 <= m <= 2, to some digits",
        Fit(m.cbrt, mpf(1), mpf(2), 4, F64)),
}  # fmt: skip


def split(value: Any, *bits: int) -> list[float]:
    """Returns numbers whose sum is ``value``: each of so many bits, and a last one of 53 bits."""
    parts = []
    for count in bits:
        exponent = int(m.floor(m.log(abs(value), 2)))
        scale = mpf(2) ** (count - 1 - exponent)
        parts.append(float(m.nint(value * scale) / scale))
        value -= mpf(parts[-1])
    return [*parts, float(value)]


def short(value: Any) -> float:
    """Returns ``value`` rounded to float32."""
    return float(np.float32(float(value)))


def constants() -> Iterator[tuple[str, str, list[float]]]:
    """Yields the constants: name, comment, the parts whose sum they are."""
    yield (
        "log2_f64",
        "log(2), first of 41 bits and a rest, then at once",
        [*split(LOG2, 41), float(LOG2)],
    )
    high = split(LOG2, 15)[0]
    yield "log2_f32", "the same, first of 15 bits", [high, short(LOG2 - high), short(LOG2)]
    yield "log2_e_f32", "1 / log(2)", [short(1 / LOG2)]
    yield "log10_2_f64", "log10(2), the first part of 41 bits", split(m.log10(2), 41)
    yield "log2_e_f64", "1 / log(2)", split(1 / LOG2, 53)
    yield "log10_e_f64", "1 / log(10)", split(1 / m.log(10), 53)
    yield "half_pi_f64", "pi / 2", split(m.pi / 2, 53)
    yield "half_pi_f32", "pi / 2", [short(m.pi / 2), short(m.pi / 2 - mpf(short(m.pi / 2)))]
    yield "quarter_pi_f32", "pi / 4", [short(m.pi / 4), short(m.pi / 4 - mpf(short(m.pi / 4)))]
    yield "quarter_pi_f64", "pi / 4", split(m.pi / 4, 53)
    yield "pi_f32", "pi", [short(m.pi), short(m.pi - mpf(short(m.pi)))]
    yield "half_root_pi_f64", "sqrt(pi) / 2", split(m.sqrt(m.pi) / 2, 53)
    yield "pi_f64", "pi", split(m.pi, 53)
    with mp.workprec(300):
        turn = split(1 / (2 * m.pi), 29, 29, 29, 29, 29)
    yield "turn_f64", "1 / (2 pi), parts of 29 bits", turn
    yield "third_f64", "1 / 3", split(mpf(1) / 3, 53)
    yield "digamma_zero_f64", "the positive zero of digamma", split(DIGAMMA_ZERO, 53)
    yield "half_log_two_pi_f64", "log(2 pi) / 2", split(m.log(2 * m.pi) / 2, 53)
    yield "log_pi_f64", "log(pi)", split(m.log(m.pi), 53)


def quotient_rows(step: int, count: int, *bits: int) -> list[list[float]]:
    """Returns rows of 2 / pi times 2^(step k), less the nearest multiple of 4, each as a sum."""
    with mp.workprec(1500):
        rows = []
        for k in range(count):
            value = 2 / m.pi * mpf(2) ** (step * k)
            rows.append(split(value - 4 * m.nint(value / 4), *bits))
    return rows


HEAD = '''"""Coefficients of the C library: polynomials, rising powers, and constants as sums.

``python -m tests.emit.c.library.fit_coefficients`` prints this file. The error of a polynomial
follows its name.
"""

from __future__ import annotations


def _read(table: str) -> dict[str, tuple[float, ...]]:
    """Returns the numbers of a table by name. A name and a comment precede the numbers."""
    rows: dict[str, list[float]] = {}
    numbers: list[float] = []
    for line in filter(None, table.splitlines()):
        if line.startswith(" "):
            numbers += map(float, line.split())
        else:
            numbers = rows[line.split(":")[0].split()[0]] = []
    return {name: tuple(numbers) for name, numbers in rows.items()}

'''


def _row(name: str, comment: str, values: list[float]) -> str:
    """Returns the rows of the table for ``name``."""
    single = name.split()[0].endswith("f32")
    literals = [str(np.float32(each)) if single else repr(each) for each in values]
    lines = textwrap.wrap(" ".join(literals), 96, break_on_hyphens=False)
    return f"{name}: {comment}\n" + "".join(f"    {line}\n" for line in lines)


def module(names: list[str]) -> Iterator[str]:
    """Yields the text of the module; of the polynomials only those of ``names``, if there are."""
    yield HEAD + '\nPOLYNOMIALS = _read("""\n'
    for name, (comment, fit) in FITS.items():
        if names and name not in names:
            continue
        values, error = fit.coefficients()
        exponent = float(m.log(error, 2))
        print(f"{name}: 2^{exponent:.2f}", file=sys.stderr, flush=True)
        yield _row(f"{name} 2^{exponent:.1f}", comment, values)
    yield '""")\n\nCONSTANTS = _read("""\n'
    for name, comment, parts in constants():
        yield _row(name, comment, parts)
    rows = quotient_rows(32, 31, 53, 53, 53)
    yield '""")\n\nTWO_OVER_PI = _read("""\n'
    for k, row in enumerate(rows):
        yield _row(str(k), f"2 / pi times 2^{32 * k}, less a multiple of 4", row)
    yield '""")\n'


if __name__ == "__main__":
    sys.stdout.writelines(module(sys.argv[1:]))
