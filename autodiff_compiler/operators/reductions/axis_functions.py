"""Functions along one axis, which keep it: gather, running sums, softmax."""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from typing import Any

from autodiff_compiler.ir.labels import named
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.ir.types import ArrayType, Shape, Type, is_floating
from autodiff_compiler.operators.core.declare import linear, method_text, normal_axes, shape_of_type
from autodiff_compiler.operators.core.structure import (
    axis_text,
    cast_like,
    shape_argument,
    sum_,
    wide_dtype,
    widened,
    with_rank_of,
)
from autodiff_compiler.operators.elementwise.arithmetic import exp, log, stop_gradient
from autodiff_compiler.operators.indexing.concat_and_pad import flip
from autodiff_compiler.operators.indexing.indexing import zeros_text
from autodiff_compiler.operators.indexing.scatter_text import added_along


def float_casts(types: Sequence[Type], **attrs: Any) -> Sequence[str | None]:
    """Returns the casts of integers and bools to float32."""
    (x,) = types
    known = isinstance(x, ArrayType) and x.dtype is not None
    return ["float32" if known and not is_floating(x) else None]


def _place(i: Type, shape: Shape, axis: int) -> str | None:
    """Returns the index that ``{i}`` along an axis of an array of this shape stands for, if sizes
    are known; NumPy's functions for it are slow.

    >>> _place(ArrayType("int64", (5, 1)), (5, 3), 1)
    'np.arange(5)[:, None], {i}'
    """
    sizes = shape_of_type(i)
    if sizes is None or shape is None or len(sizes) != len(shape) or None in (*sizes, *shape):
        return None
    rank = len(shape)
    counts = [dim if isinstance(dim, int) else f"{{i}}.shape[{n}]" for n, dim in enumerate(sizes)]
    parts = (
        [f"np.arange({count}){_UPRIGHT[rank - place]}" for place, count in enumerate(counts)]
        if rank < len(_UPRIGHT)
        else []
    )
    axis %= rank
    other_axes = [*range(axis), *range(axis + 1, rank)]
    if not parts or any(sizes[place] != shape[place] for place in other_axes):
        return None
    return ", ".join("{i}" if place == axis else part for place, part in enumerate(parts))


#: The subscripts that move a row of numbers before 0, 1, 2 … further axes.
_UPRIGHT = ("", "", "[:, None]", "[:, None, None]", "[:, None, None, None]")


def _take_along_numpy(types: Sequence[Type], *, axis: int) -> str:
    place = _place(types[1], shape_of_type(types[0]), axis)
    return f"np.take_along_axis({{x}}, {{i}}, {axis})" if place is None else f"{{x}}[{place}]"


take_along = linear(
    "take_along",
    "The elements of x at the positions i along an axis.",
    operands=("x", "i"),
    numpy=_take_along_numpy,
    result=lambda types, *, axis: ArrayType(types[0].dtype, types[1].shape),
    adjoint={"x": lambda ct, x, i, axis: _put_back(ct, x, i, axis), "i": lambda: None},
    label="{x}_taken",
    batch="axes",
)


def _put_back(ct: Value, x: Value, i: Value, axis: int) -> Value:
    shape, more = shape_argument(x)
    return put_along(ct, i, *more, axis=axis, shape=shape)


def _put_along_numpy(types: Sequence[Type], *, axis: int, shape: Shape) -> str:
    zeros, sizes = zeros_text(types, shape, 2), shape_of_type(types[1])
    if sizes is not None and len(sizes) > 1 and sizes[axis] == 1:  # no position occurs twice
        place = _place(types[1], shape, axis)
        if place is None:
            return f"{zeros}\nnp.put_along_axis({{out}}, {{i}}, {{v}}, {axis})"
        return f"{zeros}\n{{out}}[{place}] = {{v}}"
    numbers = added_along(types[1], shape, axis) if _place(types[1], shape, axis) else None
    return f"{zeros}\n{numbers or _added_text(types[1], shape, axis)}"


def _added_text(i: Type, shape: Shape, axis: int) -> str:
    """Returns the text that adds v to ``{out}``, of this shape, where i points."""
    place, sizes = _place(i, shape, axis), shape_of_type(i)
    if place is None:
        grid = "np.indices({i}.shape, sparse=True)"
        before = f"*{grid}[:{axis}], " if axis else ""
        last = axis == -1 or sizes is not None and axis + 1 == len(sizes)
        after = "" if last else f", *{grid}[{axis + 1}:]"
        place = f"{before}{{i}}{after}"
    index = place if sizes is not None and len(sizes) == 1 else f"({place})"
    return f"np.add.at({{out}}, {index}, {{v}})"


put_along = linear(
    "put_along",
    "Zeros with v added at the positions i along an axis: the adjoint of take_along.",
    operands=("v", "i", "*rest"),
    numpy=_put_along_numpy,
    result=lambda types, *, axis, shape: ArrayType(types[0].dtype, shape),
    adjoint={"v": lambda ct, i, axis: take_along(ct, i, axis=axis), "i": lambda: None},
    label="{v}_put",
)


def points_once(acc: Type, i: Type, axis: int) -> bool:
    """True if i has one position along an axis of ``acc``, so that a short text exists."""
    sizes, place = shape_of_type(i), _place(i, shape_of_type(acc), axis)
    return place is not None and sizes is not None and sizes[axis] == 1


