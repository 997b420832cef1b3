"""The library that makes callables of compiled functions, which is compiled once.

Its C text is ``glue.c``. The structures here are those of that file, field by field.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.runtime.native.blas import find_blas
from autodiff_compiler.runtime.native.build import Library, build
from autodiff_compiler.runtime.native.description import (
    Array,
    Description,
    Input,
    Number,
    Output,
    check_packing,
    packing_code,
)
from autodiff_compiler.runtime.native.errors import NativeUnavailable
from autodiff_compiler.runtime.native.numpy_extension import numpy_address, python_address
from autodiff_compiler.runtime.native.toolchain import Compiler

_KINDS = {"array": 0, "float": 1, "int": 2, "bool": 3, "scalar": 4}
#: Functions of Python, in the order of ``struct Python``.
_FUNCTIONS = """
    PyFloat_AsDouble PyFloat_FromDouble PyLong_AsLongLongAndOverflow PyLong_FromLongLong
    PyBool_FromLong PyTuple_New PyTuple_SetItem PyTuple_GetItem PyTuple_Size PyObject_CallObject
    Py_IncRef Py_DecRef PyCapsule_New PyCapsule_GetPointer PyCFunction_NewEx PyMem_RawMalloc
    PyMem_RawRealloc PyMem_RawFree PyErr_CheckSignals PyErr_Occurred PyErr_NoMemory
    PyType_GenericAlloc PyEval_SaveThread PyEval_RestoreThread
