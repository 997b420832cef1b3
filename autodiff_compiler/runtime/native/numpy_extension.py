"""NumPy's extension module: its table of C functions, the features that it has detected, its file.

The module has no public name. Its name is the same in all versions 2 of NumPy.
"""

from __future__ import annotations

import ctypes
from importlib import import_module
from typing import Any

_EXTENSION: Any = import_module("numpy._core._multiarray_umath")
#: The slots of the table; they are the same in all versions 2.
_SLOTS = {"PyArray_Type": 2, "PyArray_Scalar": 60, "PyArray_New": 93}


def numpy_address(name: str) -> int:
    """Returns the address of a type or function of NumPy's C interface."""
    call = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    get_pointer = call(python_address("PyCapsule_GetPointer"))
    table = get_pointer(_EXTENSION._ARRAY_API, None)
    return ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[_SLOTS[name]] or 0


def python_address(name: str) -> int:
    """Returns the address of a function of Python's C interface."""
    return ctypes.cast(ctypes.pythonapi[name], ctypes.c_void_p).value or 0


def processor_features() -> str:
    """Returns the features of the processor that NumPy has detected."""
    features: dict[str, bool] = getattr(_EXTENSION, "__cpu_features__", {})
    return " ".join(sorted(name for name, present in features.items() if present))


def extension_file() -> str:
    """Returns the path of the module, which is linked to NumPy's BLAS."""
    return _EXTENSION.__file__ or ""


__all__ = ["extension_file", "numpy_address", "processor_features", "python_address"]
