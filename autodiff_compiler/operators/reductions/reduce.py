"""Reductions: functions that remove axes.

``axes`` is a sorted tuple of axes from the front, or None for all of them. A tie of ``max`` and
``min`` is shared evenly, or goes to the first winner (``first=True``, for one axis).
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.ir.labels import named
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType, Type, is_floating
from autodiff_compiler.operators.core.declare import (
    expect_array_type,
    linear,
    method_text,
    normal_axes,
    shape_of_type,
    static_sizes,
    zero_gradient,
)
from autodiff_compiler.operators.core.structure import (
    axis_text,
    broadcast_like,
    cast_like,
    reduced_shape,
    restore_axes,
    shape_argument,
    sum_,
    wide_dtype,
    widened,
)
from autodiff_compiler.operators.elementwise.arithmetic import (
    exp,
    log,
    not_zero,
    sqrt,
    square,
    stop_gradient,
    where,
)
from autodiff_compiler.operators.elementwise.comparisons import equal, isfinite
from autodiff_compiler.operators.indexing.concat_and_pad import size_along, squeeze
from autodiff_compiler.operators.reductions.axis_functions import (
    as_before,
    float_casts,
    in_single,
    put_along,
    take_along,
)
from autodiff_compiler.operators.reductions.unit_vector import unit


def _result(dtype: Callable[[Any], str | None]) -> Callable[..., Type]:
    """Returns a type rule: the reduced shape, and a dtype from the operand's."""

    def rule(types: Sequence[Type], *, axes: Any, keepdims: bool = False, **attrs: Any) -> Type:
        (x,) = types
        shape = shape_of_type(x)
        normal_axes(axes, None if shape is None else len(shape))
        result_dtype = dtype(x.dtype) if isinstance(x, ArrayType) else dtype("float64")
        return ArrayType(result_dtype, reduced_shape(shape, axes, keepdims))

    return rule


def _unchanged(dtype: str | None) -> str | None:
    return dtype


def _ordered(dtype: str | None) -> str | None:
    if dtype is not None and "complex" in dtype:
        raise DTypeError("complex numbers have no order")
    return dtype


def _call(function: str) -> Callable[..., str]:
    """Returns the text of a call of a NumPy reduction."""

    def text(types: Sequence[Type], *, axes: Any, keepdims: bool, **attrs: Any) -> str:
        return method_text(types, function, axis_text(axes, keepdims))

    return text


def _mean_numpy(types: Sequence[Type], *, axes: Any, keepdims: bool) -> str:
    """Returns the text of a mean: a sum and a quotient where the size is known.

    ``np.mean`` takes as long as five of these.
    """
    (x,) = types
    text = method_text(types, "mean", axis_text(axes, keepdims))
    shape = shape_of_type(x)
    if shape and expect_array_type(x).dtype in ("float32", "float64"):
        over = range(len(shape)) if axes is None else axes
        sizes = static_sizes(tuple(shape[axis] for axis in over))
        if sizes is not None and 0 not in sizes:
            total = method_text(types, "sum", axis_text(axes, keepdims))
            return f"{total} / {math.prod(sizes)}"
    return text if is_floating(x) else f"{text}.astype(np.{expect_array_type(x).dtype})"


def _mean_back(ct: Any, x: Any, axes: Any, keepdims: bool) -> Any:
    contribution = restore_axes(ct / size_along(x, axes), x, axes, keepdims)
    return broadcast_like(cast_like(contribution, x), x)


def _no_bool(dtype: str | None) -> str | None:
    if dtype == "bool":
        raise DTypeError("bools have no mean", "cast them to a float first: x.astype(float)")
    return dtype


mean = linear(
    "mean",
    "The mean over axes. The mean of integers is cut to an integer. d_x = ct / count.",
    numpy=_mean_numpy,
    result=_result(_no_bool),
    adjoint={"x": _mean_back},
    label="mean_{x}",
    batch="axes",
)


