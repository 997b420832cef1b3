"""Linear operators that move elements; the rules of all other operators use them.

They are each other's adjoints: ``sum`` and ``broadcast_to``, ``reshape`` and ``reshape``,
``transpose`` and ``transpose``, ``index`` and ``scatter`` (in ``indexing.py``).
Where a static shape is not known they take it from a run-time operand, ``shape_of(x)``.
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.builder import current
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.ir.types import SHAPE, ArrayType, Dim, Shape, Type, is_complex, is_floating
from autodiff_compiler.operators.core.declare import (
    PROMOTION,
    broadcast_shapes,
    linear,
    method_text,
    normal_axes,
    number_text,
    same_type,
    shape_of_type,
    zero_gradient,
)

shape_of: OpDef = OpDef(
    "shape_of",
    "The run-time shape of x, a tuple of ints.",
    operands=("x",),
    numpy="{x}.shape",
    result=lambda types: SHAPE,
    kind="zero",
    label="{x}_shape",
    batch=lambda x: shape_of(OPERATORS["index"](x, index=(0,))),
)


def _cast_numpy(types: Sequence[Type], *, dtype: str) -> str:
    if not isinstance(types[0], ArrayType):
        return f"np.{dtype}({{x}})"
    part = ".real" if is_complex(types[0]) and not dtype.startswith(("complex", "bool")) else ""
    return f"{{x}}{part}.astype(np.{dtype})"


cast = linear(
    "cast",
    "x in another dtype. The gradient is cast back to the dtype of x.",
    numpy=_cast_numpy,
    result=lambda types, *, dtype: ArrayType(dtype, shape_of_type(types[0])),
    adjoint={"x": lambda ct, x: cast_like(ct, x)},
    label="{x}",
    batch="trailing",
)


def cast_like(ct: Any, x: Value) -> Any:
    """Returns ``ct`` in the dtype of ``x``."""
    if x.dtype_name is None or not isinstance(ct, Value) or ct.dtype_name in (None, x.dtype_name):
        return ct
    return cast(ct, dtype=x.dtype_name)


def shape_argument(x: Any) -> tuple[Shape, tuple[Value, ...]]:
    """Returns the shape of ``x`` as an attribute, and as an operand where it is not static.

    Beside a run-time operand the attribute only has the known part of the shape, for the type.
    """
    type_ = type_of(x)
    if isinstance(type_, ArrayType) and not type_.has_static_shape:
        return type_.shape, (shape_of(x),)
    return shape_of_type(type_), ()


def shape_text(types: Sequence[Type], shape: Shape, fixed: int = 1) -> str:
    """Returns the text of a shape: the last operand if there are more than ``fixed``, else a
    literal.

    >>> shape_text((), (3,), 0), shape_text((), (2, 3), 0), shape_text((SHAPE,), None, 0)
    ('3', '(2, 3)', '{0}')
    """
    if len(types) > fixed:
        return f"{{{len(types) - 1}}}"
    return str(shape[0]) if shape is not None and len(shape) == 1 else str(shape)


def _reshape_numpy(types: Sequence[Type], *, shape: Shape) -> str:
    (x, *_) = types
    have = x.static_shape if isinstance(x, ArrayType) and x.has_static_shape else ()
    if have and len(types) == 1 and shape is not None and (marks := new_axes(have, shape)):
        return f"{{x}}[{marks}]"
    return f"{{x}}.reshape({shape_text(types, shape)})"


def new_axes(have: Sequence[int], shape: Sequence[Dim]) -> str:
    """Returns the subscript that adds the axes of length one in ``shape``; empty if there is none.

    >>> new_axes((3,), (3, 1)), new_axes((3, 4), (1, 3, -1)), new_axes((3, 4), (4, 3))
    (':, None', 'None', '')
    """
    dims, marks = list(have), list[str]()
    for dim in shape:
        is_kept = bool(dims) and dim in (-1, dims[0])
        if not is_kept and dim != 1:
            return ""
        marks.append(":" if is_kept else "None")
        del dims[: int(is_kept)]
    if dims or len(shape) == len(have):
        return ""
    while marks[-1] == ":":
        marks.pop()
    return ", ".join(marks)


def _reshape_type(types: Sequence[Type], *, shape: Shape) -> Type:
    (x, *_) = types
    assert isinstance(x, ArrayType)
    if shape is None or len(types) > 1:
        return ArrayType(x.dtype, shape)
    if not x.has_static_shape or x.shape is None:
        return ArrayType(x.dtype, tuple(None if dim == -1 else dim for dim in shape))
    size = math.prod(dim for dim in x.shape if isinstance(dim, int))
    dims = [dim for dim in shape if isinstance(dim, int)]
    rest = math.prod(dim for dim in dims if dim != -1)
    if dims.count(-1) > 1 or (size % rest if -1 in dims and rest else size != rest):
        raise ShapeError(
            f"{size} elements of shape {x.shape} cannot be reshaped to {tuple(shape)}",
            "the products of the dimensions must be equal; one of them may be -1",
        )
    return ArrayType(x.dtype, tuple(size // max(rest, 1) if dim == -1 else dim for dim in dims))


reshape = linear(
    "reshape",
    "The elements of x, row-major, in another shape.",
    operands=("x", "*rest"),
    numpy=_reshape_numpy,
    result=_reshape_type,
    adjoint={"x": lambda ct, x: reshape_like(ct, x)},
    label="{x}_reshaped",
    views=("x",),
    batch=lambda x, rest, shape, size: _reshaped_batch(x, rest, shape, size),
)


def _surely_has(ct: Value, shape: Shape) -> bool:
    """True if ``ct`` surely has this shape. Two unknown sizes need not be equal."""
    known = shape is not None and None not in shape
    return known and isinstance(ct.type, ArrayType) and ct.type.shape == shape


def reshape_like(ct: Value, x: Value) -> Value:
    """Returns ``ct`` with the shape of ``x``."""
    shape, rest = shape_argument(x)
    if _surely_has(ct, shape):
        return ct
    return reshape(ct, *rest, shape=shape)


def _reshaped_batch(x: Value, rest: Sequence[Value], shape: Shape, size: Dim) -> Any:
    """Reshapes every example of a batch."""
    if rest or shape is None or size is None and -1 in shape:
        return None
    return reshape(x, shape=(-1 if size is None else size, *shape))


def _broadcast_batch(x: Value, rest: Sequence[Value], shape: Shape, size: Dim) -> Any:
    """Broadcasts every example of a batch."""
    if rest or shape is None or size is None or x.ndim is None:
        return None
    missing = len(shape) + 1 - x.ndim
    row = expand_dims(x, axes=tuple(range(1, missing + 1))) if missing else x
    return broadcast_to(row, shape=(size, *shape))


def _broadcast_type(types: Sequence[Type], *, shape: Shape) -> Type:
    dtype = types[0].dtype if isinstance(types[0], ArrayType) else "float64"
    have = shape_of_type(types[0])
    known = len(types) == 1 and have is not None
    if known and broadcast_shapes([have, shape]) != tuple(shape or ()):
        raise ShapeError(f"shape {have} cannot be broadcast to {shape}")
    return ArrayType(dtype, None if shape is None else tuple(shape))


broadcast_to = linear(
    "broadcast_to",
    "x broadcast to a larger shape (a read-only view).",
    operands=("x", "*rest"),
    numpy=lambda types, *, shape: f"np.broadcast_to({{x}}, {shape_text(types, shape)})",
    result=_broadcast_type,
    adjoint={"x": lambda ct, x: unbroadcast(ct, x)},
    label="{x}_broadcast",
    views=("x",),
    batch=lambda x, rest, shape, size: _broadcast_batch(x, rest, shape, size),
)


def broadcast_like(ct: Value, x: Value) -> Value:
    """Returns ``ct`` broadcast to the shape of ``x``."""
    shape, rest = shape_argument(x)
    if _surely_has(ct, shape):
        return ct
    return broadcast_to(ct, *rest, shape=shape)


def axis_text(axes: Sequence[int] | None, keepdims: bool = False) -> str:
    """Returns the arguments of a NumPy reduction after its operand.

    >>> axis_text((1,), True), axis_text(None)
    (', axis=1, keepdims=True', '')
    """
    axis = "" if axes is None else f", axis={axes[0] if len(axes) == 1 else tuple(axes)}"
    return axis + (", keepdims=True" if keepdims else "")


def reduced_shape(shape: Shape, axes: Sequence[int] | None, keepdims: bool) -> Shape:
    """Returns the shape after a reduction over ``axes`` (None: all)."""
    if shape is None:
        return () if axes is None and not keepdims else None
    reduced = range(len(shape)) if axes is None else [axis % len(shape) for axis in axes]
    if keepdims:
        return tuple(1 if axis in reduced else dim for axis, dim in enumerate(shape))
    return tuple(dim for axis, dim in enumerate(shape) if axis not in reduced)


def _sum_type(types: Sequence[Type], *, axes: Any, keepdims: bool) -> Type:
    (x,) = types
    shape = shape_of_type(x)
    normal_axes(axes, None if shape is None else len(shape))
    dtype = x.dtype if isinstance(x, ArrayType) else "float64"
    return ArrayType(wide_dtype(dtype), reduced_shape(shape, axes, keepdims))


def wide_dtype(dtype: str | None) -> str | None:
    """Returns the dtype in which NumPy sums and multiplies: int64 for integers and bools, but
    uint64."""
    is_wide = dtype in (None, "uint64") or is_floating(ArrayType(dtype))
    return dtype if is_wide else "int64"


def widened(types: Sequence[Type]) -> str:
    """Returns the argument that makes NumPy sum small unsigned integers in int64."""
    dtype = types[0].dtype if isinstance(types[0], ArrayType) else None
    return ", dtype=np.int64" if dtype in ("uint8", "uint16", "uint32") else ""


def restore_axes(ct: Value, x: Value, axes: Sequence[int] | None, keepdims: bool) -> Value:
    """Puts the reduced axes back into ``ct`` with size 1, so that it broadcasts against ``x``."""
    if keepdims or not axes or (isinstance(ct.type, ArrayType) and ct.type.shape == ()):
        return ct
    if PROMOTION.numpy and x.ndim is None and set(axes) <= {0, -1}:
        # NumPy reduces arrays without axes too; then there is no axis to restore.
        return expand_dims_where(ct, shape_of(x), axes=tuple(axes), rank=None)
    return expand_dims(ct, axes=tuple(axes))


def with_rank_of(ct: Value, x: Value) -> Value:
    """Reshapes ``ct`` to the shape of ``x`` if ``x`` may have no axes where ``ct`` has one.

    NumPy scans an array without axes as if it had one.
    """
    return reshape_like(ct, x) if PROMOTION.numpy and x.ndim is None else ct


sum_ = linear(
    "sum",
    "Sum over axes (None: all). Integers and bools are summed in int64.",
    numpy=lambda types, *, axes, keepdims: method_text(
        types, "sum", axis_text(axes, keepdims) + widened(types)
    ),
    result=_sum_type,
    adjoint={
        "x": lambda ct, x, axes, keepdims: broadcast_like(
            restore_axes(cast_like(ct, x), x, axes, keepdims), x
        )
    },
    label="sum_{x} total",
    batch="axes",
)


def _expand_type(types: Sequence[Type], *, axes: Sequence[int]) -> Type:
    (x,) = types
    assert isinstance(x, ArrayType)
    if x.shape is None:
        return x
    rank = len(x.shape) + len(axes)
    places = {axis % rank for axis in axes}
    dims = iter(x.shape)
    return ArrayType(x.dtype, tuple(1 if i in places else next(dims) for i in range(rank)))


def _expand_numpy(types: Sequence[Type], *, axes: Sequence[int]) -> str:
    """Returns the text ``x[:, None]``, or a call of ``np.expand_dims`` where the rank is
    unknown."""
    shape = shape_of_type(types[0])
    if shape is None:
        return "np.expand_dims({x}, " + (str(axes[0]) if len(axes) == 1 else "{axes}") + ")"
    rank = len(shape) + len(axes)
    places = {axis % rank for axis in axes}
    marks = ["None" if axis in places else ":" for axis in range(rank)]
    while marks[-1] == ":":
        marks.pop()
    if places == {rank - 1} and rank > 2:
        marks = ["...", "None"]
    return f"{{x}}[{', '.join(marks)}]"


expand_dims = linear(
    "expand_dims",
    "x with new axes of length one; axes count in the result.",
    numpy=_expand_numpy,
    result=_expand_type,
    adjoint={"x": lambda ct, x: reshape_like(ct, x)},
    label="{x}_expanded",
    views=("x",),
    batch="axes",
)

expand_dims_where = linear(
    "expand_dims_where",
    "x with new axes of length one if an array of the given run-time shape has that rank "
    "(None: any rank but 0); otherwise x. The rank of that array is known only at run time.",
    operands=("x", "shape"),
    views=("x",),
    label="{x}_expanded",
    numpy=lambda types, *, axes, rank: (
        f"np.expand_dims({{x}}, {{axes}} * (len({{shape}}) "
        f"{'> 0' if rank is None else f'== {rank}'}))"
    ),
    result=lambda types, *, axes, rank: ArrayType(types[0].dtype, None),
    adjoint={"x": lambda ct, x: reshape_like(ct, x)},
)


def _transpose_type(types: Sequence[Type], *, perm: Sequence[int]) -> Type:
    (x,) = types
    assert isinstance(x, ArrayType)
    if x.shape is None:
        return x
    if sorted(axis % max(len(x.shape), 1) for axis in perm) != list(range(len(x.shape))):
        raise ShapeError(
            f"{tuple(perm)} is not a permutation of the {len(x.shape)} axes of {x}",
            "list every axis exactly once",
        )
    return ArrayType(x.dtype, tuple(x.shape[axis] for axis in perm))


def inverse(perm: Sequence[int]) -> tuple[int, ...]:
    """Returns the permutation that undoes ``perm``."""
    return tuple(np.argsort([axis % len(perm) for axis in perm]).tolist())


def _transpose_numpy(types: Sequence[Type], *, perm: Sequence[int]) -> str:
    if tuple(perm) == tuple(reversed(range(len(perm)))):
        return "{x}.T"
    return f"{{x}}.transpose({', '.join(map(str, perm))})"


transpose: OpDef = linear(
    "transpose",
    "x with its axes permuted.",
    numpy=_transpose_numpy,
    result=_transpose_type,
    adjoint={"x": lambda ct, perm: transpose(ct, perm=inverse(perm))},
    label="{x}_t transposed",
    views=("x",),
    batch=lambda x, perm: transpose(x, perm=(0, *(1 + axis % len(perm) for axis in perm))),
)

swap_last_axes: OpDef = linear(
    "swap_last_axes",
    "x with its last two axes exchanged, for any rank.",
    numpy=lambda types: "{x}.T" if types[0].ndim == 2 else "{x}.swapaxes(-1, -2)",
    result=lambda types: (
        types[0]
        if types[0].shape is None
        else ArrayType(types[0].dtype, (*types[0].shape[:-2], *types[0].shape[:-3:-1]))
    ),
    adjoint={"x": lambda ct: swap_last_axes(ct)},
    label="{x}_t transposed",
    views=("x",),
    batch="trailing",
)

copy = linear(
    "copy",
    "A copy of x.",
    numpy="{x}.copy()",
    result=same_type,
    adjoint={"x": lambda ct: ct},
    label="{x}",
    batch="trailing",
)


def _full_numpy(types: Sequence[Type], *, shape: Shape, dtype: str | None, value: Any) -> str:
    size, number = shape_text(types, shape, fixed=0), number_text(value)
    if shape == () and not types:
        return f"np.{dtype}({number})"
    kind = "" if dtype is None else f", np.{dtype}"
    if shape == (1,) and kind and value:
        return f"np.array([{number}]{kind})"  # np.ones takes twice as long
    if value in (0, 1):
        return f"np.{'ones' if value else 'zeros'}({size}{kind})"
    return f"np.full({size}, {number}{kind})"


full = zero_gradient(
    "full",
    "An array with equal elements. The shape is an attribute, or an operand if it is unknown.",
    operands=("*rest",),
    numpy=_full_numpy,
    result=lambda types, *, shape, dtype, value: ArrayType(
        dtype, None if shape is None else tuple(shape)
    ),
    label="filled",
)

full_like = zero_gradient(
    "full_like",
    "An array with equal elements, of the shape and dtype of x.",
    numpy=lambda types, *, value: {0: "np.zeros_like({x})", 1: "np.ones_like({x})"}.get(
        value, f"np.full_like({{x}}, {number_text(value)})"
    ),
    result=lambda types, *, value: ArrayType(
        types[0].dtype if isinstance(types[0], ArrayType) else "float64", shape_of_type(types[0])
    ),
    label="filled_like_{x} filled",
    batch="trailing",
)

unbroadcast_to = linear(
    "unbroadcast_to",
    "Sums x over the axes along which a value of the given run-time shape was broadcast; "
    "``known`` is the part of that shape that is known at compile time.",
    operands=("x", "shape"),
    numpy="unbroadcast({x}, {shape})",
    result=lambda types, *, known=None: ArrayType(types[0].dtype, known),
    adjoint={"x": lambda ct, x: broadcast_like(ct, x)},
    label="{x}_summed",
)


def unbroadcast(ct: Any, x: Value) -> Any:
    """Sums ``ct`` over the axes along which ``x`` was broadcast, and casts it to the dtype of
    ``x``.

    Decided at compile time wherever the shapes allow it.
    """
    if not isinstance(ct, Value):
        return ct
    have, want = shape_of_type(ct.type), shape_of_type(x.type)
    if have == want and want is not None and None not in want:
        return cast_like(ct, x)
    if want == ():
        with current().with_aside(_broadcast_note(x, ct)):
            return cast_like(sum_(ct, axes=None, keepdims=False), x)
    if have is None or want is None:
        return _unbroadcast_at_run_time(ct, x)
    if len(have) < len(want):  # a value written to a place of lower rank has axes of length one
        return unbroadcast(expand_dims(ct, axes=tuple(range(len(want) - len(have)))), x)
    return _unbroadcast_known_rank(ct, x, have, want)


def _unbroadcast_at_run_time(ct: Value, x: Value) -> Value:
    return cast_like(unbroadcast_to(ct, shape_of(x), known=shape_of_type(x.type)), x)


def _unbroadcast_known_rank(
    ct: Value, x: Value, have: tuple[Dim, ...], want: tuple[Dim, ...]
) -> Value:
    """Sums ``ct`` of shape ``have`` over the axes along which ``x`` of shape ``want`` was
    broadcast: the leading ones, and those of size 1."""
    lead = len(have) - len(want)
    pairs = list(zip(have[lead:], want))
    if any(new is None and old != 1 for old, new in pairs):
        return _unbroadcast_at_run_time(ct, x)
    ones = [lead + axis for axis, (old, new) in enumerate(pairs) if new == 1 and old != 1]
    if not lead and not ones:
        return cast_like(ct, x)
    with current().with_aside(_broadcast_note(x, ct)):
        summed = sum_(ct, axes=(*range(lead), *ones), keepdims=not lead)
        return cast_like(reshape_like(summed, x) if lead and ones else summed, x)


def _broadcast_note(x: Value, ct: Value) -> str:
    """Returns the note on the cotangent of a broadcast value, or "" for a value without a user's
    name."""
    if not (x.name and x.has_user_name and isinstance(x.type, ArrayType)):
        return ""
    return f"{x.name} was broadcast {x.type} -> {ArrayType(x.type.dtype, shape_of_type(ct.type))}"


def zeros_like(x: Any) -> Any:
    """Returns the zero cotangent of an array or number."""
    return _filled_like(x, 0)


def ones_like(x: Any) -> Any:
    """Returns the default sensitivity of an array or number."""
    return _filled_like(x, 1)


def _filled_like(x: Any, value: int) -> Any:
    if not isinstance(x, Value) or not isinstance(x.type, ArrayType):
        return float(value)
    if x.type.is_static:
        return full(shape=x.type.shape, dtype=x.type.dtype, value=value)
    return full_like(x, value=value)
