"""Functions of the C library, called on arrays from tests and benchmarks."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable

import numpy as np

from autodiff_compiler.emit.c.library import FUNCTIONS, functions_for
from autodiff_compiler.runtime.native import Compiler
from autodiff_compiler.runtime.native.build import build

DTYPES = {
    "float": np.float32,
    "double": np.float64,
    "_Bool": np.bool_,
    **{f"int{bits}_t": np.dtype(f"i{bits // 8}").type for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": np.dtype(f"u{bits // 8}").type for bits in (8, 16, 32, 64)},
}


def signature(name: str) -> tuple[str, list[str]]:
    """Returns the types of the result and of the parameters of a function."""
    match = re.search(rf"static inline (\w+) {name}\(([^)]*)\)", FUNCTIONS[name].text)
    assert match, name
    return match[1], [each.split()[0] for each in match[2].split(", ")]


def _loop(name: str) -> str:
    result, types = signature(name)
    arrays = "".join(f"const {each} *restrict x{k}, " for k, each in enumerate(types))
    items = ", ".join(f"x{k}[i]" for k in range(len(types)))
    return (
        f"void sweep_{name}({arrays}{result} *restrict out, int64_t n) {{\n"
        f"  for (int64_t i = 0; i < n; i++) out[i] = {name}({items});\n}}\n"
    )


class Sweeps:
    """Compiled loops over functions of the library."""

    def __init__(self, names: Iterable[str], compiler: Compiler) -> None:
        names = sorted(names)
        loops = "\n".join(map(_loop, names))
        text = f"#include <stdint.h>\n\n{functions_for(names)}\n\n{loops}"
        self.library = build(text, compiler)

    def address(self, name: str) -> int:
        """Returns the address of the loop over a function."""
        return self.library.address(f"sweep_{name}")

    def __call__(self, name: str, *operands: np.ndarray) -> np.ndarray:
        """Returns the results of a function for arrays of its operands."""
        result, types = signature(name)
        arrays = [np.ascontiguousarray(x, DTYPES[kind]) for x, kind in zip(operands, types)]
        out = np.empty(len(arrays[0]), DTYPES[result])
        loop = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(arrays) + 1), ctypes.c_int64)
        loop(self.address(name))(*(each.ctypes.data for each in (*arrays, out)), len(out))
        return out