def _argument_type(types: Sequence[Type], *, axis: int | None, keepdims: bool) -> Type:
    (x,) = types
    shape = shape_of_type(x)
    axes = normal_axes(axis, None if shape is None else len(shape))
    return ArrayType("int64", reduced_shape(shape, axes, keepdims))


def _argument(name: str, doc: str) -> OpDef:
    return zero_gradient(
        name,
        doc,
        numpy=lambda types, *, axis, keepdims: method_text(
            types, name, axis_text(None if axis is None else (axis,), keepdims)
        ),
        result=_argument_type,
        label=f"{name}_{{x}}",
        batch="axes",
    )


argmax = _argument("argmax", "The int64 position of the first largest element along an axis.")
argmin = _argument("argmin", "The int64 position of the first smallest element along an axis.")


def _extreme(name: str, doc: str, position_of: OpDef) -> OpDef:
    """Declares ``max`` or ``min``; ``position_of`` computes the winner's position."""

    def split_among_winners(part: Any, x: Any, out: Any, axes: Any, keepdims: bool) -> Any:
        """Returns ``part`` divided by the number of winners where x wins, else 0."""
        winners = equal(x, restore_axes(out, x, axes, keepdims))
        count = sum_(winners, axes=axes, keepdims=keepdims or axes is not None)
        return where(winners, cast_like(part / count, part), 0.0)

    def back(ct: Any, x: Any, out: Any, axes: Any, keepdims: bool, first: bool) -> Any:
        ct = restore_axes(ct, x, axes, keepdims)
        if not first:
            return cast_like(split_among_winners(ct, x, out, axes, keepdims), x)
        shape, more = shape_argument(x)
        place = position_of(x, axis=axes[0], keepdims=True)
        return put_along(ct, place, *more, axis=axes[0], shape=shape)

    def forward(dot: Any, x: Any, out: Any, axes: Any, keepdims: bool, first: bool) -> Any:
        if not first:
            return sum_(
                split_among_winners(dot, x, out, axes, keepdims), axes=axes, keepdims=keepdims
            )
        taken = take_along(dot, position_of(x, axis=axes[0], keepdims=True), axis=axes[0])
        return taken if keepdims else squeeze(taken, axes=axes)

    return OpDef(
        name,
        doc,
        operands=("x",),
        numpy=_call(name),
        result=_result(_ordered),
        adjoint={"x": back},
        tangent={"x": forward},
        label=f"{name}_{{x}} {name}imum",
        batch="axes",
    )


max = _extreme("max", "The largest element over axes; NaN wins.", argmax)
min = _extreme("min", "The smallest element over axes; NaN wins.", argmin)


def _others(x: Any, out: Any, axes: Any, keepdims: bool) -> Any:
    """Returns the product of all elements but one, for each one: exact also where elements are
    zero."""
    zero = equal(x, 0.0)
    zeros = sum_(zero, axes=axes, keepdims=keepdims or axes is not None)
    filled = where(zero, 1.0, x)
    rest = prod(filled, axes=axes, keepdims=keepdims or axes is not None)
    alone = where(equal(zeros, 1), rest, 0.0)
    return where(zero, alone, restore_axes(out, x, axes, keepdims) / filled)


prod = OpDef(
    "prod",
    "The product over axes. d_x = ct * (product of the others), right also at zeros; the second "
    "derivative is right wherever at most one factor is zero.",
    operands=("x",),
    numpy=lambda types, *, axes, keepdims: method_text(
        types, "prod", axis_text(axes, keepdims) + widened(types)
    ),
    result=_result(wide_dtype),
    adjoint={
        "x": lambda ct, x, out, axes, keepdims: cast_like(
            restore_axes(ct, x, axes, keepdims) * _others(x, out, axes, keepdims), x
        )
    },
    tangent={
        "x": lambda dot, x, out, axes, keepdims: sum_(
            dot * _others(x, out, axes, keepdims), axes=axes, keepdims=keepdims
        )
    },
    label="prod_{x}",
    batch="axes",
)

