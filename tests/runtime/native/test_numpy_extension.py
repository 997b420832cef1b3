"""Addresses in the C interfaces of Python and NumPy: what lies there is what the name says."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from autodiff_compiler.runtime.native.numpy_extension import (
    extension_file,
    numpy_address,
    processor_features,
    python_address,
)


def test_an_address_of_python_can_be_called() -> None:
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_long)(python_address("PyLong_FromLong"))
    assert make(-7) == -7


def test_the_type_of_arrays_lies_at_its_address() -> None:
    assert numpy_address("PyArray_Type") == id(np.ndarray)


def test_functions_of_numpy_are_there_and_other_names_are_not() -> None:
    assert len({numpy_address("PyArray_Scalar"), numpy_address("PyArray_New"), 0}) == 3
    with pytest.raises(KeyError):
        numpy_address("PyArray_Nothing")


def test_the_extension_and_the_processor() -> None:
    assert Path(extension_file()).is_file()
    assert processor_features().split() == sorted(processor_features().split())
