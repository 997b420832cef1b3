"""Finite differences, gradients by them, and integration by the trapezoidal rule."""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ir.types import PROMOTION
from autodiff_compiler.numpy.reductions import sum
from autodiff_compiler.operators.core import declare, structure
from autodiff_compiler.ops.core.shape_queries import dtype_of, known_rank, rank_of
from autodiff_compiler.ops.functions.gather_scatter import along_axis, item_at


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Returns the n-th differences of neighbours."""
    rank = known_rank(a, "diff")
    (axis,) = declare.normal_axes(axis, rank) or (axis,)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if n == 0:
        return a
    sizes = ops.shape(a)
    ends: tuple[Any, ...] = (prepend, append)
    if PROMOTION.numpy:
        shape = tuple(1 if k == axis else sizes[k] for k in range(rank))
        ends = tuple(
            ops.broadcast_to(end, shape) if end is not None and rank_of(end) == 0 else end
            for end in ends
        )
    if any(dtype_of(part) != "bool" for part in (a, *ends) if part is not None):
        return ops.diff(a, n, axis, *ends)
    a = ops.concat([part for part in (ends[0], a, ends[1]) if part is not None], axis)
    for _ in range(n):
        later = item_at(a, along_axis(axis, slice(1, None)))
        a = ops.not_equal(later, item_at(a, along_axis(axis, slice(None, -1))))
    return a


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Returns derivatives by central differences inside, and by one-sided ones at the ends.

    A spacing is a number, or the coordinates along its axis.
    """
    rank = known_rank(f, "gradient")
    axes = range(rank) if axis is None else declare.normal_axes(axis, rank) or ()
    if isinstance(axis, (tuple, list)):
        axes = tuple(one % rank for one in axis)  # in the order that is asked for
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    steps = varargs or (1.0,)
    if len(steps) == 1 and rank_of(steps[0]) == 0:
        steps *= len(axes)
    if len(steps) != len(axes):
        raise TypeError("invalid number of arguments")
    dtype_in = dtype_of(f)
    if dtype_in is not None and dtype_in.startswith(("int", "uint", "bool")):
        f, dtype_in = structure.cast(f, dtype="float64"), "float64"
    slopes = [_slope(f, place, step, edge_order) for place, step in zip(axes, steps, strict=True)]
    slopes = [
        one if dtype_in in (None, dtype_of(one)) else structure.cast(one, dtype=dtype_in)
        for one in slopes
    ]
    if len(slopes) == 1:
        return slopes[0]
    return tuple(slopes) if PROMOTION.numpy else slopes


def _slope(f: Any, axis: int, step: Any, edge_order: int) -> Any:
    row = ops.moveaxis(f, axis, 0)
    steps = ops.diff(row, 1, 0)
    before, after = item_at(steps, slice(None, -1)), item_at(steps, slice(1, None))
    if rank_of(step) == 0:
        quotients = step
        inside = (after + before) / 2.0 / step
    else:
        if rank_of(step) != 1:
            raise ValueError("distances must be either scalars or 1d")
        widths = ops.diff(step, 1, 0)
        widths = ops.reshape(widths, (-1, *(1,) * (known_rank(f, "gradient") - 1)))
        left, right = item_at(widths, slice(None, -1)), item_at(widths, slice(1, None))
        inside = (before / left * right + after / right * left) / (left + right)
        quotients = widths
    slopes = steps / quotients
    first, last = item_at(slopes, slice(0, 1)), item_at(slopes, slice(-1, None))
    if edge_order == 2:
        first, last = _second_order(slopes, None if quotients is step else quotients)
    return ops.moveaxis(ops.concat((first, inside, last)), 0, axis)


def _second_order(slopes: Any, widths: Any) -> Sequence[Any]:
    """Returns the slopes of the parabolas through the first three points and the last three."""
    ends = []
    for outer, inner in ((slice(0, 1), slice(1, 2)), (slice(-1, None), slice(-2, -1))):
        near, far = item_at(slopes, outer), item_at(slopes, inner)
        if widths is None:
            ends.append((3.0 * near - far) / 2.0)
        else:
            wide, next_ = item_at(widths, outer), item_at(widths, inner)
            ends.append(near + (near - far) * (wide / (wide + next_)))
    return ends


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Tensor:
    """Integrates by the trapezoidal rule."""
    row = ops.moveaxis(y, axis, -1)
    if x is None:
        width = dx
    else:
        width = ops.diff(x if rank_of(x) == 1 else ops.moveaxis(x, axis, -1))
    both = item_at(row, (..., slice(1, None))) + item_at(row, (..., slice(None, -1)))
    return sum(width * both / 2.0, -1)


__all__ = ["diff", "gradient", "trapezoid"]
