"""The sweep of elementwise records: what each computes exactly, where, and how far it may be off.

Each differentiable elementwise record has a row here, or a reason for having none. The exact
numbers at a few points are in ``bounds.json``, which ``python -m benchmarks.bounds --write``
computes to 50 digits (it needs the package mpmath) and cuts to 30.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from autodiff_compiler import Tensor, grad
from autodiff_compiler.ir.opdef import OPERATORS, OpDef

INF = float("inf")
#: The sizes of numbers at which functions of one operand are looked at.
SIZES = (
    5e-324, 1e-310, 1e-300, 1e-150, 1e-45, 1e-40, 1e-30, 1e-20, 1e-10, 1e-8, 1e-5, 1e-3, 0.02, 0.1,
    0.25, 0.4, 0.499, 0.5, 0.7, 0.9, 0.99, 1 - 1e-6, 1 - 1e-9, 1.0, 1 + 1e-9, 1 + 1e-6, 1.1, 1.3,
    1.75, 2 - 1e-6, 2.0, 2 + 1e-6, 2.3, 2.6, 3.3, 4.7, 6.1, 8.3, 9.5, 13.0, 16.5, 18.7, 22.0, 26.0,
    31.0, 36.5, 45.0, 64.0, 80.0, 87.0, 103.0, 250.0, 400.0, 700.0, 744.0, 1234.5, 1e5, 1e8, 1e16,
    1e30, 1e38, 1e100, 1e153, 1e300,
)  # fmt: skip
#: The same for each of two operands.
PAIR = (1e-300, 1e-30, 1e-15, 1e-5, 0.3, 1.0, 1.7, 2.5, 40.0, 1e5, 1e15, 1e30, 1e300)
#: How many points are drawn beside these: fixed ones leave gaps, in which errors are larger.
DRAWN = 600


@dataclass(frozen=True)
class Row:
    """A record on a part of its range.

    exact       its value as an expression of mpmath over ``x`` and ``y``.
    ulps        how far the value and each derivative may be off in float64 and in float32, in units
                in the last place: what the sweep has measured, rounded up.
    within      the least and the largest number that each operand takes.
    slopes      the derivatives as such expressions; else differences in 700 digits.
    about       the part of the range, in words.
    sizes       the sizes of its fixed points, where they are not those of all rows.
    plain       whether it is called in a plain NumPy function, with arrays.
    whole       whether the last operand takes whole numbers only.
    normal      whether the sizes of drawn points are normal numbers up to half the largest one.
    faint       whether numbers below the dtype's least normal one over its epsilon count as 0.
    """

    record: str
    exact: str
    ulps: tuple[tuple[float, ...], tuple[float, ...]] = ((4, 4, 4), (4, 4, 4))
    within: tuple[tuple[float, float], ...] = ((-INF, INF),)
    slopes: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""
    sizes: tuple[float, ...] = ()
    plain: bool = False
    whole: bool = False
    normal: bool = False
    faint: bool = False

    @property
    def name(self) -> str:
        """``bessel_i n=1, |x| < 1``."""
        attrs = "".join(f" {key}={value}" for key, value in self.attrs.items())
        faint = ", not faint" if self.faint else ""
        return self.record + attrs + (f", {self.about}" if self.about else "") + faint

    @property
    def opdef(self) -> OpDef:
        """Return the record."""
        return OPERATORS[self.record]


def points(row: Row, dtype: str) -> list[np.ndarray]:
    """Return the points of a row, an array for each operand: every combination of the fixed
    sizes and of the ends of the dtype, and drawn ones."""
    info = np.finfo(dtype)
    sizes = [*(row.sizes or (SIZES if len(row.within) == 1 else PAIR)), *_ends(row, info)]
    both = np.unique(np.array([size for size in sizes if size <= _ends(row, info)[-1]], dtype))
    fixed = list(product([*-both, *both], repeat=len(row.within)))
    columns = np.concatenate([np.array(fixed, dtype).T, _drawn(row, info)], axis=1)
    if row.whole:
        columns[-1] = np.rint(columns[-1])
    limits = zip(columns.astype(float), row.within)
    inside = np.all([(low <= x) & (x <= high) for x, (low, high) in limits], axis=0)
    some = columns[:-1] if row.whole else columns
    return [column[inside & np.all(some, axis=0)] for column in columns]


def _ends(row: Row, info: np.finfo) -> list[float]:
    """Return the sizes at which the numbers of this dtype, or the normal ones, begin and end."""
    tiny, large = float(info.tiny), float(info.max)
    return [tiny, large / 2] if row.normal else [float(info.smallest_subnormal), tiny, large]


def _drawn(row: Row, info: np.finfo) -> np.ndarray:
    """Return points over the whole range of the row, as many over sizes from 1e-3 to 1e3, and as
    many that are near to 0; of two operands also such as are near to each other."""
    rng = np.random.default_rng(zlib.crc32(f"{row.name} {info.dtype}".encode()))
    shape, (least, *_, top) = (len(row.within), DRAWN), _ends(row, info)
    large = np.array([[min(max(map(abs, ends)), top)] for ends in row.within])
    kinds = [
        np.exp(rng.uniform(np.log(least), np.log(large), shape)),
        np.exp(rng.uniform(np.log(1e-3), np.log(np.minimum(large, 1e3)), shape)),
        rng.uniform(0, np.minimum(large, 4.0), shape),
    ]
    if len(large) == 2:
        near = kinds[0].copy()
        near[1] = near[0] * (1 + rng.choice([-1, 1], DRAWN) * 0.5 ** rng.uniform(0, 52, DRAWN))
        kinds.append(near)
    sizes = np.minimum(np.concatenate(kinds, axis=1), large)
    signs = [
        1 if low >= 0 else -1 if high <= 0 else rng.choice([-1, 1], sizes.shape[1])
        for low, high in row.within
    ]
    return np.array([sign * size for sign, size in zip(signs, sizes)], info.dtype)


def few(total: int, count: int = 24) -> list[int]:
    """Return the places of some points, spread over all of them."""
    return np.unique(np.linspace(0, total - 1, count).astype(int)).tolist()


def found(row: Row, columns: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the values of the record at these points, and its derivatives."""
    record, attrs = row.opdef, dict(row.attrs)

    def of_one(x: Any) -> Any:
        return record(x, **attrs)

    def of_two(x: Any, y: Any) -> Any:
        return record(x, y, **attrs)

    function = of_one if len(columns) == 1 else of_two
    operands = [column if row.plain else Tensor(column) for column in columns]
    with np.errstate(all="ignore"):
        slopes = grad(function, 0 if len(columns) == 1 else (0, 1))(*operands)
        value = function(*map(Tensor, columns)).asnumpy()
    slopes = slopes if isinstance(slopes, tuple) else (slopes,)
    return [value, *(each if row.plain else each.asnumpy() for each in slopes)]


