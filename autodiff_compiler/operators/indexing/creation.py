"""Arrays made of a few numbers. ``full`` is in ``structure.py``, since rules use it."""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Sequence
from typing import Any

from autodiff_compiler.ir.types import ArrayType, Type
from autodiff_compiler.operators.core.declare import zero_gradient


def _slot(bound: Any) -> str:
    return f"{{{bound[1]}}}" if isinstance(bound, tuple) else repr(bound)


def _arange_numpy(types: Sequence[Type], *, bounds: Sequence[Any], dtype: str) -> str:
    start, stop, step = bounds
    shown = [stop] if (start, step) == (0, 1) else [start, stop] if step == 1 else bounds
    return f"np.arange({', '.join(map(_slot, shown))}, dtype=np.{dtype})"


def _arange_type(types: Sequence[Type], *, bounds: Sequence[Any], dtype: str) -> Type:
    if any(isinstance(bound, tuple) for bound in bounds):
        return ArrayType(dtype, (None,))
    start, stop, step = bounds
    return ArrayType(dtype, (max(0, math.ceil((stop - start) / step)),))


arange = zero_gradient(
    "arange",
    "The numbers from a start up to, and without, a stop, in steps. ``bounds`` holds numbers, or "
    "('op', k) for the k-th operand.",
    operands=("*rest",),
    numpy=_arange_numpy,
    result=_arange_type,
    label="numbers",
)

eye = zero_gradient(
    "eye",
    "A matrix with ones on the diagonal.",
    operands=(),
    numpy=lambda types, *, rows, columns, dtype: (
        f"np.eye({rows}" + (f", {columns}" if rows != columns else "") + f", dtype=np.{dtype})"
    ),
    result=lambda types, *, rows, columns, dtype: ArrayType(dtype, (rows, columns)),
    label="eye",
)

basis = zero_gradient(
    "basis",
    "An identity matrix of tangent directions, one in each row. A product with it is the other "
    "factor, even if that contains infinities or NaN.",
    operands=(),
    numpy=lambda types, *, count, dtype: f"np.eye({count}, dtype=np.{dtype})",
    result=lambda types, *, count, dtype: ArrayType(dtype, (count, count)),
    label="basis",
)

linspace = zero_gradient(
    "linspace",
    "Evenly spaced numbers, both ends included.",
    operands=(),
    numpy="np.linspace({start}, {stop}, {count}, dtype=np.float32)",
    result=lambda types, *, start, stop, count: ArrayType("float32", (count,)),
    label="numbers",
)


def _triangle_type(types: Sequence[Type], *, name: str, rows: int, columns: int, k: int) -> Type:
    below = [min(max(row + k + (name == "tril"), 0), columns) for row in range(rows)]
    return ArrayType("int64", (2, sum(below) if name == "tril" else rows * columns - sum(below)))


triangle_indices = zero_gradient(
    "triangle_indices",
    "The rows and the columns of the elements of a triangle, 'tril' or 'triu', row by row: "
    "int64[2, count].",
    operands=(),
    numpy=lambda types, *, name, rows, columns, k: (
        f"np.stack(np.{name}_indices({rows}, {k}"
        + (f", {columns}" if rows != columns else "")
        + "))"
    ),
    result=_triangle_type,
    label="places",
)
