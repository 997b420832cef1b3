"""The dtypes of scalar operations follow from their operands."""

from __future__ import annotations

import pytest

from autodiff_compiler.loop_ir.operations import has_c_text, result_dtype

CASES: dict[tuple[str, tuple[str, ...]], str | None] = {
    ("exp", ("float32",)): "float32",
    ("add", ("int8", "int8")): "int8",
    ("add", ("int8", "int16")): None,
    ("less", ("float32", "float32")): "bool",
    ("isnan", ("float64",)): "bool",
    ("logical_and", ("bool", "bool")): "bool",
    ("logical_or", ("int64", "int64")): None,
    ("select", ("bool", "float32", "float32")): "float32",
    ("select", ("float32", "float32", "float32")): None,
    ("select", ("bool", "float32", "float64")): None,
    ("isclose", ("float64",) * 4 + ("bool",)): "bool",
    ("isclose", ("float64",) * 5): None,
    ("nothing", ()): None,
}


@pytest.mark.parametrize(("name", "operands"), CASES)
def test_dtypes(name: str, operands: tuple[str, ...]) -> None:
    assert result_dtype(name, operands) == CASES[name, operands]


@pytest.mark.parametrize(
    ("name", "dtype", "has_text"),
    [
        ("add", "bool", True),
        ("select", "bool", True),
        ("maximum", "bool", False),
        ("abs", "bool", False),
        ("gcd", "uint8", True),
        ("gcd", "float64", False),
        ("sin", "float32", True),
        ("sin", "int64", False),
        ("bessel_i", "float64", True),
        ("bessel_i", "int64", False),
    ],
)
def test_operations_with_a_text_in_c(name: str, dtype: str, has_text: bool) -> None:
    assert has_c_text(name, dtype) == has_text
