"""The products of matrices in the BLAS that NumPy itself uses.

NumPy's extension module is linked to its BLAS, or has it in the same wheel. Its functions are
looked up through that module, so no search for a path is needed.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autodiff_compiler.runtime.native.numpy_extension import extension_file

#: The names of a function, of ``sgemm`` for example, and whether its integers have 64 bits.
_NAMES = (
    ("scipy_cblas_{}64_", True),
    ("cblas_{}64_", True),
    ("cblas_{}$NEWLAPACK$ILP64", True),
    ("cblas_{}$NEWLAPACK", False),
    ("scipy_cblas_{}", False),
    ("cblas_{}", False),
)


@dataclass(frozen=True)
class Blas:
    """The addresses of ``cblas_sgemm`` and ``cblas_dgemm``, and whether their integers have 64
    bits."""

    sgemm: int
    dgemm: int
    is_64_bit: bool


def find_blas() -> Blas | None:
    """Returns NumPy's BLAS, or None if it is not found."""
    for library in _libraries():
        for name, is_64_bit in _NAMES:
            try:
                single = _address(library, name.format("sgemm"))
                double = _address(library, name.format("dgemm"))
            except AttributeError:
                continue
            if is_64_bit or not _has_64_bit_integers():
                return Blas(single, double, is_64_bit)
    return None


def _libraries() -> Iterator[ctypes.CDLL]:
    """Yields the loaded libraries that may contain NumPy's BLAS."""
    paths = [extension_file()]
    if sys.platform == "win32":  # a library does not show the functions of those that it uses
        beside = Path(np.__file__).parent.parent / "numpy.libs"
        paths += sorted(map(str, beside.glob("*openblas*.dll")))
    for path in paths:
        try:
            yield ctypes.CDLL(path)
        except OSError:
            continue


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(library[name], ctypes.c_void_p).value or 0


def _has_64_bit_integers() -> bool:
    """True if NumPy was built with a BLAS of 64-bit integers whose functions have plain names."""
    try:
        built_with = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    except (KeyError, TypeError):
        return False
    text = str(built_with)
    return "USE64BITINT" in text or "ilp64" in text.lower()


__all__ = ["Blas", "find_blas"]
