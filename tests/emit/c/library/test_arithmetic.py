"""Remainders, integers and piecewise functions give what NumPy gives, to the last bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.emit.c.library.samples import farthest, pairs
from tests.emit.c.library.sweeps import DTYPES, Sweeps

Function = Callable[..., np.ndarray]
INTEGERS = {f"{np.dtype(each).kind}{8 * np.dtype(each).itemsize}": each for each in DTYPES.values()}
INTEGERS = {ending: each for ending, each in INTEGERS.items() if ending[0] in "iu"}
OF_ONE: dict[str, Function] = {
    "abs": np.abs,
    "neg": np.negative,
    "relu": lambda x: np.maximum(x, 0),
    "sign": np.sign,
    "square": np.square,
}
OF_TWO: dict[str, Function] = {
    "add": np.add,
    "floor_div": np.floor_divide,
    "fmod": np.fmod,
    "gcd": np.gcd,
    "lcm": np.lcm,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "mod": np.mod,
    "mul": np.multiply,
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
    "sub": np.subtract,
}
#: Tested on special operands, each by a test of its own.
OTHERS = "clip isclose isfinite isinf isnan pow"
#: Compositions, tested beside the same formula in NumPy.
FORMULAS = """
    elu hardsigmoid huber leaky_relu logaddexp logistic_loss reciprocal softsign xlogy zero_div
    zero_mul
"""


def operands(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Returns pairs of integers: the extremes with each other, small ones, and any."""
    info = np.iinfo(dtype)
    random = np.random.default_rng(21)
    extremes = [info.min, info.min + 1, 0, 1, 2, 3, 7, info.bits - 1, info.bits, info.max]
    extremes += [] if info.min == 0 else [-1, -2, -3, -info.bits]
    x, y = (each.ravel() for each in np.meshgrid(*2 * [np.array(extremes, dtype)]))
    drawn = random.integers(info.min, info.max, 1000, dtype, endpoint=True)
    small = random.integers(0, 20, 1000, dtype)
    return np.concatenate([x, drawn, small, drawn]), np.concatenate([y, small, drawn, drawn[::-1]])


@pytest.mark.every_case
@pytest.mark.parametrize("ending", INTEGERS)
def test_integers(integers: Sweeps, ending: str) -> None:
    x, y = operands(INTEGERS[ending])
    with np.errstate(all="ignore"):
        for name, function in OF_ONE.items():
            np.testing.assert_array_equal(integers(f"{name}_{ending}", x), function(x), name)
        for name, function in OF_TWO.items():
            np.testing.assert_array_equal(integers(f"{name}_{ending}", x, y), function(x, y), name)


@pytest.mark.every_case
@pytest.mark.parametrize("ending", INTEGERS)
def test_powers_of_integers(integers: Sweeps, ending: str) -> None:
    x, y = operands(INTEGERS[ending])
    exponent = (np.abs(y.astype(object)) % 70).astype(INTEGERS[ending])
    np.testing.assert_array_equal(integers(f"pow_{ending}", x, exponent), np.power(x, exponent))


@pytest.mark.parametrize("ending", ["f32", "f64"])
@pytest.mark.parametrize("name", ["fmod", "mod", "floor_div"])
def test_remainders(floats: Sweeps, name: str, ending: str) -> None:
    x, y = pairs(np.float32 if ending == "f32" else np.float64)
    function = {**OF_TWO}[name]
    with np.errstate(all="ignore"):
        expected = function(x, y)
    result = floats(f"{name}_{ending}", x, y)
    wrong = ~((result == expected) | (np.isnan(result) & np.isnan(expected)))
    wrong |= (result == 0) & (np.signbit(result) != np.signbit(expected))
    assert not wrong.any(), farthest(wrong.astype(float), result, x, y)


