"""The dtypes of scalar operations follow from their operands."""

from __future__ import annotations

import pytest

from autodiff_compiler.loop_ir.operations import result_dtype

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