""".split()
_LOCK = threading.Lock()
_LIBRARIES: list[Library] = []

_Sizes = ctypes.POINTER(ctypes.c_int64)


class _Argument(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int32),
        ("type_number", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("holder", ctypes.c_void_p),
        ("shape", _Sizes),
        ("descriptor", ctypes.c_void_p),
    )


class _Description(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("entry", ctypes.c_void_p),
        ("derive_sizes", ctypes.c_void_p),
        ("inputs", ctypes.POINTER(_Argument)),
        ("outputs", ctypes.POINTER(_Argument)),
        ("packing", ctypes.POINTER(ctypes.c_int32)),
        ("repair", ctypes.py_object),
        ("fail", ctypes.py_object),
        ("owner", ctypes.py_object),
        *((name, ctypes.c_int64) for name in ("input_count", "output_count")),
        *((name, ctypes.c_int64) for name in ("symbols", "sizes", "least_size")),
        ("workspace_bytes", ctypes.c_int64),
        *((name, ctypes.c_int64) for name in ("needs_services", "needs_workspace", "is_long")),
        ("takes_holders", ctypes.c_int64),
    )


def make_callable(
    library: Library,
    description: Description,
    repair: Callable[[tuple[Any, ...]], Any],
    fail: Callable[..., None],
    compiler: Compiler,
    folder: str | None,
) -> Callable[..., Any]:
    """Returns a built-in function that calls the adapter of a library.

    repair   ``repair(arguments)`` returns a tuple of copies that fit the description, or False.
    fail     ``fail(code, *details)`` raises the exception for an error of the compiled function.

    The function must not be reachable from ``repair`` and ``fail``: it would never be freed.
    """
    names = [*description.symbols, *description.derived]
    size_numbers = {name: -1 - number for number, name in enumerate(names)}
    alive: list[Any] = [library, repair, fail]
    code = packing_code(description.packing_or_default)
    check_packing(code, len(description.outputs))
    name = description.name.encode()
    arguments = [
        (_Argument * len(ends))(*(_argument(each, size_numbers, alive) for each in ends))
        for ends in (description.inputs, description.outputs)
    ]
    packing = (ctypes.c_int32 * len(code))(*code)
    workspace = description.workspace
    derive = description.derive_sizes
    alive += [name, arguments, packing]
    about = _Description(
        name=name,
        entry=library.address(description.adapter),
        derive_sizes=library.address(derive) if derive else None,
        inputs=arguments[0],
        outputs=arguments[1],
        packing=packing,
        repair=repair,
        fail=fail,
        owner=tuple(alive),
        input_count=len(description.inputs),
        output_count=len(description.outputs),
        symbols=len(description.symbols),
        sizes=len(names),
        least_size=description.least_size,
        workspace_bytes=size_numbers[workspace] if isinstance(workspace, str) else workspace,
        needs_services=description.services,
        needs_workspace=workspace != 0,
        is_long=description.is_long,
        takes_holders=any(isinstance(each, Array) and each.holder for each in description.inputs),
    )
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_Description))
    function: Callable[..., Any] = make(_glue(compiler, folder).address("make_callable"))(
        ctypes.byref(about)
    )
    return function


def _argument(end: Input | Output, size_numbers: dict[str, int], alive: list[Any]) -> _Argument:
    """Returns the record of an input or output, and adds to ``alive`` all that it points to."""
    if isinstance(end, Number):
        return _Argument(kind=_KINDS[end.kind])
    dtype = np.dtype(end.dtype)
    shape, holder = (end.shape, end.holder) if isinstance(end, Array) else ((), None)
    sizes = [size_numbers[size] if isinstance(size, str) else size for size in shape]
    array = (ctypes.c_int64 * len(sizes))(*sizes)
    alive += [dtype, holder, array]
    return _Argument(
        kind=_KINDS["array" if isinstance(end, Array) else "scalar"],
        type_number=dtype.num,
        rank=len(sizes),
        holder=None if holder is None else id(holder),
        shape=array,
        descriptor=id(dtype),
    )


def _glue(compiler: Compiler, folder: str | None) -> Library:
    """Returns the library, which is compiled and initialised when it is first asked for."""
    with _LOCK:
        if not _LIBRARIES:
            quick = replace(compiler, flags=(*compiler.flags, "-O1"))  # -O3 takes twice the time
            library = build(glue_text(), quick, folder)
            _initialise(library)
            _LIBRARIES.append(library)
        return _LIBRARIES[0]


@cache
def glue_text() -> str:
    """Returns the C text of the library for this Python."""
    text = Path(__file__).with_name("glue.c").read_text(encoding="utf-8")
    return f"#define HEAD_BYTES {object.__basicsize__}\n{text}"


def _initialise(library: Library) -> None:
    """Gives the library the addresses of all that it uses of Python, NumPy and the BLAS."""
    table = [
        numpy_address("PyArray_Type"),
        *map(id, (float, int, Tensor, NotImplemented, True, ())),
        *map(numpy_address, ("PyArray_New", "PyArray_Scalar")),
        *map(python_address, _FUNCTIONS),
        *_clock(),
    ]
    blas = find_blas()
    table += [blas.sgemm, blas.dgemm, blas.is_64_bit] if blas else [0, 0, 0]
    table += [getattr(time, "CLOCK_MONOTONIC", 0), _slot_offset("_data"), _slot_offset("_hooks")]
    addresses = (ctypes.c_void_p * len(table))(*table)
    call = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
    wanted = call(library.address("initialise"))(addresses, ctypes.sizeof(addresses))
    if wanted:
        raise NativeUnavailable(f"the glue wants {wanted} bytes, not {ctypes.sizeof(addresses)}")


def _slot_offset(name: str) -> int:
    """Returns the place of a slot in a Tensor, in bytes."""
    tensor, mark = Tensor(0), object()
    setattr(tensor, name, mark)
    step = ctypes.sizeof(ctypes.c_void_p)
    places = range(object.__basicsize__, Tensor.__basicsize__, step)
    (offset,) = (
        k for k in places if ctypes.c_void_p.from_address(id(tensor) + k).value == id(mark)
    )
    return offset


def _clock() -> tuple[int, int]:
    """Returns the addresses of ``clock_gettime`` and of ``GetTickCount64``; 0 where there is
    none."""
    try:
        if sys.platform == "win32":
            ticks = ctypes.WinDLL("kernel32").GetTickCount64
            return 0, ctypes.cast(ticks, ctypes.c_void_p).value or 0
        return ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value or 0, 0
    except (OSError, AttributeError):
        return 0, 0


__all__ = ["glue_text", "make_callable"]
