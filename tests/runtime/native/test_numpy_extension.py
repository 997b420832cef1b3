"""Addresses of NumPy's and Python's C interfaces."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest

from autodiff_compiler.runtime.native import numpy_extension
from autodiff_compiler.runtime.native.numpy_extension import (
    extension_file,
    numpy_address,
    processor_features,
    python_address,
)


def test_slots_are_those_of_numpys_header() -> None:
    header = Path(np.get_include(), "numpy", "__multiarray_api.h").read_text(encoding="utf-8")
    for name, slot in numpy_extension._SLOTS.items():
        pattern = rf"#define {name}\b[^#]*?PyArray_API\[(\d+)\]"
        assert re.findall(pattern, header) == [str(slot)]


def test_the_type_of_arrays_is_found() -> None:
    assert numpy_address("PyArray_Type") == id(np.ndarray)


def test_functions_of_python_are_found() -> None:
    call = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_longlong)
    assert call(python_address("PyLong_FromLongLong"))(-(2**63)) == -(2**63)
    with pytest.raises(AttributeError):
        python_address("Py_ThereIsNoSuchFunction")


def test_the_module_has_a_file_and_features() -> None:
    assert Path(extension_file()).is_file()
    assert processor_features().split() == sorted(processor_features().split())
