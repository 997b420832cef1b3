"""Descriptions: symbolic sizes in order, and packings."""

from __future__ import annotations

import pytest

from autodiff_compiler.runtime.native.description import (
    Array,
    Description,
    Number,
    check_packing,
    packing_code,
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
