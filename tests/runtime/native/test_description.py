"""Descriptions: symbolic sizes in order, and packings."""

from __future__ import annotations

import json

import numpy as np
import pytest

from autodiff_compiler.runtime.native.description import (
    Array,
    Description,
    ErrorRow,
    Number,
    Scalar,
    check_packing,
    packing_code,
    read_descriptions,
    stored_descriptions,
)


def test_symbols_are_in_the_order_of_first_use() -> None:
    inputs = Array("f4", ("b", 3)), Number("int"), Array("f4", ("a", "b", "c")), Array("f4", ())
    about = Description("f", "f", inputs, (Array("f4", ("other",)),), derived=("other",))
    assert about.symbols == ("b", "a", "c")


@pytest.mark.parametrize(
    ("outputs", "packing", "code"),
    [
        (1, None, [0]),
        (3, None, [-4, 0, 1, 2]),
        (0, None, [-1]),
        (1, (0,), [-2, 0]),
        (3, ((2,), (0, (1,)), ()), [-4, -2, 2, -3, 0, -2, 1, -1]),
    ],
)
def test_packings(outputs: int, packing: object, code: list[int]) -> None:
    about = Description("f", "f", (), (Number("int"),) * outputs, packing=packing)
    assert packing_code(about.packing_or_default) == code
    check_packing(code, outputs)
    with pytest.raises(ValueError, match="packing"):
        check_packing(code, outputs + 1)


def test_descriptions_are_stored_as_json() -> None:
    errors = (
        ErrorRow(ValueError, "no"),
        ErrorRow(np.linalg.LinAlgError, "{0}", True, ("int",)),
    )
    inputs = (Array("f4", ("b", 3), True), Number("bool"), Array("f8", ()))
    outputs = (Scalar("f4"), Array("i8", (0,)), Number("float"))
    packing = (2, (1, (0,)))
    common = {"derived": ("c",), "derive_sizes": "s", "workspace": "c", "services": True}
    large = Description("f", "f_call", inputs, outputs, packing, errors, 2, is_long=True, **common)
    small = Description("g", "g_call", (), (Number("int"),), workspace=64)
    text = json.dumps(stored_descriptions([large, small]))
    again = read_descriptions(json.loads(text))
    assert again == (large, small)
    assert [type(each) for each in again[0].inputs] == [Array, Number, Array]
    assert type(again[0].inputs[0].shape) is tuple
    assert again[0].errors[1].exception is np.linalg.LinAlgError
