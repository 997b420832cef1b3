"""What a Tensor can be made of: Python data and arrays to the ndarray that the Tensor holds.

Python ints become int64 and floats float32; an array keeps its dtype.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.ir.opdef import PRECISION

_ACCEPTED = (
    "['TensorPy', 'Tensor', 'ndarray', 'str_', 'list', 'tuple', 'float', 'int', 'bool', "
    "'complex', 'bytes']"
)


def to_array(data: Any, dtype: mstype.Type | None = None) -> np.ndarray:
    """A fresh array of ``data``, cast to ``dtype`` where one is given.

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
    """``array`` with another dtype, silently truncated or wrapped; always a fresh array."""
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
        array = np.array(plain(data))
    except ValueError:
        raise _unsupported(data) from None
    if array.dtype == np.float64 and not any(hasattr(leaf, "dtype") for leaf in _leaves(data)):
        return array.astype(np.float32)
    return array


def plain(data: Any) -> Any:
    """``data`` with every tensor in it replaced by its array."""
    if isinstance(data, (list, tuple)):
        return [plain(item) for item in data]
    return data.asnumpy() if hasattr(data, "asnumpy") else data


def _leaves(data: Any) -> Iterator[Any]:
    if isinstance(data, (list, tuple)):
        for item in data:
            yield from _leaves(item)
    else:
        yield data


def _unsupported(data: Any) -> TypeError:
    return TypeError(f"For Tensor, the input_data is {data} that contain unsupported element.")
