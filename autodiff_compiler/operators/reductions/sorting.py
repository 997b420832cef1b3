"""Sorting and searching. The results are positions, ints that carry no gradient.

Sorted values are ``take_along(x, argsort(x))``, so their gradient goes back to where they came
from; equal elements keep their order.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence

import numpy as np

from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType, Type
from autodiff_compiler.operators.core.containers import make_tuple
from autodiff_compiler.operators.core.declare import normal_axes, shape_of_type, zero_gradient
from autodiff_compiler.operators.core.structure import reshape, reshape_like
from autodiff_compiler.operators.indexing.concat_and_pad import size_along
from autodiff_compiler.operators.indexing.indexing import index, scatter


def _argsort_numpy(types: Sequence[Type], *, axis: int, descending: bool) -> str:
    order = f"axis={axis}, kind='stable')"
    if not descending:
        return f"np.argsort({{x}}, {order}"
    (x,) = types
    if isinstance(x, ArrayType) and x.dtype is not None and np.dtype(x.dtype).kind == "f":
        return f"np.argsort(-{{x}}, {order}"
    # Ints and bools have no safe negative: sort the mirror image, then mirror the positions.
    last = f"{{x}}.shape[{axis}] - 1"
    return f"np.flip({last} - np.argsort(np.flip({{x}}, {axis}), {order}, {axis})"


def _argsort_type(types: Sequence[Type], *, axis: int, descending: bool) -> Type:
    (x,) = types
    shape = shape_of_type(x)
    normal_axes(axis, None if shape is None else len(shape))
    if isinstance(x, ArrayType) and x.dtype is not None and "complex" in x.dtype:
        raise DTypeError("complex numbers have no order")
    return ArrayType("int64", shape)


argsort = zero_gradient(
    "argsort",
    "The int64 positions that sort x along an axis, ascending or descending; equal elements keep "
    "their order, and NaN comes last.",
    numpy=_argsort_numpy,
    result=_argsort_type,
    label="{x}_order",
    batch="axes",
)


def _searchsorted_type(types: Sequence[Type], *, side: str) -> Type:
    rows, values = map(shape_of_type, types)
    if rows is not None and len(rows) != 1:
        raise ShapeError(f"searchsorted needs a sorted 1-d array, not one of shape {rows}")
    return ArrayType("int64", values)


searchsorted = zero_gradient(
    "searchsorted",
    "The position of each value in a sorted row: before its equals (side 'left') or after them "
    "('right').",
    operands=("row", "values"),
    numpy=lambda types, *, side: (
        "np.searchsorted({row}, {values}" + (")" if side == "left" else ", side='right')")
    ),
    result=_searchsorted_type,
    label="places",
)


def _nonzero_type(types: Sequence[Type]) -> Type:
    shape = shape_of_type(types[0])
    return ArrayType("int64", (None, None if shape is None else len(shape)))


nonzero = zero_gradient(
    "nonzero",
    "The positions of the nonzero elements, one row of ints for each.",
    numpy="np.argwhere({x})",
    result=_nonzero_type,
    label="{x}_places",
)

first_occurrences = zero_gradient(
    "first_occurrences",
    "The first position of each distinct element of x, in the order of the elements.",
    numpy="np.unique({x}, return_index=True)[1]",
    result=lambda types: ArrayType("int64", (None,)),
    label="{x}_places",
)


def _to_first_places(ct: Value, x: Value) -> Value:
    size = size_along(x, None)
    operands = (make_tuple(size),) if isinstance(size, Value) else ()
    shape = (None if operands else size,)
    return reshape_like(
        scatter(ct, first_occurrences(x), *operands, index=(("op", 0),), shape=shape), x
    )


unique = OpDef(
    "unique",
    "The distinct elements of x in ascending order. The gradient goes to the first occurrence "
    "of each.",
    operands=("x",),
    numpy="np.unique({x})",
    result=lambda types: ArrayType(types[0].dtype, (None,)),
    adjoint={"x": _to_first_places},
    tangent={
        "x": lambda dot, x: index(
            reshape(dot, shape=(-1,)), first_occurrences(x), index=(("op", 0),)
        )
    },
    label="{x}_unique",
)
