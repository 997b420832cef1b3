"""The text of ``repr(tensor)``.

``str(tensor)`` is NumPy's. ``repr``, which also prints the items of tuples, has a format of its
own. Floats have exponents, all elements have one width, and long axes are cut to three elements at
each end.

>>> print(tensor_text(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32), "Float32"))
Tensor(shape=[2, 2], dtype=Float32, value=
[[ 1.00000000e+00,  2.00000000e+00],
 [ 3.00000000e+00,  4.00000000e+00]])
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

LONG_VECTOR, LONG_AXIS, SHOWN = 1000, 6, 3
FLOAT_DECIMALS = {"float16": 4, "float32": 8, "float64": 8}


def tensor_text(array: np.ndarray, dtype: str) -> str:
    """Returns the ``repr`` of a Tensor that holds ``array``."""
    gap = "\n" if array.ndim >= 2 else " "
    return f"Tensor(shape={list(array.shape)}, dtype={dtype}, value={gap}{_value_text(array)})"


def _value_text(array: np.ndarray) -> str:
    if array.size == 0:
        return ""
    if array.ndim == 0:
        return _scalar_text(array[()])
    width = max(len(_element_text(element)) for element in _shown_elements(array))
    if array.dtype.name in FLOAT_DECIMALS:
        width = max(width, FLOAT_DECIMALS[array.dtype.name] + len(" 1.e+00"))
    return _axis_text(array, width, depth=1)


def _axis_text(array: np.ndarray, width: int, depth: int) -> str:
    """Returns the text of an array; ``depth``, the open brackets, is the indent of a new row."""
    if array.ndim == 1:
        parts = [_element_text(element).rjust(width) for element in _ends(array, depth == 1)]
        if len(parts) < len(array):
            return f"[{', '.join(parts[:SHOWN])} ... {', '.join(parts[SHOWN:])}]"
        return f"[{', '.join(parts)}]"
    newline = "\n" + " " * depth
    rows = [_axis_text(row, width, depth + 1) for row in _ends(array, False)]
    if len(rows) < len(array):
        head, tail = (f",{newline}".join(part) for part in (rows[:SHOWN], rows[SHOWN:]))
        return f"[{head},{newline}...{newline}{tail}]"
    return "[" + f",{newline}".join(rows) + "]"


def _ends(array: np.ndarray, alone: bool) -> list[Any]:
    """Returns the shown items of the first axis; an ``alone`` vector may show more of them."""
    limit = LONG_VECTOR if alone else LONG_AXIS
    return list(array) if len(array) <= limit else [*array[:SHOWN], *array[-SHOWN:]]


def _shown_elements(array: np.ndarray, alone: bool = True) -> Iterator[Any]:
    if array.ndim == 1:
        yield from _ends(array, alone)
        return
    for row in _ends(array, False):
        yield from _shown_elements(row, alone=False)


def _element_text(element: Any) -> str:
    decimals = FLOAT_DECIMALS.get(element.dtype.name)
    if decimals is None:
        return _scalar_text(element)
    return f"{element:.{decimals}e}" if math.isfinite(element) else f"{element}"


def _scalar_text(element: Any) -> str:
    """Returns the text of a single number, with six digits at most."""
    kind = element.dtype.kind
    if kind == "f":
        return f"{float(element):g}"
    if kind == "c":
        return f"{element.real:g}{element.imag:+g}j"
    return str(element)
