"""Joining arrays, padding them, and moving their elements unchanged."""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import INT, ArrayType, Dim, Shape, Type
from autodiff_compiler.operators.core.declare import (
    arithmetic_dtype,
    behind_new_axis,
    casts_for,
    linear,
    method_text,
    normal_axes,
    placeholders,
    same_type,
    shape_of_type,
    zero_gradient,
)
from autodiff_compiler.operators.core.index_patterns import FULL, Index, subscript
from autodiff_compiler.operators.core.structure import axis_text, number_text, reshape_like
from autodiff_compiler.operators.indexing.indexing import index


class PerOperand(dict[str, Callable[..., Any]]):
    """Rules for ``*rest`` operands: a rule is given the number of its operand."""

    def __init__(self, make: Callable[[int], Callable[..., Any]]):
        super().__init__({"*rest": make})
        self._make = make

    def get(self, operand: str, default: Any = None) -> Any:
        return self._make(int(operand)) if operand.isdigit() else default


size_of = zero_gradient(
    "size_of",
    "The number of elements of x along axes (None: in all), a run-time int.",
    numpy=lambda types, *, axes: (
        "{x}.size" if axes is None else " * ".join(f"{{x}}.shape[{axis}]" for axis in axes)
    ),
    result=lambda types, *, axes: INT,
    label="{x}_size",
)


def size_along(x: Any, axes: Sequence[int] | None) -> Any:
    """Returns the number of elements along axes: a number if the shape tells it, else an
    operation."""
    shape = shape_of_type(type_of(x))
    if shape is None:
        return size_of(x, axes=axes)
    dims = shape if axes is None else [shape[axis] for axis in axes]
    size = 1
    for dim in dims:
        if not isinstance(dim, int):
            return size_of(x, axes=axes)
        size *= dim
    return size


def _joined_dtype(types: Sequence[Type], **attrs: Any) -> Sequence[str | None]:
    return casts_for(types, arithmetic_dtype(types))


def _same_rank(types: Sequence[Type], what: str) -> list[Shape]:
    for type_ in types:
        if not isinstance(type_, ArrayType):
            raise DTypeError(
                f"{what} joins tensors, not a {type_}",
                "convert it first: Tensor(x) or np.asarray(x)",
            )
    shapes = [shape_of_type(type_) for type_ in types]
    ranks = {len(shape) for shape in shapes if shape is not None}
    if len(ranks) > 1:
        texts = ", ".join(map(str, types))
        raise ShapeError(
            f"{what} needs tensors of equal rank, not {texts}",
            "give them the same number of dimensions first, with expand_dims or reshape",
        )
    return shapes


def _agree(dims: Sequence[Dim], what: str, types: Sequence[Type]) -> Dim:
    known = {dim for dim in dims if dim is not None}
    if len(known) > 1:
        raise ShapeError(
            f"{what} cannot join {', '.join(map(str, types))}",
            "make the sizes of all other axes equal",
        )
    return None if None in dims else known.pop()


def _concat_type(types: Sequence[Type], *, axis: int) -> Type:
    shapes = _same_rank(types, "concat")
    dtype = arithmetic_dtype(types)
    if any(shape is None for shape in shapes):
        return ArrayType(dtype, None)
    rank = len(shapes[0] or ())
    (place,) = normal_axes(axis, rank) or (0,)
    dims: list[Dim] = []
    for position in range(rank):
        along = [shape[position] for shape in shapes if shape is not None]
        if position == place:
            total = [dim for dim in along if isinstance(dim, int)]
            dims.append(sum(total) if len(total) == len(along) else None)
        else:
            dims.append(_agree(along, "concat", types))
    return ArrayType(dtype, tuple(dims))


def _piece(position: int) -> Callable[..., Any]:
    def rule(ct: Value, rest: Sequence[Any], axis: int) -> Any:
        start: Any = 0
        for other in rest[:position]:
            start = start + size_along(other, (axis,))
        stop = start + size_along(rest[position], (axis,))
        bounds = [bound for bound in (start, stop) if isinstance(bound, Value)]
        names = [("op", bounds.index(b)) if isinstance(b, Value) else b for b in (start, stop)]
        lead = (FULL,) * axis if axis >= 0 else ("...",)
        tail = (FULL,) * (-1 - axis) if axis < 0 else ()
        piece = ("slice", names[0] or None, names[1], None)
        return index(ct, *bounds, index=(*lead, piece, *tail))

    return rule


concat: OpDef = OpDef(
    "concat",
    "The operands one after another along an axis; all other dimensions agree.",
    operands=("*rest",),
    numpy=lambda types, *, axis: f"np.concatenate([{placeholders(types)}], axis={axis})",
    result=_concat_type,
    promote=_joined_dtype,
    adjoint=PerOperand(_piece),
    linear_in=("*rest",),
    batch="axes",
)


def _stack_type(types: Sequence[Type], *, axis: int) -> Type:
    shapes = _same_rank(types, "stack")
    dtype = arithmetic_dtype(types)
    if any(shape is None for shape in shapes):
        return ArrayType(dtype, None)
    rank = len(shapes[0] or ())
    (place,) = normal_axes(axis, rank + 1) or (0,)
    dims = [
        _agree([shape[position] for shape in shapes if shape is not None], "stack", types)
        for position in range(rank)
    ]
    return ArrayType(dtype, (*dims[:place], len(types), *dims[place:]))


