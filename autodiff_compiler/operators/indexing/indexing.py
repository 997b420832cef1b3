"""Reading and writing parts of an array.

The attribute ``index`` is a subscript as data (``index_patterns.py``). ``index`` and ``scatter``
are each other's adjoints. If an index array names a position twice, ``scatter`` adds both values,
as calculus requires. Without an index array, plain assignment is enough, and is printed.
``set_item`` and ``increment_at`` write to such a position twice: only the last value is read again,
so only it has a gradient (``last_writer``).
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Sequence
from typing import Any

from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.ir.types import ArrayType, Dim, Shape, Type, is_complex
from autodiff_compiler.operators.core.declare import (
    broadcast_shapes,
    linear,
    shape_of_type,
    static_sizes,
    zero_gradient,
)
from autodiff_compiler.operators.core.index_patterns import (
    FULL,
    Index,
    classify,
    copy_text,
    index_shape,
    is_gather,
    is_op,
    keeps_first_axis,
    may_repeat_positions,
    operands_of,
    subscript,
)
from autodiff_compiler.operators.core.structure import (
    broadcast_to,
    expand_dims,
    full_like,
    shape_argument,
    shape_text,
    unbroadcast,
)
from autodiff_compiler.operators.elementwise.comparisons import logical_not
from autodiff_compiler.operators.indexing.scatter_text import added_text


def _index_type(types: Sequence[Type], *, index: Index) -> Type:
    x = types[0]
    if not isinstance(x, ArrayType):
        raise DTypeError(f"a {x} cannot be indexed like a tensor")
    if x.shape == () and any(classify(item, types[1:])[1] for item in index):
        raise ShapeError(
            "a 0-d tensor cannot be indexed with a number",
            "use the tensor itself, without an index",
        )
    return ArrayType(x.dtype, index_shape(x.shape, index, types[1:]))


def _scatter_back(ct: Value, x: Value, rest: Sequence[Any], index: Index) -> Value:
    shape, more = shape_argument(x)
    return scatter(ct, *rest, *more, index=index, shape=shape)


def _index_numpy(types: Sequence[Type], *, index: Index) -> str:
    """Returns the text of ``x[index]``; for ``x[:, i]`` it is ``x.take(i, axis=1)``.

    ``take`` is several times as fast, and its result is row-major.
    """
    *before, last = index or (None,)
    axis = len(before) if before.count(FULL) == len(before) else -1 if before == ["..."] else 0
    taken = is_gather(types[1:], index) and getattr(types[1], "dtype", None) in _TAKE_DTYPES
    if axis and last == ("op", 0) and taken:
        return f"{{x}}.take({{1}}, axis={axis})"
    return f"{{x}}[{subscript(index, 1)}]"


def _index_copies(types: Sequence[Type], *, index: Index) -> bool:
    """True if ``x[index]`` is new memory: if arrays of positions are in the index, or one number is
    read."""
    number = "..." not in index and shape_of_type(_index_type(types, index=index)) == ()
    return number or is_gather(types[1:], index)


#: The dtypes of positions that ``take`` accepts.
_TAKE_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")

index: OpDef = linear(
    "index",
    "x[index], NumPy's basic and advanced indexing; basic indexing gives a view.",
    operands=("x", "*rest"),
    numpy=_index_numpy,
    result=_index_type,
    adjoint={"x": _scatter_back, "*rest": lambda: None},
    label="{x}_item",
    views=("x",),
    copies=_index_copies,
    batch=lambda x, rest, index, mapped: (
        _index(x, *rest, index=(FULL, *index))
        if mapped[0] and not any(mapped[1:]) and keeps_first_axis(index)
        else None
    ),
)


def _dtype_text(type_: Type, name: str) -> str:
    if isinstance(type_, ArrayType) and type_.dtype is not None:
        return f"np.{type_.dtype}"
    return f"np.asarray({name}).dtype"


def zeros_text(types: Sequence[Type], shape: Shape, fixed: int) -> str:
    """Returns the line that allocates the zeros to which a scatter adds its first operand, v."""
    return f"{{out}} = np.zeros({shape_text(types, shape, fixed)}, {_dtype_text(types[0], '{v}')})"


def _scatter_numpy(types: Sequence[Type], *, index: Index, shape: Shape) -> str:
    rest = operands_of(index)
    zeros = zeros_text(types, shape, 1 + rest)
    if may_repeat_positions(index, types[1:]):
        return f"{zeros}\n{added_text(types[0], types[1:], index, shape)}"
    return f"{zeros}\n{{out}}[{subscript(index, 1)}] = {{v}}"


def _scatter_batch(
    v: Value, rest: Sequence[Any], index: Index, shape: Shape, mapped: Sequence[bool], size: Dim
) -> Any:
    """Returns the batch of ``scatter``: the same part of each example."""
    if shape is None or not _is_one_region(rest, index, mapped[1:]):
        return None
    behind = shape_of_type(type_of(v))
    place = index_shape(shape, index, [type_of(operand) for operand in rest])
    if behind is None or place is None or len(behind) != len(place) + 1:
        return None
    return scatter(v, *rest, index=(FULL, *index), shape=(size, *shape))


def _write_batch(
    name: str,
    x: Value,
    v: Any,
    rest: Sequence[Any],
    index: Index,
    mapped: Sequence[bool],
    size: Dim,
) -> Any:
    """Returns the batch of a write to ``x[index]``: to the same part of each example."""
    shape = shape_of_type(type_of(x))
    if shape is None or not _is_one_region(rest, index, mapped[2:]):
        return None
    shape = shape[1:] if mapped[0] else shape
    place = index_shape(shape, index, [type_of(operand) for operand in rest])
    have = shape_of_type(type_of(v))
    if place is None or have is None:
        return None
    missing = len(place) + 1 - len(have)
    if mapped[1] and missing > 0:
        v = expand_dims(v, axes=tuple(range(1, missing + 1)))
    if not mapped[0]:
        x = broadcast_to(x, shape=(size, *shape))
    return OPERATORS[name](x, v, *rest, index=(FULL, *index))


def _is_one_region(rest: Sequence[Any], index: Index, mapped: Sequence[bool]) -> bool:
    """True if the index has slices and numbers only, the same for all examples."""
    types = [type_of(operand) for operand in rest]
    fits = len(rest) == operands_of(index) and keeps_first_axis(index)
    return fits and not any(mapped) and not may_repeat_positions(index, types)


scatter = linear(
    "scatter",
    "Zeros of the given shape with v added at [index]. The shape is an attribute, or the last "
    "operand if it is unknown at compile time.",
    operands=("v", "*rest"),
    numpy=_scatter_numpy,
    result=lambda types, *, index, shape: ArrayType(
        types[0].dtype if isinstance(types[0], ArrayType) else "float64", shape
    ),
    adjoint={
        "v": lambda ct, v, rest, index: unbroadcast(
            _index(ct, *rest[: operands_of(index)], index=index), v
        ),
        "*rest": lambda: None,
    },
    label="{v}_scattered",
    batch=_scatter_batch,
)

# Inside the rules above and below, the attribute ``index`` hides the operator of that name.
_index: OpDef = index


def check_written(types: Sequence[Type], index: Index) -> Type:
    """Returns the type of an array after a write at [index]. Raises an error if the value does not
    fit."""
    x, value = types[0], types[1]
    if is_complex(value) and getattr(x, "dtype", None) is not None and not is_complex(x):
        raise DTypeError(
            "complex numbers cannot be written to an array of real numbers",
            "take a real part first: ops.real(x), ops.imag(x) or ops.abs(x)",
        )
    place = _index_type((x, *types[2:]), index=index)
    assert isinstance(place, ArrayType)
    have = shape_of_type(value)
    if place.shape is None or have is None:
        return x
    if have and not place.shape and "..." not in index:
        raise ShapeError(
            f"a value of shape {have} cannot be written to a single element",
            "write a single number: value[0] or value.sum()",
        )
    while len(have) > len(place.shape) and have[0] == 1:
        have = have[1:]
    if (
        len(have) > len(place.shape)
        or broadcast_shapes([have, place.shape]) != place.shape
        and (None not in have and None not in place.shape)
    ):
        raise ShapeError(
            f"a value of shape {shape_of_type(value)} cannot be broadcast to the shape "
            f"{place.shape} that is written to"
        )
    return x


def _add_at_numpy(types: Sequence[Type], *, index: Index, in_place: bool = False) -> str:
    head = "" if in_place else f"{{out}} = {copy_text('acc', types)}\n"
    if may_repeat_positions(index, types[2:]):
        shape = shape_of_type(types[0])
        return head + added_text(types[1], types[2:], index, shape, fixed=2, new=not in_place)
    return f"{head}{{out}}[{subscript(index, 2)}] += {{v}}"


add_at = OpDef(
    "add_at",
    "acc with v added at [index]; values for a repeated position are added.",
    operands=("acc", "v", "*rest"),
    numpy=_add_at_numpy,
    result=lambda types, *, index, in_place=False: check_written(types, index),
    adjoint={
        "acc": lambda ct: ct,
        "v": lambda ct, v, rest, index: unbroadcast(_index(ct, *rest, index=index), v),
        "*rest": lambda: None,
    },
    tangent={
        "acc": lambda dot: dot,
        "v": lambda dot, acc, rest, index: _scattered(dot, acc, rest, index),
    },
    linear_in=("acc", "v"),
    label="{acc}",
    writes=True,
    batch=lambda acc, v, rest, index, mapped, size: _write_batch(
        "add_at", acc, v, rest, index, mapped, size
    ),
)


subtract_at = OpDef(
    "subtract_at",
    "acc with v subtracted at [index]; the index contains no arrays.",
    operands=("acc", "v", "*rest"),
    numpy=lambda types, *, index, in_place=False: (
        ("" if in_place else f"{{out}} = {copy_text('acc', types)}\n")
        + f"{{out}}[{subscript(index, 2)}] -= {{v}}"
    ),
    result=lambda types, *, index, in_place=False: check_written(types, index),
    kind="lowered",
    label="{acc}",
    writes=True,
)


def _written_last_numpy(types: Sequence[Type], *, index: Index, shape: Shape) -> str:
    rest = operands_of(index)
    place = f"{{out}}[{subscript(index, 0)}]"
    known_sizes = static_sizes(index_shape(shape, index, types[:rest]))
    if known_sizes is None:
        order = f"np.arange({place}.size).reshape({place}.shape)"
    else:
        sizes = "" if len(known_sizes) == 1 else f".reshape({', '.join(map(str, known_sizes))})"
        order = f"np.arange({math.prod(known_sizes)}){sizes}"
    empty = f"{{out}} = np.empty({shape_text(types, shape, rest)}, np.int64)"
    return f"{empty}\n{place} = {order}\n{{out}} = {place} == {order}"


last_writer = zero_gradient(
    "last_writer",
    "For each item of x[index], with x of the given shape: True if no later item has the same "
    "position, so that an assignment stores its value there.",
    operands=("*rest",),
    numpy=_written_last_numpy,
    result=lambda types, *, index, shape: ArrayType(
        "bool", index_shape(shape, index, types[: operands_of(index)])
    ),
    label="written_last",
)


def _last(x: Value, rest: Sequence[Any], index: Index) -> tuple[Value, int]:
    """Returns ``last_writer`` and the axis of x[index] at which its axes begin.

    Axes that are taken as a whole do not decide which position is named twice.
    """
    shape, more = shape_argument(x)
    items = [item for item in index if item != FULL]
    front = next(k for k, item in enumerate(index) if item != FULL)
    arrays = all(is_op(item) and _names_one_axis(type_of(rest[item[1]])) for item in items)
    together = index[front : front + len(items)] == tuple(items)
    if more or not (arrays and together) or shape is None:
        return last_writer(*rest, *more, index=index, shape=shape), 0
    sizes = shape[front : front + len(items)]
    return last_writer(*rest, index=tuple(items), shape=sizes), front


def _names_one_axis(type_: Type) -> bool:
    return isinstance(type_, ArrayType) and bool(type_.shape) and type_.dtype not in (None, "bool")


def _assigned(ct: Value, x: Value, v: Value, rest: Sequence[Any], index: Index) -> Any:
    """Returns the cotangent of the value written to x[index]: that of the place, if nothing
    overwrote it.
    """
    part = _index(ct, *rest, index=index)
    if may_repeat_positions(index, [type_of(operand) for operand in rest]):
        last, front = _last(x, rest, index)
        part = set_item(part, 0.0, logical_not(last), index=(*[FULL] * front, ("op", 0)))
    return unbroadcast(part, v)


def _raise_numpy(types: Sequence[Type], *, index: Index, in_place: bool = False) -> str:
    head = "" if in_place else f"{{out}} = {copy_text('x', types)}\n"
    return f"{head}{{out}}[{subscript(index, 2)}] += {{v}}"


increment_at: OpDef = OpDef(
    "increment_at",
    "x with v added to x[index], like ``x[index] += v``: for a repeated position only the last "
    "value counts.",
    operands=("x", "v", "*rest"),
    numpy=_raise_numpy,
    result=lambda types, *, index, in_place=False: check_written(types, index),
    adjoint={"x": lambda ct: ct, "v": _assigned, "*rest": lambda: None},
    tangent={
        "x": lambda dot: dot,
        "v": lambda dot, x, rest, index: increment_at(
            full_like(x, value=0), dot, *rest, index=index
        ),
    },
    linear_in=("x", "v"),
    label="{x}",
    writes=True,
    batch=lambda x, v, rest, index, mapped, size: _write_batch(
        "increment_at", x, v, rest, index, mapped, size
    ),
)


set_item: OpDef = OpDef(
    "set_item",
    "A copy of x with v written at [index]; v is cast to the dtype of x. For a repeated "
    "position the last value is stored.",
    operands=("x", "v", "*rest"),
    numpy=lambda types, *, index, in_place=False: (
        ("" if in_place else f"{{out}} = {copy_text('x', types)}\n")
        + f"{{out}}[{subscript(index, 2)}] = {{v}}"
    ),
    result=lambda types, *, index, in_place=False: check_written(types, index),
    adjoint={
        "x": lambda ct, rest, index: set_item(ct, 0.0, *rest, index=index),
        "v": _assigned,
        "*rest": lambda: None,
    },
    tangent={
        "x": lambda dot, rest, index: set_item(dot, 0.0, *rest, index=index),
        "v": lambda dot, x, rest, index: set_item(full_like(x, value=0), dot, *rest, index=index),
    },
    linear_in=("x", "v"),
    label="{x}",
    writes=True,
    batch=lambda x, v, rest, index, mapped, size: _write_batch(
        "set_item", x, v, rest, index, mapped, size
    ),
)


def _scattered(dot: Value, like: Value, rest: Sequence[Any], index: Index) -> Value:
    return add_at(full_like(like, value=0), dot, *rest, index=index)
