"""A sensitivity fits its output exactly, or is refused with cause and cure."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.common import Tensor
from autodiff_compiler.errors import CallError, SensitivityError
from autodiff_compiler.ir.types import parse_type
from autodiff_compiler.runtime.sensitivity import sensitivity_arrays


def tensor(*shape, dtype=np.float32):
    return Tensor(np.ones(shape, dtype))


def read(sens, text):
    return sensitivity_arrays(sens, parse_type(text))


def test_the_array_itself():
    sens = tensor(2, 3)
    assert read(sens, "f32[2,3]") is sens._data
    assert read(sens, "f32[b,3]") is sens._data
    assert read(sens, "any[...]") is sens._data
    assert read((sens,), "f32[2,3]") is sens._data


def test_scalars():
    assert read(tensor(1), "f32[]").shape == ()
    made = read(2.5, "f32[]")
    assert made.dtype == np.float32 and made == 2.5


def test_structures():
    a, b = tensor(2), tensor(3)
    got = read((a, {"k": [b]}), "(f32[2], {'k': list[f32[3]]})")
    assert got[0] is a._data
    assert got[1]["k"][0] is b._data
    assert read([a, b], "(f32[2], f32[3])") == (a._data, b._data)


@pytest.mark.parametrize(
    "sens, text, words",
    [
        (
            tensor(3),
            "f32[2]",
            "should have the shape [2] of the output, but got [3]",
        ),
        (tensor(1), "f32[2]", "but got [1]"),
        (tensor(), "f32[2]", "but got []"),
        (tensor(2, 3), "f32[b,4]", "should have the shape [b, 4] of the output, but got [2, 3]"),
        (None, "f32[2]", "should be a Tensor f32[2], but got a NoneType"),
        (np.ones(2, np.float32), "f32[2]", "but got a ndarray"),
        (1.0, "f32[2]", "but got a float"),
        (tensor(2), "(f32[2], f32[2])", "should be a tuple of 2, but got a Tensor"),
        ((tensor(2),), "(f32[2], f32[2])", "should be a tuple of 2, but got a tuple of 1"),
        ((tensor(2), tensor(3)), "(f32[2], f32[2])", "the sensitivity for output[1] should have"),
        ({"a": tensor(2)}, "{'b': f32[2]}", "a dict with the keys ['b']"),
    ],
)
def test_misfits(sens, text, words):
    with pytest.raises(SensitivityError) as caught:
        read(sens, text)
    assert words in str(caught.value)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32"])
def test_dtypes(dtype):
    with pytest.raises(CallError) as caught:
        read(tensor(2, dtype=dtype), "f32[2]")
    assert f"dtype float32 of the output, but got {dtype}" in str(caught.value)
    assert not isinstance(caught.value, ValueError)