all = zero_gradient(
    "all",
    "True if every element over axes is nonzero.",
    numpy=_call("all"),
    result=_result(lambda dtype: "bool"),
    label="all_{x} all_true",
    batch="axes",
)

any = zero_gradient(
    "any",
    "True if some element over axes is nonzero.",
    numpy=_call("any"),
    result=_result(lambda dtype: "bool"),
    label="any_{x} any_true",
    batch="axes",
)


def _spread_numpy(function: str) -> Callable[..., str]:
    def text(types: Sequence[Type], *, axes: Any, keepdims: bool, ddof: int) -> str:
        freedom = f", ddof={ddof}" if ddof else ""
        arguments = axis_text(axes, keepdims) + freedom
        return as_before(types, method_text(types, function, arguments, in_single(types)))

    return text


def _centred(x: Any, axes: Any) -> Any:
    return named("centered", x - named("mean", mean(x, axes=axes, keepdims=True)))


def _var_parts(x: Any, axes: Any, keepdims: bool, ddof: int) -> Any:
    if x.dtype_name not in ("float32", "float64"):
        return None  # float16 is computed in float32
    squares = square(_centred(x, axes))
    if ddof == 0:
        return mean(squares, axes=axes, keepdims=keepdims)
    return sum_(squares, axes=axes, keepdims=keepdims) / (size_along(x, axes) - ddof)


var = OpDef(
    "var",
    "The variance over axes, divided by count - ddof; integers are taken in float32. "
    "d_x = ct * 2 / (count - ddof) * (x - mean).",
    operands=("x",),
    numpy=_spread_numpy("var"),
    result=_result(_unchanged),
    promote=float_casts,
    adjoint={
        "x": lambda ct, x, axes, keepdims, ddof: (
            restore_axes(ct, x, axes, keepdims)
            * 2.0
            / (size_along(x, axes) - ddof)
            * _centred(x, axes)
        )
    },
    tangent={
        "x": lambda dot, x, axes, keepdims, ddof: (
            sum_(_centred(x, axes) * dot, axes=axes, keepdims=keepdims)
            * 2.0
            / (size_along(x, axes) - ddof)
        )
    },
    label="var_{x}",
    decompose=_var_parts,
    decompose_at="shared",
    batch="axes",
)


def _std_parts(x: Any, axes: Any, keepdims: bool, ddof: int) -> Any:
    squared = _var_parts(x, axes, keepdims, ddof)
    return None if squared is None else sqrt(squared)


std = OpDef(
    "std",
    "The square root of ``var``. d_x = ct / (out * (count - ddof)) * (x - mean), and 0 where all "
    "elements are equal.",
    operands=("x",),
    numpy=_spread_numpy("std"),
    result=_result(_unchanged),
    promote=float_casts,
    adjoint={
        "x": lambda ct, x, out, axes, keepdims, ddof: (
            restore_axes(ct / (not_zero(out) * (size_along(x, axes) - ddof)), x, axes, keepdims)
            * _centred(x, axes)
        )
    },
    tangent={
        "x": lambda dot, x, out, axes, keepdims, ddof: (
            sum_(_centred(x, axes) * dot, axes=axes, keepdims=keepdims)
            / (not_zero(out) * (size_along(x, axes) - ddof))
        )
    },
    label="std_{x}",
    decompose=_std_parts,
    decompose_at="shared",
    batch="axes",
)