REAL, PLUS = (-INF, INF), (0.0, INF)
TWO = (REAL, REAL)

ROWS: tuple[Row, ...] = (
    Row("add", "x + y", within=TWO),
    Row("sub", "x - y", within=TWO),
    Row("mul", "x * y", within=TWO),
    Row("div", "x / y", within=TWO),
    Row("pow", "x ** y", within=((1e-5, 1e5), (-2.5, 2.5)), ulps=((4, 32, 4), (4, 16, 4)),
        slopes=("y * x ** (y - 1)", "x ** y * log(x)"), about="1e-5 to 1e5, y normal", normal=True),
    Row("pow", "x ** y", within=(PLUS, (-100.0, 100.0)), ulps=((4, 800, 20), (4, 80, 32)),
        slopes=("y * x ** (y - 1)", "x ** y * log(x)"), about="x > 0, y normal", normal=True,
        sizes=(1e-310, 1e-40, 1e-38, *PAIR)),
    Row("pow", "x ** y", within=((-INF, 0.0), (-100.0, 100.0)), whole=True,
        slopes=("y * x ** (y - 1)", "nan"), about="x < 0, y whole", ulps=((4, 4, 4), (4, 24, 4)),
        sizes=(1e-310, 1e-40, 1e-38, *PAIR)),
    Row("hypot", "sqrt(x * x + y * y)", within=TWO, normal=True,
        about="normal, up to half the largest",
        slopes=("x / sqrt(x * x + y * y)", "y / sqrt(x * x + y * y)")),
    Row("atan2", "atan2(x, y)", within=TWO, faint=True, ulps=((4, 4, 4), (4, 12, 12)),
        slopes=("y / (x * x + y * y)", "-x / (x * x + y * y)")),
    Row("neg", "-x"),
    Row("abs", "abs(x)"),
    Row("square", "x * x"),
    Row("relu", "x * (x > 0)"),
    Row("exp", "exp(x)", slopes=("exp(x)",)),
    Row("expm1", "expm1(x)", slopes=("exp(x)",)),
    Row("log", "log(x)", within=(PLUS,)),
    Row("log1p", "log1p(x)", within=((-0.9999999, INF),), slopes=("1 / (1 + x)",)),
    Row("log2", "log(x) / log(2)", within=(PLUS,)),
    Row("log10", "log10(x)", within=(PLUS,)),
    Row("sqrt", "sqrt(x)", within=(PLUS,)),
    Row("rsqrt", "1 / sqrt(x)", within=(PLUS,), ulps=((4, 6), (4, 6))),
    Row("reciprocal", "1 / x"),
    Row("sin", "sin(x)", slopes=("cos(x)",)),
    Row("cos", "cos(x)", slopes=("-sin(x)",)),
    Row("tan", "tan(x)", slopes=("1 / cos(x) ** 2",), ulps=((4, 4), (4, 6))),
    Row("asin", "asin(x)", within=((-0.9999999, 0.9999999),), slopes=("1 / sqrt(1 - x * x)",)),
    Row("acos", "acos(x)", within=((-0.9999999, 0.9999999),), slopes=("-1 / sqrt(1 - x * x)",)),
    Row("atan", "atan(x)", faint=True, slopes=("1 / (1 + x * x)",)),
    Row("sinh", "sinh(x)", slopes=("cosh(x)",)),
    Row("cosh", "cosh(x)", slopes=("sinh(x)",)),
    Row("tanh", "tanh(x)", slopes=("sech(x) ** 2",), about="of arrays", plain=True),
    Row("tanh", "tanh(x)", within=((-1.0, 1.0),), slopes=("sech(x) ** 2",),
        about="of tensors, |x| <= 1", ulps=((4, 4), (4, 6))),
    Row("tanh", "tanh(x)", within=((-3.3, 3.3),), slopes=("sech(x) ** 2",),
        about="of tensors, |x| < 3.4", ulps=((4, 256), (4, 320))),
    Row("tanh_slope", "sech(x) ** 2", slopes=("-2 * tanh(x) * sech(x) ** 2",),
        ulps=((4, 6), (4, 6))),
    Row("asinh", "asinh(x)", slopes=("1 / sqrt(1 + x * x)",)),
    Row("acosh", "acosh(x)", within=((1.0000001, INF),), slopes=("1 / sqrt(x * x - 1)",)),
    Row("atanh", "atanh(x)", within=((-0.9999999, 0.9999999),), slopes=("1 / (1 - x * x)",)),
    Row("sigmoid", "sigmoid(x)", slopes=("sigmoid(x) * sigmoid(-x)",), about="of arrays",
        plain=True),
    Row("sigmoid", "sigmoid(x)", within=((-INF, 1.0),), slopes=("sigmoid(x) * sigmoid(-x)",),
        about="of tensors, x <= 1"),
    Row("sigmoid", "sigmoid(x)", within=((1.0, 8.31),), slopes=("sigmoid(x) * sigmoid(-x)",),
        about="of tensors, 1 to 8.3", ulps=((4, 1280), (4, 1000))),
    Row("sigmoid_slope", "sigmoid(x) * sigmoid(-x)",
        slopes=("-tanh(x / 2) * sigmoid(x) * sigmoid(-x)",), ulps=((4, 4), (4, 6))),
    Row("softplus", "log1p(exp(x)) if x < 800 else x", slopes=("sigmoid(x)",)),
    Row("elu", "x if x > 0 else 1.5 * expm1(x)", attrs={"alpha": 1.5},
        slopes=("1 if x > 0 else 1.5 * exp(x)",)),
    Row("leaky_relu", "x if x > 0 else 0.25 * x", attrs={"slope": 0.25}),
    Row("hardsigmoid", "max(0, min(1, x / 6 + 0.5))"),
    Row("softsign", "x / (1 + abs(x))", faint=True),
    Row("huber", "x * x / 2 if abs(x) < 2.5 else 2.5 * (abs(x) - 1.25)", attrs={"delta": 2.5}),
    Row("logistic_loss", "max(x, 0) - x * y + log1p(exp(-abs(x)))", within=(REAL, (0.0, 1.0)),
        slopes=("(1 - y) * sigmoid(x) - y * sigmoid(-x)", "-x"), ulps=((4, 160, 4), (4, 320, 4))),
    Row("sinc", "sincpi(x)", slopes=("(cospi(x) - sincpi(x)) / x",), within=((-0.9, 0.9),),
        ulps=((12, 16), (12, 4)), about="|x| < 1"),
    Row("sinc_slope", "(cospi(x) - sincpi(x)) / x", attrs={"n": 1}, within=((-0.9, 0.9),),
        slopes=("-(pi ** 2) * sincpi(x) - 2 * (cospi(x) - sincpi(x)) / (x * x)",),
        ulps=((20, 1600), (4, 512)), about="|x| < 1"),
    Row("logaddexp", "max(x, y) + log1p(exp(-abs(x - y)))", within=TWO,
        slopes=("sigmoid(x - y)", "sigmoid(y - x)"), ulps=((16, 600, 600), (16, 64, 64))),
    Row("xlogy", "x * log(y)", within=(REAL, PLUS)),
    Row("erf", "erf(x)", slopes=("2 / sqrt(pi) * exp(-x * x)",), ulps=((4, 512), (4, 64))),
    Row("erfc", "erfc(x)", slopes=("-2 / sqrt(pi) * exp(-x * x)",), within=((-INF, 9.0),),
        about="x < 9", ulps=((64, 384), (8, 64))),
    Row("erfc", "erfc(x)", slopes=("-2 / sqrt(pi) * exp(-x * x)",), within=((9.0, 26.0),),
        about="9 to 26", ulps=((350, 512), (4, 48))),
    Row("erfinv", "erfinv(x)", within=((-0.9999999, 0.9999999),),
        slopes=("sqrt(pi) / 2 * exp(erfinv(x) ** 2)",), ulps=((64, 640), (4, 8))),
    Row("bessel_i", "besseli(0, x)", attrs={"n": 0}, within=((-400.0, 400.0),),
        slopes=("besseli(1, x)",), ulps=((180, 180), (4, 4))),
    Row("bessel_i", "besseli(1, x)", attrs={"n": 1}, within=((-400.0, 400.0),),
        slopes=("(besseli(0, x) + besseli(2, x)) / 2",), ulps=((180, 180), (4, 4))),
    Row("polygamma", "psi(0, x)", attrs={"n": 0}, within=((1.75, INF),), slopes=("psi(1, x)",),
        about="x > 1.7", ulps=((16, 4), (4, 4))),
    Row("polygamma", "psi(1, x)", attrs={"n": 1}, within=(PLUS,), slopes=("psi(2, x)",),
        about="x > 0", faint=True),
    Row("polygamma", "psi(1, x)", attrs={"n": 1}, within=((-0.9, 0.0),), slopes=("psi(2, x)",),
        about="-0.9 to 0", ulps=((6, 320), (4, 8))),
    Row("lgamma", "loggamma(x).real", within=((-0.9, 0.0),), slopes=("psi(0, x)",),
        about="-0.9 to 0", ulps=((40, 320), (4, 320))),
    Row("lgamma", "loggamma(x)", within=((0.0, 2.3),), slopes=("psi(0, x)",), about="0 to 2.5",
        ulps=((64, 800), (4, 4))),
    Row("lgamma", "loggamma(x)", within=((2.6, INF),), slopes=("psi(0, x)",), about="x > 2.5",
        ulps=((128, 8), (4, 4))),
)  # fmt: skip

#: Why a record has no row.
REASONS = {
    name: reason
    for reason, names in {
        "It takes one of its operands as it is.":
            "where clip maximum minimum copysign",
        "A product or a quotient, and a choice.": "zero_mul zero_div",
        "A remainder is exact in NumPy, and its derivative is a whole number.": "mod fmod",
        "An operand is the logarithm of another one's function, given rounded.":
            "gamma_p gamma_p_slope",
    }.items()
    for name in names.split()
}  # fmt: skip
