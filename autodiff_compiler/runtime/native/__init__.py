"""From a printed C file to a Python callable: the compiler, the cache on disk, and the calls."""

from __future__ import annotations

from autodiff_compiler.runtime.native.description import (
    Array,
    Description,
    ErrorRow,
    Number,
    Scalar,
    number,
)
from autodiff_compiler.runtime.native.errors import CompilerRefused, NativeUnavailable
from autodiff_compiler.runtime.native.function import load_native
from autodiff_compiler.runtime.native.toolchain import Compiler, find_compiler

__all__ = [
    "Array",
    "Compiler",
    "CompilerRefused",
    "Description",
    "ErrorRow",
    "NativeUnavailable",
    "Number",
    "Scalar",
    "find_compiler",
    "load_native",
    "number",
]
