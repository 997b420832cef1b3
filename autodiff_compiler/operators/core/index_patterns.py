"""Subscripts as data: their text, and the shape of what they select.

A subscript is a tuple of items:

    1  None  '...'  True        as in ``x[1, None, ..., True]``
    ('slice', start, stop, step)
    ('op', k)                   the k-th of ``*rest``: a run-time int, or an array of ints or bools

The bounds of a slice may be ``('op', k)`` too.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.types import BOOL, ArrayType, Dim, Shape, Type
from autodiff_compiler.operators.core.declare import broadcast_shapes

Index = tuple[Any, ...]
FULL = ("slice", None, None, None)


def is_op(item: Any) -> bool:
    return isinstance(item, tuple) and item[0] == "op"


def is_slice(item: Any) -> bool:
    return isinstance(item, tuple) and item[0] == "slice"


def shifted(index: Index, by: int) -> Index:
    """Returns an index whose operands come after ``by`` others.

    >>> shifted((("op", 0), ("slice", None, ("op", 1), None)), 2)
    (('op', 2), ('slice', None, ('op', 3), None))
    """

    def moved(item: Any) -> Any:
        if is_op(item):
            return ("op", item[1] + by)
        return ("slice", *map(moved, item[1:])) if is_slice(item) else item

    return tuple(map(moved, index))


def subscript(index: Index, fixed: int) -> str:
    """Returns the text between the brackets; the operands of ``*rest`` come after ``fixed`` others.

    >>> subscript(("...", ("slice", 1, None, None), ("op", 0)), fixed=1)
    '..., 1:, {1}'
    """

    def bound(item: Any) -> str:
        if item is None:
            return ""
        return f"{{{item[1] + fixed}}}" if is_op(item) else str(item)

    def text(item: Any) -> str:
        if is_slice(item):
            start, stop, step = (bound(part) for part in item[1:])
            return f"{start}:{stop}" + (f":{step}" if step else "")
        return "None" if item is None else bound(item)

    return ", ".join(text(item) for item in index) or "()"


def copy_text(name: str, types: Sequence[Type]) -> str:
    """Returns the text of a new array with the items of the first operand, ``{name}``.

    The copy of a number of NumPy's is a number, which cannot be written to.
    """
    surely_array = getattr(types[0], "shape", None)
    return f"{{{name}}}.copy()" if surely_array else f"np.array({{{name}}})"


def index_text(index: Index, fixed: int) -> str:
    """Returns the index as an expression of its own, for ``np.add.at``."""
    if any(is_slice(item) or item == "..." for item in index):
        return f"np.s_[{subscript(index, fixed)}]"
    inner = subscript(index, fixed)
    return inner if len(index) == 1 else f"({inner})"


def may_repeat_positions(index: Index, rest: Sequence[Type]) -> bool:
    """True if an array of ints in the index may name a position twice."""
    arrays = [rest[item[1]] for item in index if is_op(item)]
    return any(
        isinstance(type_, ArrayType) and type_.shape != () and type_.dtype != "bool"
        for type_ in arrays
    )


def index_shape(shape: Shape, index: Index, rest: Sequence[Type]) -> Shape:
    """Returns the shape of ``x[index]``. Raises ShapeError or DTypeError where the index does not
    fit.

    >>> index_shape((4, "b", 3), (0, FULL, ("slice", None, None, -2)), ())
    ('b', 2)
    """
    items = [classify(item, rest) for item in index]
    if shape is None or any(kind == "unknown" for kind, _, _ in items):
        return None
    used = sum(takes for _, takes, _ in items)
    if used > len(shape):
        raise ShapeError(
            f"too many indices: {used} for a tensor of {len(shape)} dimensions",
            "use at most as many indices as the tensor has dimensions",
        )
    if not any(kind == "..." for kind, _, _ in items):
        items.append(("...", 0, None))
    dims: list[Dim] = []
    arrays: list[Shape] = []
    places: list[tuple[int, int]] = []
    axis = 0
    for position, (kind, takes, item) in enumerate(items):
        if kind == "...":
            takes = len(shape) - used
            dims += shape[axis : axis + takes]
        elif kind == "new":
            dims.append(1)
        elif kind == "slice":
            dims.append(_sliced(shape[axis], item))
        else:
            if kind == "int":
                _check_bounds(item, shape[axis], axis)
            arrays.append(item if kind == "array" else ())
            places.append((position, len(dims)))
        axis += takes
    if not any(arrays):
        return tuple(dims)
    # NumPy puts the dimensions of the index arrays where they stand if they stand together.
    together = places[-1][0] - places[0][0] == len(places) - 1
    front = places[0][1] if together else 0
    return (*dims[:front], *(broadcast_shapes(arrays) or ()), *dims[front:])


def classify(item: Any, rest: Sequence[Type]) -> tuple[str, int, Any]:
    """Returns an item as (kind, number of axes that it consumes, other facts that decide the
    shape)."""
    if item is None:
        return "new", 0, None
    if item == "...":
        return "...", 0, None
    if is_slice(item):
        return "slice", 1, item
    if isinstance(item, bool):
        return "array", 0, (int(item),)
    if not is_op(item):
        return "int", 1, int(item)
    type_ = rest[item[1]]
    if type_ == BOOL:
        return "array", 0, (None,)
    if not isinstance(type_, ArrayType):
        return "int", 1, None
    if type_.dtype is not None and np.dtype(type_.dtype).kind not in "iub":
        raise DTypeError(
            f"an index cannot be a tensor of {type_.dtype}", "use a tensor of ints or bools"
        )
    if type_.dtype is None or type_.shape is None:
        return "unknown", 0, None
    if type_.dtype == "bool":
        return "array", len(type_.shape), (None,)
    return ("int", 1, None) if type_.shape == () else ("array", 1, type_.shape)


def _sliced(dim: Dim, item: Any) -> Dim:
    start, stop, step = item[1:]
    if step == 0:
        raise ShapeError("slice step cannot be zero", "use a step of 1 or more, or of -1 or less")
    if start is None and stop is None and step in (None, 1, -1):
        return dim
    if isinstance(dim, int) and not any(is_op(part) for part in item[1:]):
        return len(range(*slice(start, stop, step).indices(dim)))
    return None


def _check_bounds(item: int | None, dim: Dim, axis: int) -> None:
    if item is not None and isinstance(dim, int) and not -dim <= item < dim:
        raise ShapeError(
            f"index {item} is out of bounds for axis {axis} of size {dim}",
            f"use an index from {-dim} to {dim - 1}" if dim else "",
        )


def operands_of(index: Index) -> int:
    """Returns the number of run-time operands of an index."""
    parts = [part for item in index for part in (item[1:] if is_slice(item) else (item,))]
    return 1 + max((part[1] for part in parts if is_op(part)), default=-1)


def keeps_first_axis(index: Index) -> bool:
    """True if an axis added before all others stays the first one of the result.

    NumPy moves the axes of index arrays to the front if they do not stand together.
    """
    places = [k for k, item in enumerate(index) if item not in (None, "...") and not is_slice(item)]
    without_arrays = not any(map(is_op, index)) and not any(
        isinstance(item, bool) for item in index
    )
    return without_arrays or places[-1] - places[0] == len(places) - 1


def is_gather(rest: Sequence[Type], index: Index) -> bool:
    """True if an array with axes is in the index: NumPy's result is then a copy."""
    arrays = [rest[item[1]] for item in index if is_op(item)]
    return any(isinstance(type_, ArrayType) and type_.shape for type_ in arrays)
