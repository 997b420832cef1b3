"""From C text and a description to a callable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from autodiff_compiler.common.context import compile_cache
from autodiff_compiler.errors import InternalError
from autodiff_compiler.runtime.native.build import Library, build
from autodiff_compiler.runtime.native.description import Array, Description, ErrorRow, Input
from autodiff_compiler.runtime.native.glue import make_callable
from autodiff_compiler.runtime.native.toolchain import Compiler, find_compiler

#: The numbers of errors of a compiled function.
_ERRORS = {"interrupted": 2, "first row": 16}
#: The libraries that are in use: C source with several functions is compiled once.
_IN_USE: WeakValueDictionary[tuple[str, str], Library] = WeakValueDictionary()


def load_native(
    text: str, description: Description, compiler: Compiler | None = None
) -> Callable[..., Any]:
    """Returns a built-in function that runs the compiled C text.

    The function takes the inputs by position. Results are new arrays that own their memory, and
    numbers. It returns NotImplemented for arguments that do not fit the description. Examples are
    another dtype, shape or number of arguments, an array subclass, and an integer beyond 64 bits.
    It copies an array whose memory alone does not fit: its strides, alignment or byte order.
    Several threads may call it at once.

    Raises NativeUnavailable if this machine cannot compile, and CompilerRefused if the text has
    faults.
    """
    folder = compile_cache()
    compiler = compiler or find_compiler(folder)
    library = _IN_USE.get((text, compiler.key))
    if library is None:
        library = _IN_USE[text, compiler.key] = build(text, compiler, folder)
    repair = partial(repaired, description.inputs)
    fail = partial(raise_error, description.errors)
    return make_callable(library, description, repair, fail, compiler, folder)


def repaired(inputs: Sequence[Input], arguments: Sequence[Any]) -> tuple[Any, ...] | bool:
    """Returns arguments whose arrays fit the inputs in memory, or False if they do not fit in type
    or shape."""
    results = []
    for wanted, argument in zip(inputs, arguments):
        if not isinstance(wanted, Array):
            results.append(argument)
            continue
        if wanted.holder and (type(argument) is not wanted.holder or argument._hooks):
            return False
        array = argument._data if wanted.holder else argument
        if not _is_of_type(wanted, array):
            return False
        array = _copied_if_needed(array, np.dtype(wanted.dtype))
        results.append(_new_holder(wanted.holder, array) if wanted.holder else array)
    return tuple(results)


def _new_holder(holder: type[Any], array: np.ndarray) -> Any:
    """Returns an object of this class that holds the array, and that C alone sees."""
    thing: Any = object.__new__(holder)
    thing._data, thing._hooks = array, ()
    return thing


def _copied_if_needed(array: Any, dtype: np.dtype) -> np.ndarray:
    """Returns an array in contiguous, aligned memory and with exactly this dtype."""
    array = np.require(array, dtype, ["C_CONTIGUOUS", "ALIGNED"])
    return array if array.dtype.num == dtype.num else array.view(dtype)  # such as long long


def _is_of_type(wanted: Array, argument: Any) -> bool:
    """True if an array has the dtype and the shape of an input, whatever its memory is like."""
    if type(argument) is not np.ndarray and not isinstance(argument, np.generic):
        return False
    if argument.dtype != np.dtype(wanted.dtype).newbyteorder(argument.dtype.byteorder):
        return False
    if len(argument.shape) != len(wanted.shape):
        return False
    sizes = zip(argument.shape, wanted.shape)
    return all(isinstance(size, str) or has == size for has, size in sizes)


def raise_error(errors: Sequence[ErrorRow], code: int, *details: int) -> None:
    """Raises the exception for an error of a compiled function."""
    if code == _ERRORS["interrupted"]:
        raise KeyboardInterrupt
    number = code - _ERRORS["first row"]
    if not 0 <= number < len(errors):
        raise InternalError(f"a compiled function returned the unknown error {code}")
    row = errors[number]
    raise row.exception(row.text(details))


__all__ = ["load_native", "raise_error", "repaired"]
