"""Elementary functions are as exact as the table says, at every kind of number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autodiff_compiler.emit.c.library import FUNCTIONS
from tests.emit.c.library.samples import SLACK, WIDE, distance, farthest, numbers, pairs
from tests.emit.c.library.sweeps import Sweeps

Function = Callable[..., np.ndarray]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x)))


def _bell(x: np.ndarray) -> np.ndarray:
    return np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))) ** 2


OF_ONE: dict[str, Function] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "relu": lambda x: np.maximum(x, WIDE(0)),
    "rint": np.rint,
    "round": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": _sigmoid,
    "sigmoid_slope": _bell,
    "sign": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "tanh_slope": lambda x: 4 * _bell(2 * x),
    "trunc": np.trunc,
}
OF_TWO: dict[str, Function] = {
    "atan2": np.arctan2,
    "copysign": np.copysign,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "hypot": np.hypot,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "pow": np.power,
}
#: Of two zeros either may be the larger.
ZEROS = ("fmax", "fmin", "maximum", "minimum", "relu")
#: Values in files, at points of their own.
IN_FILES = ("erf", "erfc", "erfinv", "sinc", "lgamma", "digamma")
ELSEWHERE = (*IN_FILES, "clip", "fmod", "reciprocal")
ENDINGS = {"f32": np.float32, "f64": np.float64}


def check(name: str, result: np.ndarray, exact: np.ndarray, *operands: np.ndarray) -> None:
    bound = FUNCTIONS[name].ulp
    assert bound is not None
    if name[:-4] in ZEROS:
        result, exact = np.abs(result), np.abs(exact)
        assert np.array_equal(np.isnan(result), np.isnan(exact))
    apart = distance(result, exact)
    slack = SLACK if bound and name.endswith("f64") else 0.01
    assert apart.max() <= bound + slack, farthest(apart, result, *operands)


@pytest.mark.every_case
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", OF_ONE)
def test_functions_of_one_number(floats: Sweeps, name: str, ending: str) -> None:
    x = numbers(ENDINGS[ending])
    with np.errstate(all="ignore"):
        exact = OF_ONE[name](x.astype(WIDE))
    check(f"{name}_{ending}", floats(f"{name}_{ending}", x), exact, x)


@pytest.mark.every_case
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", OF_TWO)
def test_functions_of_two_numbers(floats: Sweeps, name: str, ending: str) -> None:
    x, y = pairs(ENDINGS[ending])
    with np.errstate(all="ignore"):
        exact = OF_TWO[name](x.astype(WIDE), y.astype(WIDE))
    check(f"{name}_{ending}", floats(f"{name}_{ending}", x, y), exact, x, y)


@pytest.mark.parametrize("ending", ENDINGS)
def test_powers_near_one(floats: Sweeps, ending: str) -> None:
    """The exponent magnifies the error of the logarithm most where the base is near 1."""
    random = np.random.default_rng(19)
    x = (1 + random.normal(0.0, 1e-3, 4000)).astype(ENDINGS[ending])
    y = random.normal(0.0, 1e4, 4000).astype(ENDINGS[ending])
    exact = np.power(x.astype(WIDE), y.astype(WIDE))
    # The reference of x86 has 64 bits, of which this exponent takes ten.
    apart = distance(floats(f"pow_{ending}", x, y), exact)
    assert apart.max() <= 1.2 + 10 * SLACK


def test_large_angles_are_exact(floats: Sweeps) -> None:
    """Nearly all digits cancel at numerators of the continued fraction of pi."""
    x = np.array([22.0, 355.0, 103993.0, 80143857.0])
    sines = [-0.008851309290403876, -3.014435335948845e-05]
    sines += [-1.9129335778423752e-05, -1.4772846817965908e-08]
    np.testing.assert_allclose(floats("sin_f64", x), sines, rtol=3e-16)
    np.testing.assert_allclose(floats("sin_f32", x[:3]), sines[:3], rtol=2e-7)
    # The double that is nearest to a multiple of pi / 2, relative to its size.
    worst = np.array([np.ldexp(6381956970095103.0, 797)])
    np.testing.assert_allclose(floats("cos_f64", worst), -4.687165924254628e-19, rtol=3e-16)


@pytest.mark.parametrize("ending", ENDINGS)
def test_logarithms_of_sums_where_the_exponent_changes(floats: Sweeps, ending: str) -> None:
    """1 + x is split at sqrt(1/2) and sqrt(2) times each power of two, up to the largest number."""
    dtype = ENDINGS[ending]
    info = np.finfo(dtype)
    edges = np.ldexp(np.sqrt(WIDE(2)), np.arange(-info.nmant - 1, info.maxexp)) - 1
    near = edges.astype(dtype)
    x = np.concatenate([near, np.nextafter(near, info.max), np.nextafter(near, -info.max)])
    x = np.concatenate([x[x > -1], [info.max, -1 + info.epsneg]]).astype(dtype)
    check(f"log1p_{ending}", floats(f"log1p_{ending}", x), np.log1p(x.astype(WIDE)), x)
    angles = np.log(edges[edges > 0]).astype(dtype)
    x = np.concatenate([angles, -angles, np.nextafter(-angles, info.max)])
    softplus = OF_ONE["softplus"](x.astype(WIDE))
    check(f"softplus_{ending}", floats(f"softplus_{ending}", x), softplus, x)


def test_powers_of_the_base_have_whole_logarithms(floats: Sweeps) -> None:
    exponents = np.arange(-1074, 1024)
    np.testing.assert_array_equal(floats("log2_f64", np.ldexp(1.0, exponents)), exponents)
    tens = np.arange(23)
    np.testing.assert_array_equal(floats("log10_f64", 10.0**tens), tens)
    np.testing.assert_array_equal(floats("exp2_f64", exponents), np.ldexp(1.0, exponents))


def test_every_bound_is_tested() -> None:
    tested = {*OF_ONE, *OF_TWO, *ELSEWHERE}
    bounded = {n[:-4] for n, each in FUNCTIONS.items() if each.ulp is not None and n[-3] == "f"}
    assert bounded <= tested


def test_bounds_are_those_that_were_promised() -> None:
    """Two units in the last place, and 2.5 for sigmoids and their slopes."""
    wide = ("sigmoid", "sigmoid_slope", "tanh_slope")
    for name, function in FUNCTIONS.items():
        assert function.ulp is None or function.ulp <= (2.5 if name[:-4] in wide else 2.0), name