def _layer(position: int) -> Callable[..., Any]:
    def rule(ct: Value, axis: int) -> Any:
        lead = (FULL,) * axis if axis >= 0 else ("...",)
        tail = (FULL,) * (-1 - axis) if axis < 0 else ()
        return index(ct, index=(*lead, position, *tail))

    return rule


stack: OpDef = OpDef(
    "stack",
    "The operands, all of one shape, along a new axis.",
    operands=("*rest",),
    numpy=lambda types, *, axis: (
        f"np.stack([{placeholders(types)}]" + (f", axis={axis})" if axis else ")")
    ),
    result=_stack_type,
    promote=_joined_dtype,
    adjoint=PerOperand(_layer),
    linear_in=("*rest",),
    batch="axes",
)


def _squeeze_type(types: Sequence[Type], *, axes: Sequence[int] | None) -> Type:
    (x,) = types
    assert isinstance(x, ArrayType)
    if x.shape is None or axes is None and None in x.shape:
        return ArrayType(x.dtype, None)
    places = normal_axes(axes, len(x.shape)) if axes != () else ()
    if places is None:
        return ArrayType(x.dtype, tuple(dim for dim in x.shape if dim != 1))
    for place in places:
        if x.shape[place] not in (1, None):
            raise ShapeError(
                f"axis {place} of a tensor of shape {x.shape} has size {x.shape[place]}",
                "squeeze only axes of size 1",
            )
    return ArrayType(x.dtype, tuple(d for i, d in enumerate(x.shape) if i not in places))


squeeze: OpDef = linear(
    "squeeze",
    "x without those axes, which have length one (None: without any such axis).",
    numpy=lambda types, *, axes: method_text(types, "squeeze", axis_text(axes)),
    result=_squeeze_type,
    adjoint={"x": lambda ct, x: reshape_like(ct, x)},
    label="{x}_squeezed",
    views=("x",),
    batch=lambda x, axes: None if not axes else squeeze(x, axes=behind_new_axis(axes)),
)


def _pad_type(types: Sequence[Type], *, widths: Any, value: Any) -> Type:
    (x,) = types
    assert isinstance(x, ArrayType)
    if x.shape is None:
        return x
    if len(widths) != len(x.shape):
        raise ShapeError(f"{len(widths)} pairs of pad widths for {len(x.shape)} dimensions")
    dims = [
        dim if (low, high) == (0, 0) else dim + low + high if isinstance(dim, int) else None
        for dim, (low, high) in zip(x.shape, widths)
    ]
    return ArrayType(x.dtype, tuple(dims))


def _pad_numpy(types: Sequence[Type], *, widths: Any, value: Any) -> str:
    result_type = _pad_type(types, widths=widths, value=value)
    if not isinstance(result_type, ArrayType) or not result_type.is_static or not result_type.shape:
        constant = f", constant_values={number_text(value)}" if value else ""
        return f"np.pad({{x}}, {tuple(map(tuple, widths))}{constant})"
    # np.pad is written in Python for all modes, and takes longer than many a small network.
    shape = result_type.shape[0] if len(result_type.shape) == 1 else result_type.shape
    allocation = f"np.full({shape}, {number_text(value)}" if value else f"np.zeros({shape}"
    place = subscript(inner(widths), 1)
    return f"{{out}} = {allocation}, np.{result_type.dtype})\n{{out}}[{place}] = {{x}}"


def inner(widths: Sequence[tuple[int, int]]) -> Index:
    """Returns the index of the original array in the padded one."""
    return tuple(("slice", low or None, -high if high else None, None) for low, high in widths)


def _unpad(ct: Value, widths: Sequence[tuple[int, int]]) -> Value:
    return index(ct, index=inner(widths))


pad: OpDef = OpDef(
    "pad",
    "x with (before, after) elements of one value added on each axis.",
    operands=("x",),
    numpy=_pad_numpy,
    result=_pad_type,
    adjoint={"x": lambda ct, widths: _unpad(ct, widths)},
    tangent={"x": lambda dot, widths: pad(dot, widths=widths, value=0)},
    label="{x}_padded",
    batch=lambda x, widths, value: pad(x, widths=((0, 0), *widths), value=value),
)


def _flip_numpy(types: Sequence[Type], *, axes: Sequence[int] | None) -> str:
    shape = shape_of_type(types[0])
    if not shape:
        return f"np.flip({{x}}{axis_text(axes)})"
    rank = len(shape)
    flipped = range(rank) if axes is None else [axis % rank for axis in axes]
    backward = ("slice", None, None, -1)
    places = [backward if axis in flipped else FULL for axis in range(max(flipped, default=0) + 1)]
    return f"{{x}}[{subscript(tuple(places), 1)}]"


flip: OpDef = linear(
    "flip",
    "x in reverse order along axes (None: all).",
    numpy=_flip_numpy,
    result=same_type,
    adjoint={"x": lambda ct, axes: flip(ct, axes=axes)},
    label="{x}_flipped",
    views=("x",),
    batch="axes",
)