@pytest.mark.parametrize("ending", ["f32", "f64"])
def test_limits_of_clip(floats: Sweeps, ending: str) -> None:
    x = np.array([-3.0, -1.0, 0.5, 2.0, 9.0, np.nan, 0.5, 0.5])
    low = np.array([-1.0, -1.0, -1.0, -1.0, -1.0, -1.0, np.nan, 4.0])
    high = np.array([2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0])
    result = floats(f"clip_{ending}", x, low, high)
    np.testing.assert_array_equal(result, np.clip(x, low, high))


@pytest.mark.parametrize("ending", ["f32", "f64"])
def test_piecewise_functions(floats: Sweeps, ending: str) -> None:
    """Compositions agree with the same formula in NumPy."""
    dtype = np.float32 if ending == "f32" else np.float64
    x, y = (each.astype(dtype) for each in np.random.default_rng(22).normal(0, 3, (2, 2000)))
    near = np.clip(x, -1.5, 1.5)
    formulas = {
        "leaky_relu": (np.where(x > 0, x, 0.1 * x), (x, np.full_like(x, 0.1))),
        "hardsigmoid": (np.clip((x + 3) / 6, 0, 1), (x,)),
        "softsign": (x / (1 + np.abs(x)), (x,)),
        "huber": (near * (x - 0.5 * near), (x, np.full_like(x, 1.5))),
        "elu": (np.where(x > 0, x, 2 * np.expm1(x)), (x, np.full_like(x, 2))),
        "logaddexp": (np.logaddexp(x, y), (x, y)),
        "logistic_loss": (np.maximum(x, 0) - x * y + np.log1p(np.exp(-np.abs(x))), (x, y)),
        "xlogy": (x * np.log(np.abs(y)), (x, np.abs(y))),
        "zero_mul": (x * y, (x, y)),
        "zero_div": (x / y, (x, y)),
        "reciprocal": (1 / x, (x,)),
    }
    assert {*formulas} == {*FORMULAS.split()}
    for name, (expected, given) in formulas.items():
        result = floats(f"{name}_{ending}", *given)
        scale = 20 * np.finfo(dtype).eps
        np.testing.assert_allclose(result, expected, rtol=scale, atol=scale, err_msg=name)


@pytest.mark.parametrize("ending", ["f32", "f64"])
def test_a_zero_wins(floats: Sweeps, ending: str) -> None:
    x = np.array([0.0, 0.0, 0.0, 2.0])
    y = np.array([np.inf, np.nan, 0.0, np.inf])
    np.testing.assert_array_equal(floats(f"zero_mul_{ending}", x, y), [0, 0, 0, np.inf])
    np.testing.assert_array_equal(floats(f"zero_div_{ending}", x, y), [0, 0, 0, 0])
    np.testing.assert_array_equal(floats(f"xlogy_{ending}", x, y), [0, 0, 0, np.inf])


@pytest.mark.parametrize("ending", ["f32", "f64"])
def test_infinities_of_logaddexp(floats: Sweeps, ending: str) -> None:
    x = np.array([np.inf, np.inf, -np.inf, -np.inf, 1.0])
    y = np.array([np.inf, -np.inf, -np.inf, 1.0, -np.inf])
    result = floats(f"logaddexp_{ending}", x, y)
    np.testing.assert_array_equal(result, np.logaddexp(x, y))


@pytest.mark.parametrize("ending", ["f32", "f64"])
def test_tests_of_numbers(floats: Sweeps, ending: str) -> None:
    x = np.array([0.0, -1.0, np.inf, -np.inf, np.nan, 1e-30, 3e38])
    for name in ("isnan", "isinf", "isfinite"):
        np.testing.assert_array_equal(floats(f"{name}_{ending}", x), getattr(np, name)(x))
    pairs_of_all = [each.ravel() for each in np.meshgrid(x, x + 1e-6)]
    tolerances = [np.full(x.size**2, each) for each in (1e-5, 1e-8)]
    for equal in (True, False):
        given = (*pairs_of_all, *tolerances, np.full(x.size**2, equal))
        expected = np.isclose(*pairs_of_all, equal_nan=equal)
        np.testing.assert_array_equal(floats(f"isclose_{ending}", *given), expected)
