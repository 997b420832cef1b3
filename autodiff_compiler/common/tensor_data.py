"""Conversion of Python data and arrays to the ndarray that a Tensor holds.

Python ints become int64 and floats float32; an array keeps its dtype.
"""

from __future__ import annotations

__macro__ = True

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.ir.opdef import PRECISION
from autodiff_compiler.ir.types import SHORT

_ACCEPTED = (
    "['TensorPy', 'Tensor', 'ndarray', 'str_', 'list', 'tuple', 'float', 'int', 'bool', "
    "'complex', 'bytes']"
)


class Unallocated:
    """The data of a Tensor with unknown sizes, such as ``Tensor(shape=(None, 3))``: there is none.

    Every use raises a TypeError.
    """

    __slots__ = ("_sizes",)

    def __init__(self, sizes: tuple[int | None, ...]):
        self._sizes = sizes

    def __getattr__(self, name: str) -> Any:
        raise TypeError(
            f"a Tensor of the shape {self._sizes} has no data; it can only be passed to set_inputs"
        )


def blank(shape: Any, dtype: mstype.Type | None) -> Any:
    """Returns zeros of a shape, or ``Unallocated`` where a size is None."""
    if isinstance(shape, (tuple, list)) and None in shape:
        return Unallocated(tuple(shape))
    return to_array(np.zeros(shape, np.float32), dtype)


#: Attributes that a subclass of ndarray may define without changing how its arrays compute.
_HARMLESS = frozenset(
    (
        "__new__",
        "__init__",
        "__array_finalize__",
        "__array_priority__",
        "__class_getitem__",
        "__del__",
        "__dict__",
        "__doc__",
        "__firstlineno__",
        "__module__",
        "__qualname__",
        "__reduce__",
        "__repr__",
        "__setstate__",
        "__slots__",
        "__static_attributes__",
        "__str__",
        "__weakref__",
        "__annotations__",
        "__annotate_func__",
    )
)


@functools.cache
def is_plain_array(kind: Any) -> bool:
    """True if arrays of a subclass of ndarray compute like plain arrays.

    The class and those between it and ndarray then override no attribute of ndarray.

    >>> [is_plain_array(kind) for kind in (np.ndarray, np.memmap, np.matrix, np.ma.MaskedArray)]
    [True, True, False, False]
    """
    between = kind.__mro__[: kind.__mro__.index(np.ndarray)] if kind is not np.memmap else ()
    return not any(
        name not in _HARMLESS and (hasattr(np.ndarray, name) or name in _PROTOCOLS)
        for base in between
        if base is not np.memmap
        for name in vars(base)
    )


_PROTOCOLS = ("__array_ufunc__", "__array_function__", "__array_wrap__", "__getattr__")


def objection_to(array: Any) -> tuple[str, str] | None:
    """Returns why an array or scalar of NumPy is not compiled, and the cure; None if it is."""
    kind: Any = type(array)
    if isinstance(array, np.ndarray) and not is_plain_array(kind):
        return (
            f"the operators of a {kind.__name__} differ from those of a plain ndarray",
            "convert it first: np.asarray(m), or m.filled(0.0) for a masked array",
        )
    if array.dtype.name not in SHORT:
        return (
            f"an array of dtype {array.dtype} is given, which is not supported",
            "convert it first: array.astype(float)",
        )
    return None


@functools.cache
def _makes_an_array(kind: Any) -> bool:
    return hasattr(kind, "__array__") and not (
        issubclass(kind, (np.ndarray, np.generic, type)) or hasattr(kind, "asnumpy")
    )


@functools.cache
def _is_installed(kind: Any) -> bool:
    """True if a class is defined in an installed package, and not in the user's program."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def is_foreign(thing: Any, installed: bool = False) -> bool:
    """True if ``thing`` is no array but converts to one, such as a Series of pandas.

    With ``installed``, only for classes of installed packages: the user's own can be compiled.
    """
    kind: Any = type(thing)
    return _makes_an_array(kind) and (not installed or _is_installed(kind))


def to_array(data: Any, dtype: mstype.Type | None = None) -> np.ndarray:
    """Returns a new array of ``data``, cast to ``dtype`` if one is given.

    >>> to_array([1, 2]).dtype, to_array([1, 2.5]).dtype, to_array(np.float64(1)).dtype
    (dtype('int64'), dtype('float32'), dtype('float64'))
    """
    if dtype is not None and not isinstance(dtype, mstype.Type):
        raise TypeError(
            f"For 'Tensor', the 'dtype' should be one of {[*mstype.number_type, mstype.bool_]}, "
            f"but got {dtype} with type {type(dtype)}."
        )
    if hasattr(data, "asnumpy"):
        array = np.array(data.asnumpy())
    elif isinstance(data, (np.ndarray, np.generic)):
        kind: Any = type(data)
        if isinstance(data, np.ndarray) and not is_plain_array(kind):
            raise TypeError("{}; {}".format(*objection_to(data) or ()))
        array = np.array(data)
    elif isinstance(data, (bool, int, float, complex)):
        array = _from_python(data)
    elif isinstance(data, (list, tuple)):
        array = _from_sequence(data)
    else:
        raise TypeError(
            f"For 'Tensor', the type of 'input_data' should be one of '{_ACCEPTED}', "
            f"but got type '{type(data).__name__}'."
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.kind not in "biufc" and array.dtype.name != "bfloat16":
        raise _unsupported(data)
    mstype.of_name(array.dtype.name)
    return array if dtype is None else cast(array, mstype.to_numpy_name(dtype))


def cast(array: np.ndarray, name: str) -> np.ndarray:
    """Returns a new array with another dtype; values are truncated or wrapped without a warning."""
    with np.errstate(all="ignore"):
        if array.dtype.kind == "c" and np.dtype(name).kind not in "cb":
            array = array.real
        if PRECISION.double and name == "float32":
            name = "float64"
        return array.astype(name)


def _from_python(number: Any) -> np.ndarray:
    array = np.array(number)
    return array.astype(np.float32) if isinstance(number, float) else array


def _from_sequence(data: list | tuple) -> np.ndarray:
    try:
        array = np.array(as_plain_data(data))
    except ValueError:
        raise _unsupported(data) from None
    if array.dtype == np.float64 and not any(hasattr(leaf, "dtype") for leaf in _leaves(data)):
        return array.astype(np.float32)
    return array


def as_plain_data(data: Any) -> Any:
    """Replaces each tensor in ``data`` by its array, and tuples by lists."""
    if isinstance(data, (list, tuple)):
        return [as_plain_data(item) for item in data]
    return data.asnumpy() if hasattr(data, "asnumpy") else data


def _leaves(data: Any) -> Iterator[Any]:
    if isinstance(data, (list, tuple)):
        for item in data:
            yield from _leaves(item)
    else:
        yield data


def _unsupported(data: Any) -> TypeError:
    return TypeError(f"For Tensor, the input_data is {data} that contain unsupported element.")
