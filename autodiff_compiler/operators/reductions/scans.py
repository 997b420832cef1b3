"""Running products, extremes and sums of exponentials along an axis, and the middle element.

Positions are ints and carry no gradient: the values are what ``take_along`` finds there.
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType, Type
from autodiff_compiler.operators.core.declare import normal_axes, shape_of_type, zero_gradient
from autodiff_compiler.operators.core.structure import (
    cast_like,
    reduced_shape,
    wide_dtype,
    widened,
    with_rank_of,
)
from autodiff_compiler.operators.elementwise.arithmetic import exp, log, where
from autodiff_compiler.operators.elementwise.comparisons import equal, logical_and
from autodiff_compiler.operators.indexing.concat_and_pad import flip
from autodiff_compiler.operators.reductions.axis_functions import cumsum, float_casts


def _from_end(x: Any, axis: int) -> Any:
    """Returns running sums from the last element back: the adjoint of ``cumsum``."""
    return flip(cumsum(flip(x, axes=(axis,)), axis=axis), axes=(axis,))


def _along(dtype: Callable[[str | None], str | None]) -> Callable[..., Type]:
    """Returns a type rule: the shape of x, and a dtype from that of x."""

    def rule(types: Sequence[Type], *, axis: int) -> Type:
        shape = shape_of_type(types[0])
        normal_axes(axis, None if shape is None else len(shape))
        return ArrayType(dtype(getattr(types[0], "dtype", "float64")), shape)

    return rule


def _without_first_zero(x: Any, axis: int) -> tuple[Any, Any]:
    """Returns where the first zero along the axis is, and x with a one in its place.

    Behind the first zero every product is zero, so that no derivative is left there but its own.
    """
    zero = equal(x, 0.0)
    first = logical_and(zero, equal(cumsum(zero, axis=axis), 1))
    return first, where(first, 1.0, x)


def _cumprod_back(ct: Any, x: Any, out: Any, axis: int) -> Any:
    first, filled = _without_first_zero(x, axis)
    without = _from_end(ct * cumprod(filled, axis=axis), axis)
    contribution = _from_end(ct * out, axis) / where(equal(filled, 0.0), 1.0, filled)
    return with_rank_of(cast_like(where(first, without, contribution), x), x)


def _cumprod_forward(dot: Any, x: Any, out: Any, axis: int) -> Any:
    first, filled = _without_first_zero(x, axis)
    without = cumprod(filled, axis=axis) * cumsum(where(first, dot, 0.0), axis=axis)
    contributions = where(first, 0.0, dot) / where(equal(filled, 0.0), 1.0, filled)
    return out * cumsum(contributions, axis=axis) + without


cumprod: OpDef = OpDef(
    "cumprod",
    "Cumulative products along an axis; integers and bools in 64 bits. d_x is the cumulative "
    "sum of ct * out from the end, divided by x; it is correct at zeros, too.",
    operands=("x",),
    numpy=lambda types, *, axis: f"np.cumprod({{x}}, axis={axis}{widened(types)})",
    result=_along(wide_dtype),
    adjoint={"x": _cumprod_back},
    tangent={"x": _cumprod_forward},
    label="cumprod_{x}",
    batch="axes",
)


def _each_sign(ct: Any, sums: Callable[[Any], Any]) -> Any:
    """Returns ``exp(sums(log(ct)))`` for a ct of any sign: of its positive part less its negative
    part."""

    def part(ct: Any) -> Any:
        none = ct <= 0.0
        return exp(sums(where(none, -math.inf, log(where(none, 1.0, ct)))))

    return part(ct) - part(-ct)


def _logcumsumexp_back(ct: Any, x: Any, out: Any, axis: int) -> Any:
    scale = where(equal(out, -math.inf), 0.0, out)  # before the first finite element

    def sums(logs: Any) -> Any:
        behind = flip(logcumsumexp(flip(logs - scale, axes=(axis,)), axis=axis), axes=(axis,))
        return x + behind

    return _each_sign(ct, sums)


logcumsumexp: OpDef = OpDef(
    "logcumsumexp",
    "log(cumsum(exp(x))) along an axis, stable. d_x = exp(x) * the cumulative sum of ct * "
    "exp(-out) from the end; its positive and its negative terms are added as logarithms.",
    operands=("x",),
    numpy="np.logaddexp.accumulate({x}, axis={axis})",
    result=_along(lambda dtype: dtype),
    promote=float_casts,
    adjoint={"x": _logcumsumexp_back},
    tangent={"x": lambda dot, x, out, axis: _logcumsumexp_forward(dot, x, out, axis)},
    label="logcumsumexp_{x}",
    batch="axes",
)


def _logcumsumexp_forward(dot: Any, x: Any, out: Any, axis: int) -> Any:
    scale = where(equal(out, -math.inf), 0.0, out)
    return _each_sign(dot, lambda logs: logcumsumexp(x + logs, axis=axis) - scale)


def _ordered(dtype: str | None) -> str | None:
    if dtype is not None and "complex" in dtype:
        raise DTypeError("complex numbers have no order")
    return "int64"


def _running_place(name: str, doc: str, function: str) -> OpDef:
    def text(types: Sequence[Type], *, axis: int) -> str:
        behind = -axis - 1
        if axis >= 0:
            shape = shape_of_type(types[0])
            behind = 0 if shape is None else len(shape) - axis - 1
        count = f"np.arange({{x}}.shape[{axis}])"
        places = f"{count}.reshape(-1{', 1' * behind})" if behind else count
        return (
            f"{{out}} = {{x}} == np.{function}.accumulate({{x}}, axis={axis})\n"
            f"{{out}} = np.maximum.accumulate(np.where({{out}}, {places}, 0), axis={axis})"
        )

    return zero_gradient(name, doc, numpy=text, result=_along(_ordered), label=f"{name}_{{x}}")


running_argmax = _running_place(
    "running_argmax", "The position of the largest element so far, the last of equals.", "maximum"
)
running_argmin = _running_place(
    "running_argmin", "The position of the smallest element so far, the last of equals.", "minimum"
)


def _middle_type(types: Sequence[Type], *, axis: int) -> Type:
    shape = shape_of_type(types[0])
    axes = normal_axes(axis, None if shape is None else len(shape))
    return ArrayType(_ordered(getattr(types[0], "dtype", None)), reduced_shape(shape, axes, True))


argmedian = zero_gradient(
    "argmedian",
    "The int64 position of the median along an axis, which stays with length one. For an even "
    "count it is the lower median; of equal elements the first one.",
    numpy="np.argsort({x}, axis={axis}, kind='stable')"
    ".take([({x}.shape[{axis}] - 1) // 2], axis={axis})",
    result=_middle_type,
    label="median_place_{x} median_place",
    batch="axes",
)
