"""The dtype objects (``mstype.float32``) and their conversion to and from NumPy's.

Inside the compiler a dtype is NumPy's name for it, a string; these objects exist only at the
boundary, because a user's program compares and prints them.

>>> print(float32, repr(float32), float32.name)
Float32 mindspore.float32 float32
"""

from __future__ import annotations

__macro__ = True

import functools
import importlib
from typing import Any

import numpy as np

from autodiff_compiler.ir.types import PROMOTION


class Type:
    """The class of ``tensor.dtype``: one object per dtype, compared by identity.

    ``title`` is its printed form, ``name`` is NumPy's name, ``spelling`` is ours.
    """

    __slots__ = ("name", "spelling", "title")

    def __init__(self, title: str, name: str, spelling: str = ""):
        self.title, self.name, self.spelling = title, name, spelling or name

    def __str__(self) -> str:
        return self.title

    def __repr__(self) -> str:
        return f"mindspore.{self.spelling}"

    def __reduce__(self) -> str:
        return self.spelling

    def __copy__(self) -> Type:
        return self

    def __deepcopy__(self, memo: dict) -> Type:
        return self


int8, int16, int32, int64 = (Type(f"Int{bits}", f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (Type(f"UInt{bits}", f"uint{bits}") for bits in (8, 16, 32, 64))
float16, float32, float64 = (Type(f"Float{bits}", f"float{bits}") for bits in (16, 32, 64))
bfloat16 = Type("BFloat16", "bfloat16")
complex64, complex128 = (Type(f"Complex{bits}", f"complex{bits}") for bits in (64, 128))
bool_ = Type("Bool", "bool", "bool_")

byte, short, intc, intp, long = int8, int16, int32, int64, int64
ubyte, ushort, uintc, uintp = uint8, uint16, uint32, uint64
half, single, double = float16, float32, float64
cfloat, cdouble = complex64, complex128

#: Kinds of number. Where a width is needed, each has that of Python's type in a Tensor.
int_, uint, float_ = (
    Type("Int", "int64", "int_"),
    Type("UInt", "uint64", "uint"),
    Type("Float", "float32", "float_"),
)

int_type = (int8, int16, int32, int64)
uint_type = (uint8, uint16, uint32, uint64)
float_type = (float16, float32, float64)
complex_type = (complex64, complex128)
number_type = int_type + uint_type + float_type + complex_type

_BY_NAME = {type_.name: type_ for type_ in (*number_type, bfloat16, bool_)}
_OF_PYTHON = {bool: bool_, int: int64, float: float32, complex: complex128}


def of_name(name: str) -> Type:
    """Returns the dtype object of a NumPy name."""
    if name not in _BY_NAME:
        raise TypeError(f"a Tensor cannot hold the dtype {name}")
    return _BY_NAME[name]


@functools.lru_cache(64)
def of_dtype(dtype: np.dtype) -> Type:
    """Returns the dtype object of NumPy's, which builds its name at every access."""
    return of_name(dtype.name)


def to_numpy_name(anything: Any) -> str:
    """Returns NumPy's name of a dtype: given as ours, NumPy's, a string or a Python type.

    A Python float is float32 to MindSpore, and float64 in plain NumPy functions.

    >>> [to_numpy_name(x) for x in (float32, np.float64, "int8", bool, "Float16")]
    ['float32', 'float64', 'int8', 'bool', 'float16']
    """
    if anything is bfloat16 or isinstance(anything, str) and anything.lower() == "bfloat16":
        return _with_bfloat16()
    if isinstance(anything, Type):
        return anything.name
    if isinstance(anything, type) and anything in _OF_PYTHON and not PROMOTION.numpy:
        return _OF_PYTHON[anything].name
    if isinstance(anything, str):
        anything = anything.lower()
    try:
        name = np.dtype(anything).name
    except TypeError:
        name = ""
    if anything is None or name not in _BY_NAME:
        raise TypeError(f"{anything!r} is not a dtype of a Tensor")
    return name


def _with_bfloat16() -> str:
    """Returns the name of bfloat16 after importing ``ml_dtypes``, which registers it in NumPy."""
    try:
        importlib.import_module("ml_dtypes")
    except ImportError:
        raise TypeError(
            "bfloat16 needs the package ml_dtypes: pip install autodiff-compiler[bfloat16]"
        ) from None
    return "bfloat16"


def dtype_to_nptype(type_: Type) -> type[np.generic]:
    """Returns the NumPy scalar class of a dtype."""
    return np.dtype(to_numpy_name(type_)).type


def dtype_to_pytype(type_: Type) -> type:
    """Returns the Python class whose numbers a dtype holds."""
    return {"b": bool, "i": int, "u": int, "f": float, "c": complex}[np.dtype(type_.name).kind]


def pytype_to_dtype(thing: Any) -> Type:
    """Returns the dtype object for a Python class, NumPy class or name."""
    return thing if isinstance(thing, Type) else of_name(to_numpy_name(thing))


def type_size_in_bytes(type_: Type) -> int:
    """Returns the number of bytes of an element."""
    return np.dtype(type_.name).itemsize
