"""Division of a NumPy scalar by a Python float. NumPy divides by zero where Python raises."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from tests.frontend.written_programs import program

_SCALARS = ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float32", "float64"]


@pytest.mark.parametrize("sign", ["/", "//", "%"])
@pytest.mark.parametrize("kind", _SCALARS)
def test_the_value_and_its_dtype_are_numpys(kind: str, sign: str) -> None:
    made = program(f"return np.{kind}(7) {sign} x")
    for x in (1.5, 0.0, -2.5):
        with np.errstate(all="ignore"):
            want = made(x)
            value, slope = ms.value_and_grad(made)(x)
        assert np.asarray(value).dtype == np.asarray(want).dtype
        np.testing.assert_allclose(value, want, rtol=1e-7)
        wanted = {"/": -7 / x**2 if x else -np.inf, "//": 0.0, "%": -np.floor(7 / x) if x else None}
        if wanted[sign] is not None:
            np.testing.assert_allclose(slope, wanted[sign], rtol=1e-6)


def test_no_handler_takes_a_division_of_numpys() -> None:
    made = program(
        "try:",
        "    y = np.float64(2.0) / x",
        "except ZeroDivisionError:",
        "    y = 3.0 * x",
        "return y",
    )
    with np.errstate(all="ignore"):
        assert ms.value_and_grad(made)(0.0)[0] == np.inf
    assert ms.value_and_grad(made)(4.0) == (0.5, -0.125)


_UFUNCS = ["power", "divide", "true_divide", "floor_divide", "remainder", "mod"]
_PAIRS = [(-1.0, 0.5), (0.0, -1.0), (2.0, 0.0), (-3.0, 0.0), (0.0, 0.0), (2.5, -1.5), (-7.0, 2.0)]


@pytest.mark.parametrize("name", _UFUNCS)
@pytest.mark.parametrize(
    "form", ["np.{0}(x, {1!r})", "np.{0}({1!r}, x)", "np.{0}(x, x - x + {1!r})"]
)
def test_a_ufunc_of_python_numbers_is_numpys(name: str, form: str) -> None:
    """Python raises ZeroDivisionError, and makes powers of negative numbers complex."""
    for x, other in _PAIRS:
        made = program("return " + form.format(name, other))
        with np.errstate(all="ignore"):
            want = made(x)
            value, slope = ms.value_and_grad(made)(x)
        assert type(value) is type(want) is np.float64
        np.testing.assert_allclose(value, want, rtol=1e-12)
        assert np.isrealobj(slope)


def test_the_dtype_is_numpys() -> None:
    for text in ("np.power(x, np.float32(2))", "np.divide(np.float32(2), x)", "np.power(x, 2)"):
        made = program(f"return {text}")
        assert ms.value_and_grad(made)(1.5)[0].dtype == made(1.5).dtype


def test_powers_of_math_are_floats() -> None:
    made = program("import math", "return math.pow(x, 0.5)")
    value, slope = ms.value_and_grad(made)(-1.0)
    assert np.isnan(value) and np.isnan(slope)
    assert ms.value_and_grad(made)(4.0) == (2.0, 0.25)
