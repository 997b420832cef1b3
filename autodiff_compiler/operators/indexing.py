"""Reading and writing parts of an array.

The attribute ``index`` is a subscript as data, a tuple of items:

    1  None  '...'  True        as in ``x[1, None, ..., True]``
    ('slice', start, stop, step)
    ('op', k)                   the k-th of ``*rest``: a run-time int, or an array of ints or bools

The bounds of a slice may be ``('op', k)`` too. ``index`` and ``scatter`` are each other's adjoints.
A position that an array names twice is added up, as calculus asks; where the index holds no array
plain assignment does, and that is what is printed. ``set_item`` writes such a position twice: only
the last value is read again, so only it has a gradient (``written_last``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import BOOL, ArrayType, Dim, Shape, Type
from autodiff_compiler.operators.compare import logical_not
from autodiff_compiler.operators.declare import (
    broadcast_shapes,
    linear,
    shape_of_type,
    zero_gradient,
)
from autodiff_compiler.operators.structure import (
    full_like,
    shape_argument,
    shape_text,
    unbroadcast,
)

Index = tuple[Any, ...]
FULL = ("slice", None, None, None)


def _is_op(item: Any) -> bool:
    return isinstance(item, tuple) and item[0] == "op"


def _is_slice(item: Any) -> bool:
    return isinstance(item, tuple) and item[0] == "slice"


def subscript(index: Index, fixed: int) -> str:
    """The text between the brackets; the operands of ``*rest`` come after ``fixed`` others.

    >>> subscript(("...", ("slice", 1, None, None), ("op", 0)), fixed=1)
    '..., 1:, {1}'
    """

    def bound(item: Any) -> str:
        if item is None:
            return ""
        return f"{{{item[1] + fixed}}}" if _is_op(item) else str(item)

    def text(item: Any) -> str:
        if _is_slice(item):
            start, stop, step = (bound(part) for part in item[1:])
            return f"{start}:{stop}" + (f":{step}" if step else "")
        return "None" if item is None else bound(item)

    return ", ".join(text(item) for item in index) or "()"


def index_text(index: Index, fixed: int) -> str:
    """The index as an expression of its own, for ``np.add.at``."""
    if any(_is_slice(item) or item == "..." for item in index):
        return f"np.s_[{subscript(index, fixed)}]"
    inner = subscript(index, fixed)
    return inner if len(index) == 1 else f"({inner})"


def adds_up(index: Index, rest: Sequence[Type]) -> bool:
    """Whether an array of ints in the index may name a position twice."""
    arrays = [rest[item[1]] for item in index if _is_op(item)]
    return any(
        isinstance(type_, ArrayType) and type_.shape != () and type_.dtype != "bool"
        for type_ in arrays
    )


def index_shape(shape: Shape, index: Index, rest: Sequence[Type]) -> Shape:
    """The shape of ``x[index]``. Raises ShapeError or DTypeError where the index does not fit.

    >>> index_shape((4, "b", 3), (0, FULL, ("slice", None, None, -2)), ())
    ('b', 2)
    """
    items = [_classify(item, rest) for item in index]
    if shape is None or any(kind == "unknown" for kind, _, _ in items):
        return None
    used = sum(takes for _, takes, _ in items)
    if used > len(shape):
        raise ShapeError(
            f"too many indices: {used} for a tensor of {len(shape)} dimensions",
            "use as many as the tensor has dimensions, or fewer",
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


def _classify(item: Any, rest: Sequence[Type]) -> tuple[str, int, Any]:
    """An item as (kind, how many axes it takes, what else the shape depends on)."""
    if item is None:
        return "new", 0, None
    if item == "...":
        return "...", 0, None
    if _is_slice(item):
        return "slice", 1, item
    if isinstance(item, bool):
        return "array", 0, (int(item),)
    if not _is_op(item):
        return "int", 1, int(item)
    type_ = rest[item[1]]
    if type_ == BOOL:
        return "array", 0, (None,)
    if not isinstance(type_, ArrayType):
        return "int", 1, None
    if type_.dtype is not None and np.dtype(type_.dtype).kind not in "iub":
        raise DTypeError(
            f"a tensor of {type_.dtype} cannot be an index", "use one of ints or bools"
        )
    if type_.dtype is None or type_.shape is None:
        return "unknown", 0, None
    if type_.dtype == "bool":
        return "array", len(type_.shape), (None,)
    return ("int", 1, None) if type_.shape == () else ("array", 1, type_.shape)


def _sliced(dim: Dim, item: Any) -> Dim:
    start, stop, step = item[1:]
    if start is None and stop is None and step in (None, 1, -1):
        return dim
    if isinstance(dim, int) and not any(_is_op(part) for part in item[1:]):
        return len(range(*slice(start, stop, step).indices(dim)))
    return None


def _check_bounds(item: int | None, dim: Dim, axis: int) -> None:
    if item is not None and isinstance(dim, int) and not -dim <= item < dim:
        raise ShapeError(
            f"index {item} is out of bounds for axis {axis} of size {dim}",
            f"use an index from {-dim} to {dim - 1}" if dim else "",
        )


def _index_type(types: Sequence[Type], *, index: Index) -> Type:
    x = types[0]
    if not isinstance(x, ArrayType):
        raise DTypeError(f"a {x} cannot be indexed like a tensor")
    if x.shape == () and any(_classify(item, types[1:])[1] for item in index):
        raise ShapeError("a tensor without axes cannot be indexed", "use the tensor itself")
    return ArrayType(x.dtype, index_shape(x.shape, index, types[1:]))


def _stands_together(index: Index) -> bool:
    """Whether an axis before all others stays there: NumPy takes index arrays that do not stand
    together to the front."""
    places = [
        k for k, item in enumerate(index) if item not in (None, "...") and not _is_slice(item)
    ]
    whole = not any(map(_is_op, index)) and not any(isinstance(item, bool) for item in index)
    return whole or places[-1] - places[0] == len(places) - 1


def _scatter_back(ct: Value, x: Value, rest: Sequence[Any], index: Index) -> Value:
    shape, more = shape_argument(x)
    return scatter(ct, *rest, *more, index=index, shape=shape)


def _gathers(rest: Sequence[Type], index: Index) -> bool:
    """Whether an array with axes is in the index: what NumPy takes so, it copies."""
    arrays = [rest[item[1]] for item in index if _is_op(item)]
    return any(isinstance(type_, ArrayType) and type_.shape for type_ in arrays)


index: OpDef = linear(
    "index", "x[index], NumPy's basic and advanced indexing; basic indexing gives a view.",
    operands=("x", "*rest"), numpy=lambda types, *, index: f"{{x}}[{subscript(index, 1)}]",
    result=_index_type, adjoint={"x": _scatter_back, "*rest": lambda: None},
    label="{x}_item", views=("x",), copies=lambda types, *, index: _gathers(types[1:], index),
    batch=lambda x, rest, index, mapped: _index(x, *rest, index=(FULL, *index))
    if mapped[0] and not any(mapped[1:]) and _stands_together(index) else None,
)  # fmt: skip


def _dtype_text(type_: Type, name: str) -> str:
    known = isinstance(type_, ArrayType) and type_.dtype is not None
    return f"np.{type_.dtype}" if known else f"np.asarray({name}).dtype"  # type: ignore[attr-defined]


def zeros_text(types: Sequence[Type], shape: Shape, fixed: int) -> str:
    """The line that makes the zeros which a scatter adds its first operand, v, to."""
    return f"{{out}} = np.zeros({shape_text(types, shape, fixed)}, {_dtype_text(types[0], '{v}')})"


def _scatter_numpy(types: Sequence[Type], *, index: Index, shape: Shape) -> str:
    rest = operands_of(index)
    zeros = zeros_text(types, shape, 1 + rest)
    if adds_up(index, types[1:]):
        added = _rows_added(types, index, shape)
        return f"{zeros}\n{added or f'np.add.at({{out}}, {index_text(index, 1)}, {{v}})'}"
    return f"{zeros}\n{{out}}[{subscript(index, 1)}] = {{v}}"


#: From how many numbers on rows are added number by number, and how many at a time.
FEW, MANY = 2**10, 2**15


def _rows_added(types: Sequence[Type], index: Index, shape: Shape) -> str | None:
    """The lines that add rows of known sizes to those that an array of ints names, in the same
    order as ``np.add.at``, which is several times as fast where it is told of single numbers."""
    values, places = shape_of_type(types[0]), shape_of_type(types[1])
    dtype = getattr(types[1], "dtype", None)
    if index != (("op", 0),) or dtype not in ("int32", "int64") or not values or not places:
        return None
    if not all(isinstance(dim, int) for dim in (*values, *(shape or (None,)))):
        return None
    sizes: Sequence[int] = shape  # type: ignore[assignment]
    row, numbers = math.prod(sizes[1:]), math.prod(values)  # type: ignore[arg-type]
    if values != (*places, *sizes[1:]) or row < 2 or numbers < FEW or math.prod(sizes) >= 2**31:
        return None
    first, part, head = values[0], "", ""
    step = max(1, first * MANY // numbers)  # type: ignore[operator]
    if step < first:  # type: ignore[operator]
        part = "[i]" if step == 1 else f"[i : i + {step}]"
        count = f"{first}" if step == 1 else f"0, {first}, {step}"
        head = f"for i in range({count}):\n    "
    named = f"({{1}}{part}[..., None] * {row} + np.arange({row})).ravel()"
    return f"{head}np.add.at({{out}}.reshape(-1), {named}, {{v}}{part}.ravel())"


def operands_of(index: Index) -> int:
    """How many run-time operands an index has."""
    parts = [part for item in index for part in (item[1:] if _is_slice(item) else (item,))]
    return 1 + max((part[1] for part in parts if _is_op(part)), default=-1)


scatter = linear(
    "scatter",
    "Zeros of the given shape with v added at [index]; the shape is an attribute, and the last "
    "operand where it is not static.",
    operands=("v", "*rest"), numpy=_scatter_numpy,
    result=lambda types, *, index, shape: ArrayType(
        types[0].dtype if isinstance(types[0], ArrayType) else "float64", shape),
    adjoint={
        "v": lambda ct, v, rest, index: unbroadcast(
            _index(ct, *rest[: operands_of(index)], index=index), v
        ),
        "*rest": lambda: None,
    },
    label="{v}_scattered",
)  # fmt: skip

# Inside the rules above and below, the attribute ``index`` hides the record of that name.
_index: OpDef = index


def check_written(types: Sequence[Type], index: Index) -> Type:
    """The type of an array after a value was written at [index]. Raises where it does not fit."""
    x, value = types[0], types[1]
    place = _index_type((x, *types[2:]), index=index)
    assert isinstance(place, ArrayType)
    have = shape_of_type(value)
    if place.shape is None or have is None:
        return x
    while len(have) > len(place.shape) and have[0] == 1:
        have = have[1:]
    if (
        len(have) > len(place.shape)
        or broadcast_shapes([have, place.shape]) != place.shape
        and (None not in have and None not in place.shape)
    ):
        raise ShapeError(
            f"a value of shape {shape_of_type(value)} does not fit the place of shape {place.shape}"
        )
    return x


def _add_at_numpy(types: Sequence[Type], *, index: Index, in_place: bool = False) -> str:
    head = "" if in_place else "{out} = {acc}.copy()\n"
    if adds_up(index, types[2:]):
        return f"{head}np.add.at({{out}}, {index_text(index, 2)}, {{v}})"
    return f"{head}{{out}}[{subscript(index, 2)}] += {{v}}"


add_at = OpDef(
    "add_at", "acc with v added at [index]; a position named twice gets both.",
    ("acc", "v", "*rest"), _add_at_numpy,
    lambda types, *, index, in_place=False: check_written(types, index),
    adjoint={
        "acc": lambda ct: ct,
        "v": lambda ct, v, rest, index: unbroadcast(_index(ct, *rest, index=index), v),
        "*rest": lambda: None,
    },
    tangent={
        "acc": lambda dot: dot,
        "v": lambda dot, acc, rest, index: _spread(dot, acc, rest, index),
    },
    linear_in=("acc", "v"),
    label="{acc}",
)  # fmt: skip


sub_at = OpDef(
    "sub_at", "acc with v taken away at [index], which holds no arrays.",
    ("acc", "v", "*rest"),
    lambda types, *, index, in_place=False: (
        "" if in_place else "{out} = {acc}.copy()\n"
    ) + f"{{out}}[{subscript(index, 2)}] -= {{v}}",
    lambda types, *, index, in_place=False: check_written(types, index),
    kind="lowered",
    label="{acc}",
)  # fmt: skip


def _written_last_numpy(types: Sequence[Type], *, index: Index, shape: Shape) -> str:
    rest = operands_of(index)
    place = f"{{out}}[{subscript(index, 0)}]"
    found = index_shape(shape, index, types[:rest])
    if found is None or not all(isinstance(dim, int) for dim in found):
        order = f"np.arange({place}.size).reshape({place}.shape)"
    else:
        sizes = "" if len(found) == 1 else f".reshape({', '.join(map(str, found))})"
        order = f"np.arange({math.prod(found)}){sizes}"  # type: ignore[arg-type]
    empty = f"{{out}} = np.empty({shape_text(types, shape, rest)}, np.int64)"
    return f"{empty}\n{place} = {order}\n{{out}} = {place} == {order}"


written_last = zero_gradient(
    "written_last",
    "For each place that x[index] names, x of a given shape: whether no later place names the same "
    "position, so that an assignment leaves its value there.",
    operands=("*rest",), numpy=_written_last_numpy,
    result=lambda types, *, index, shape: ArrayType(
        "bool", index_shape(shape, index, types[: operands_of(index)])),
    label="written_last",
)  # fmt: skip


def _last(x: Value, rest: Sequence[Any], index: Index) -> tuple[Value, int]:
    """``written_last``, and before which axis of x[index] it stands: axes that are taken whole say
    nothing of which place is named twice."""
    shape, more = shape_argument(x)
    items = [item for item in index if item != FULL]
    front = next(k for k, item in enumerate(index) if item != FULL)
    arrays = all(_is_op(item) and _names_one_axis(type_of(rest[item[1]])) for item in items)
    together = index[front : front + len(items)] == tuple(items)
    if more or not (arrays and together) or shape is None:
        return written_last(*rest, *more, index=index, shape=shape), 0
    sizes = shape[front : front + len(items)]
    return written_last(*rest, index=tuple(items), shape=sizes), front


def _names_one_axis(type_: Type) -> bool:
    return isinstance(type_, ArrayType) and bool(type_.shape) and type_.dtype not in (None, "bool")


def _assigned(ct: Value, x: Value, v: Value, rest: Sequence[Any], index: Index) -> Any:
    """The cotangent of what was written to x[index]: that of the place, if nothing overwrote it."""
    part = _index(ct, *rest, index=index)
    if adds_up(index, [type_of(operand) for operand in rest]):
        last, front = _last(x, rest, index)
        part = set_item(part, 0.0, logical_not(last), index=(*[FULL] * front, ("op", 0)))
    return unbroadcast(part, v)


def _raise_numpy(types: Sequence[Type], *, index: Index, in_place: bool = False) -> str:
    head = "" if in_place else "{out} = {x}.copy()\n"
    return f"{head}{{out}}[{subscript(index, 2)}] += {{v}}"


raise_at: OpDef = OpDef(
    "raise_at",
    "x with v added to x[index], as ``x[index] += v`` does: of the values for a position that is "
    "named twice the last one counts.",
    ("x", "v", "*rest"), _raise_numpy,
    lambda types, *, index, in_place=False: check_written(types, index),
    adjoint={"x": lambda ct: ct, "v": _assigned, "*rest": lambda: None},
    tangent={
        "x": lambda dot: dot,
        "v": lambda dot, x, rest, index: raise_at(
            full_like(x, value=0), dot, *rest, index=index
        ),
    },
    linear_in=("x", "v"),
    label="{x}",
)  # fmt: skip


set_item: OpDef = OpDef(
    "set_item",
    "x with v written at [index], x itself untouched; v is cast to the dtype of x. Of the values "
    "for a position that is named twice the last one stays.",
    ("x", "v", "*rest"),
    lambda types, *, index, in_place=False: (
        "" if in_place else "{out} = {x}.copy()\n") + f"{{out}}[{subscript(index, 2)}] = {{v}}",
    lambda types, *, index, in_place=False: check_written(types, index),
    adjoint={
        "x": lambda ct, rest, index: set_item(ct, 0.0, *rest, index=index),
        "v": _assigned,
        "*rest": lambda: None,
    },
    tangent={
        "x": lambda dot, rest, index: set_item(dot, 0.0, *rest, index=index),
        "v": lambda dot, x, rest, index: set_item(
            full_like(x, value=0), dot, *rest, index=index
        ),
    },
    linear_in=("x", "v"),
    label="{x}",
)  # fmt: skip


def _spread(dot: Value, like: Value, rest: Sequence[Any], index: Index) -> Value:
    return add_at(full_like(like, value=0), dot, *rest, index=index)
