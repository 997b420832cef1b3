"""Functions of ``math`` raise where NumPy returns NaN or infinity. A ``try`` around them takes
Python's path."""

from __future__ import annotations

import math

import numpy as np
import pytest

import autodiff_compiler as ms
from tests.frontend.written_programs import program

_CALLS = {
    "sqrt(v)": (0.5, -0.5), "log(v)": (0.5, -0.5, 0.0), "log(v, 3.0)": (0.5, -0.5, 0.0),
    "log2(v)": (0.5, -0.5), "log10(v)": (0.5, 0.0), "log1p(v)": (0.5, -1.0, -2.0),
    "asin(v)": (0.5, 1.5, -1.5), "acos(v)": (0.5, 1.5), "acosh(v)": (1.5, 0.5),
    "atanh(v)": (0.5, 1.0, -2.0), "pow(v, 0.5)": (0.5, -0.5), "pow(v, -1.0)": (0.5, 0.0),
    "pow(10.0, v)": (2.0, 400.0), "exp(v)": (2.0, 709.5, 710.0), "expm1(v)": (2.0, 710.0),
    "cosh(v)": (2.0, 710.4, 711.0, -711.0), "sinh(v)": (2.0, -711.0), "exp2(v)": (2.0, 1024.0),
    "lgamma(v)": (0.5, -2.0, 0.0, -2.5), "fmod(v, 0.4)": (0.5, math.inf),
    "fmod(1.0, v)": (0.3, 0.0),
    "sin(v)": (0.5, math.inf), "cos(v)": (0.5, -math.inf), "floor(v)": (0.5, math.inf, math.nan),
    "ceil(v)": (0.5, -math.inf), "trunc(v)": (0.5, math.nan),
}  # fmt: skip
_CALLS = {call: at for call, at in _CALLS.items() if hasattr(math, call.partition("(")[0])}


@pytest.mark.parametrize("call", _CALLS)
@pytest.mark.parametrize("kinds", ["ValueError, OverflowError", "Exception", ""])
def test_a_handler_takes_what_python_raises(call: str, kinds: str) -> None:
    made = program(
        "import math",
        "v = x[0]",
        "try:",
        f"    y = math.{call}",
        f"except ({kinds}):" if kinds else "except:",
        "    y = 5.0 * x[1]",
        "else:",
        "    y = y + x[2]",
        "return y",
    )
    grad = ms.value_and_grad(made)
    for at in _CALLS[call]:
        x = np.array([at, 2.0, 3.0])
        value, slope = grad(x)
        want = made(x)
        assert value == pytest.approx(want, rel=1e-12), at
        assert list(slope[1:]) == ([5.0, 0.0] if want == 10.0 else [0.0, 1.0]), at


def test_of_several_handlers_the_right_one_takes_it() -> None:
    made = program(
        "import math",
        "total = 0.0",
        "for v in x:",
        "    try:",
        "        total = total + math.exp(500.0 * v) * 0.0 + math.sqrt(v)",
        "    except OverflowError:",
        "        total = total + 2.0 * v",
        "    except ValueError:",
        "        total = total - 3.0 * v",
        "return total",
    )
    x = np.array([0.25, 2.0, -0.5, 1.5])
    value, slope = ms.value_and_grad(made)(x)
    assert value == pytest.approx(made(x), rel=1e-12)
    np.testing.assert_allclose(slope, [1.0, 2.0, -3.0, 2.0])