def _add_along_numpy(types: Sequence[Type], *, axis: int, in_place: bool = False) -> str:
    head, shape = "" if in_place else "{out} = {acc}.copy()\n", shape_of_type(types[0])
    if points_once(types[0], types[2], axis):
        return f"{head}{{out}}[{_place(types[2], shape, axis)}] += {{v}}"
    return head + _added_text(types[2], shape, axis)


add_along = OpDef(
    "add_along",
    "acc with v added at the positions i along an axis.",
    operands=("acc", "v", "i"),
    numpy=_add_along_numpy,
    result=lambda types, *, axis, in_place=False: types[0],
    adjoint={
        "acc": lambda ct: ct,
        "v": lambda ct, i, axis: take_along(ct, i, axis=axis),
        "i": lambda: None,
    },
    tangent={
        "acc": lambda dot: dot,
        "v": lambda dot, acc, i, axis: _put_back(dot, acc, i, axis),
    },
    linear_in=("acc", "v"),
    label="{acc}",
    writes=True,
)


def _along(types: Sequence[Type], *, axis: int) -> Type:
    """Returns the type of a function along one axis: that of x."""
    (x,) = types
    shape = shape_of_type(x)
    normal_axes(axis, None if shape is None else len(shape))
    return x


def in_single(types: Sequence[Type], operand: str = "{x}") -> str:
    """Returns the text of an operand whose exponentials are summed: float16 is widened to
    float32."""
    return f"{operand}.astype(np.float32)" if _is_half(types) else operand


def as_before(types: Sequence[Type], text: str) -> str:
    """Returns ``text``, which reads ``in_single``, cast back to the dtype of the operand."""
    return f"({text}).astype(np.float16)" if _is_half(types) else text


def _is_half(types: Sequence[Type]) -> bool:
    return isinstance(types[0], ArrayType) and types[0].dtype == "float16"


def _softmax_numpy(types: Sequence[Type], *, axis: int) -> str:
    with_axis = axis_text((axis,), True)
    total, largest = (
        method_text(types, *call) for call in (("sum", with_axis, "{out}"), ("max", with_axis))
    )
    last = as_before(types, f"{{out}} / {total}")
    return f"{{out}} = np.exp({in_single(types)} - {largest})\n{{out}} = {last}"


def _log_softmax_numpy(types: Sequence[Type], *, axis: int) -> str:
    with_axis = axis_text((axis,), True)
    total = method_text(types, "sum", with_axis, "np.exp({out})")
    last = as_before(types, f"{{out}} - np.log({total})")
    largest = method_text(types, "max", with_axis)
    return f"{{out}} = {in_single(types)} - {largest}\n{{out}} = {last}"


def _softmax_parts(x: Any, axis: int) -> Any:
    if x.dtype_name not in ("float32", "float64"):
        return None  # float16 is computed in float32
    shifted = named("shifted", x - OPERATORS["max"](x, axes=(axis,), keepdims=True, first=False))
    powers = named("powers", exp(shifted))
    return powers / sum_(powers, axes=(axis,), keepdims=True)


def _log_softmax_parts(x: Any, axis: int) -> Any:
    if x.dtype_name not in ("float32", "float64"):
        return None
    largest = OPERATORS["max"](x, axes=(axis,), keepdims=True, first=False)
    shifted = named("shifted", x - stop_gradient(largest))
    return shifted - log(sum_(exp(shifted), axes=(axis,), keepdims=True))


def _softmax_back(ct: Any, out: Any, axis: int) -> Any:
    return out * (ct - sum_(ct * out, axes=(axis,), keepdims=True))


softmax = OpDef(
    "softmax",
    "exp(x) / sum(exp(x)) along an axis, stable. d_x = out * (ct - sum(ct * out)).",
    operands=("x",),
    numpy=_softmax_numpy,
    result=_along,
    promote=float_casts,
    adjoint={"x": _softmax_back},
    tangent={"x": lambda dot, out, axis: _softmax_back(dot, out, axis)},
    label="softmax_{x}",
    decompose=_softmax_parts,
    decompose_at="shared",
    batch="axes",
)

log_softmax = OpDef(
    "log_softmax",
    "log(softmax(x)) along an axis, stable. d_x = ct - exp(out) * sum(ct).",
    operands=("x",),
    numpy=_log_softmax_numpy,
    result=_along,
    promote=float_casts,
    adjoint={"x": lambda ct, out, axis: ct - exp(out) * sum_(ct, axes=(axis,), keepdims=True)},
    tangent={"x": lambda dot, out, axis: dot - sum_(exp(out) * dot, axes=(axis,), keepdims=True)},
    label="log_softmax_{x}",
    decompose=_log_softmax_parts,
    decompose_at="first",
    batch="axes",
)


def _cumsum_type(types: Sequence[Type], *, axis: int) -> Type:
    x = _along(types, axis=axis)
    return ArrayType(wide_dtype(x.dtype), x.shape) if isinstance(x, ArrayType) else x


cumsum: OpDef = linear(
    "cumsum",
    "Cumulative sums along an axis; integers and bools in 64 bits.",
    numpy=lambda types, *, axis: method_text(types, "cumsum", f", axis={axis}{widened(types)}"),
    result=_cumsum_type,
    adjoint={
        "x": lambda ct, x, axis: with_rank_of(
            cast_like(flip(cumsum(flip(ct, axes=(axis,)), axis=axis), axes=(axis,)), x), x
        )
    },
    label="cumsum_{x}",
    batch="axes",
)