def _logsumexp_numpy(types: Sequence[Type], *, axes: Any, keepdims: bool) -> str:
    with_axes = axis_text(axes, keepdims or axes is not None)
    total = method_text(types, "sum", with_axes, f"np.exp({in_single(types)} - {{out}})")
    total = f"{{out}} + np.log({total})"
    if axes is not None and not keepdims:
        total = f"({total}).squeeze({axis_text(axes)[2:]})"
    total = as_before(types, total)
    shift = "{out} = np.where(np.isfinite({out}), {out}, 0.0)"  # inf - inf is NaN
    return f"{{out}} = {method_text(types, 'max', with_axes)}\n{shift}\n{{out}} = {total}"


def _logsumexp_parts(x: Any, axes: Any, keepdims: bool) -> Any:
    if x.dtype_name not in ("float32", "float64"):
        return None  # float16 is computed in float32
    keeps = keepdims or axes is not None
    largest = stop_gradient(max(x, axes=axes, keepdims=keeps, first=False))
    largest = where(isfinite(largest), largest, 0.0)
    result = log(sum_(exp(x - largest), axes=axes, keepdims=keeps)) + largest
    return squeeze(result, axes=axes) if keeps and not keepdims else result


def _softmax_weights(x: Any, out: Any, axes: Any, keepdims: bool) -> Any:
    """Returns exp(x) / sum(exp(x)), with x shifted by ``out``. The quotient cancels rounding of
    ``out``."""
    parts = exp(x - restore_axes(stop_gradient(out), x, axes, keepdims))
    return parts / sum_(parts, axes=axes, keepdims=axes is not None)


logsumexp = OpDef(
    "logsumexp",
    "log(sum(exp(x))) over axes, shifted by the largest element so that nothing overflows. "
    "d_x = ct * exp(x) / sum(exp(x)).",
    operands=("x",),
    numpy=_logsumexp_numpy,
    result=_result(_unchanged),
    promote=float_casts,
    adjoint={
        "x": lambda ct, x, out, axes, keepdims: (
            restore_axes(ct, x, axes, keepdims) * _softmax_weights(x, out, axes, keepdims)
        )
    },
    tangent={
        "x": lambda dot, x, out, axes, keepdims: sum_(
            dot * _softmax_weights(x, out, axes, keepdims), axes=axes, keepdims=keepdims
        )
    },
    label="logsumexp_{x}",
    decompose=_logsumexp_parts,
    decompose_at="first",
    batch="axes",
)


def _norm_numpy(types: Sequence[Type], *, axes: Any, keepdims: bool) -> str:
    text = f"np.linalg.norm({in_single(types)}{axis_text(axes, keepdims)})"
    if axes is not None and len(axes) > 2:
        text = f"np.sqrt(np.sum(np.square({in_single(types)}){axis_text(axes, keepdims)}))"
    return as_before(types, text)


def _direction(x: Any, out: Any, axes: Any, keepdims: bool) -> Any:
    """Returns x / out, and 0 where x is 0."""
    if getattr(x, "dtype_name", None) is None:
        return x / restore_axes(not_zero(out), x, axes, keepdims)
    return unit(x, restore_axes(out, x, axes, keepdims), axes=axes)


def _norm_parts(x: Any, axes: Any, keepdims: bool) -> Any:
    if x.dtype_name not in ("float32", "float64"):
        return None  # float16 is computed in float32
    return sqrt(sum_(square(x), axes=axes, keepdims=keepdims))


norm = OpDef(
    "norm",
    "sqrt(sum(x²)) over axes; the slope at 0 is 0. d_x = ct * x / out.",
    operands=("x",),
    numpy=_norm_numpy,
    result=_result(_unchanged),
    promote=float_casts,
    adjoint={
        "x": lambda ct, x, out, axes, keepdims: (
            restore_axes(ct, x, axes, keepdims) * _direction(x, out, axes, keepdims)
        )
    },
    tangent={
        "x": lambda dot, x, out, axes, keepdims: sum_(
            dot * _direction(x, out, axes, keepdims), axes=axes, keepdims=keepdims
        )
    },
    label="norm_{x}",
    decompose=_norm_parts,
    decompose_at="shared",
    batch="axes",
)
