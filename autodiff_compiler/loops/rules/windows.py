"""Sliding windows: views of them, their sums and maxima, and what is added up from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import Op
from autodiff_compiler.loop_ir.nodes import Affine, Apply, Expression, Literal
from autodiff_compiler.loops.core.state import Lowering, apply, array_facts, cast
from autodiff_compiler.loops.core.values import Array, NoNativeText
from autodiff_compiler.loops.rules.indexing import finish, zeros


def windows_of(
    x: Array, size: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Array:
    """Returns the windows over the last axes of an array, as a view."""
    lead = len(x.shape) - len(size)
    counts = [
        (dim - (k - 1) * gap - 1) // step + 1
        for dim, k, step, gap in zip(x.shape[lead:], size, stride, dilation)
    ]
    steps = x.strides[lead:]
    return x.with_axes(
        (*x.shape[:lead], *counts, *size),
        (
            *x.strides[:lead],
            *(step * s for step, s in zip(stride, steps)),
            *(gap * s for gap, s in zip(dilation, steps)),
        ),
    )


def _window(op: Op) -> dict[str, Any]:
    return {name: op.attrs[name] for name in ("size", "stride", "dilation")}


def _windows(low: Lowering, op: Op) -> None:
    low.bind(op.result, windows_of(low.array(op.operands[0]), **_window(op)))


def _overlap_add(low: Lowering, op: Op) -> None:
    result, value = zeros(low, op), low.array(op.operands[0])
    window = _window(op)
    places = windows_of(result, **window)
    lead, rank = len(places.shape) - 2 * len(window["size"]), len(window["size"])
    order = [*range(lead + 2 * rank)]
    if places.shape[lead + rank - 1] > places.shape[-1]:  # the longer axis innermost, for vectors
        order[lead:] = order[lead + rank :] + order[lead : lead + rank]
    places, value = (_in_order(each, order) for each in (places, value))
    low.nest(places.shape, lambda at: low.store(places, at, value.load(at), "add"))
    finish(low, op, result)


def _in_order(x: Array, order: Sequence[int]) -> Array:
    """Returns an array with its axes in another order, as a view."""
    return x.with_axes([x.shape[axis] for axis in order], [x.strides[axis] for axis in order])


# ---- along one axis


@dataclass(frozen=True)
class Taps:
    """The elements of all windows along one axis."""

    axis: int
    size: int
    stride: int
    dilation: int

    def of(self, x: Array, number: int) -> Array:
        """Returns element ``number`` of every window of ``x``, as a view."""
        axis = self.axis % len(x.shape)
        count = (x.shape[axis] - (self.size - 1) * self.dilation - 1) // self.stride + 1
        shape, strides = list(x.shape), list(x.strides)
        shape[axis], strides[axis] = count, strides[axis] * self.stride
        at = x.at + x.strides[axis] * number * self.dilation
        return Array(x.buffer, at, tuple(shape), tuple(strides))

    def all(self, x: Array) -> list[Array]:
        return [self.of(x, number) for number in range(self.size)]

    @property
    def is_disjoint(self) -> bool:
        """True if no element is in two windows."""
        return self.stride > (self.size - 1) * self.dilation

    def covers(self, x: Array) -> bool:
        """True if every element is in exactly one window."""
        dim = x.shape[self.axis]
        return self.is_disjoint and dim % self.size == 0 and self.stride == self.size


def _taps(op: Op) -> Taps:
    if op.attrs["size"] > costs().unrolled_copy_items:
        raise NoNativeText("a wide window")
    return Taps(op.attrs["axis"], **_window(op))


def _combined(combine: str) -> Callable[[Lowering, Op], None]:
    def rule(low: Lowering, op: Op) -> None:
        dtype, _ = array_facts(op.result.type)
        parts = _taps(op).all(low.array(op.operands[0]))

        def element(indices: Sequence[Affine]) -> Expression:
            total: Expression = parts[0].load(indices)
            for part in parts[1:]:
                total = apply(combine, dtype, total, part.load(indices))
            return total

        low.map(op.result, element)

    return rule


def _firsts(low: Lowering, parts: Sequence[Array], best: Array, at: Sequence[Affine]) -> list:
    """Returns for each element of a window whether it is the first that is not below ``best``.

    A pair of elements is compared with each other: its operator need not know the larger one.
    """
    if len(parts) == 2:
        later = Apply("less", (parts[0].load(at), parts[1].load(at)), "bool")
        beyond = low.let("later", later)
        return [Apply("logical_not", (beyond,), "bool"), beyond]
    largest = low.let("best", best.load(at))
    firsts, left = [], None
    for part in parts:
        beyond = low.let("beyond", Apply("less", (part.load(at), largest), "bool"))
        here = Apply("logical_not", (beyond,), "bool")
        firsts.append(here if left is None else Apply("logical_and", (left, here), "bool"))
        left = beyond if left is None else Apply("logical_and", (left, beyond), "bool")
    return firsts


def _window_first(low: Lowering, op: Op) -> None:
    ct, x, best = (low.array(operand) for operand in op.operands)
    taps = _taps(op)
    result, combine = _target(low, op, taps)
    parts, places = taps.all(x), taps.all(result)
    zero = cast(Literal(0, "int64"), result.dtype)

    def element(at: list[Affine]) -> None:
        item = low.let("item", cast(ct.load(at), result.dtype))
        for place, first in zip(places, _firsts(low, parts, best, at)):
            low.store(place, at, Apply("select", (first, item, zero), result.dtype), combine)

    low.nest(ct.shape, element)
    low.bind(op.result, result)


def _target(low: Lowering, op: Op, taps: Taps) -> tuple[Array, str]:
    """Returns the array to which windows are added, and how: disjoint ones are stored."""
    result = low.result_array(op.result)
    if taps.covers(result):
        return result, ""
    return zeros(low, op), "" if taps.is_disjoint else "add"


def _window_pick(low: Lowering, op: Op) -> None:
    v, x, best = (low.array(operand) for operand in op.operands)
    taps = _taps(op)
    parts, values = taps.all(x), taps.all(v)

    def element(at: Sequence[Affine]) -> Expression:
        picked: Expression = values[0].load(at)
        for value, first in list(zip(values, _firsts(low, parts, best, at)))[1:]:
            picked = Apply("select", (first, value.load(at), picked), v.dtype)
        return picked

    low.map(op.result, element)


def _window_spread(low: Lowering, op: Op) -> None:
    v, taps = low.array(op.operands[0]), _taps(op)
    result, combine = _target(low, op, taps)
    places = taps.all(result)

    def element(at: list[Affine]) -> None:
        for place in places:
            low.store(place, at, v.load(at), combine)

    low.nest(v.shape, element)
    low.bind(op.result, result)


# ---- convolutions of each channel


def _channels(x: Array, op: Op) -> Array:
    """Returns the windows of images with the axes (image, channel, *size, *count)."""
    rank = len(op.attrs["size"])
    view = windows_of(x, **_window(op))
    return _in_order(view, (0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank)))


def _spaced(x: Array, rank: int) -> Array:
    """Returns images with the axes of the windows, which do not matter, before their space."""
    return x.with_axes(
        (*x.shape[:2], *[1] * rank, *x.shape[2:]), (*x.strides[:2], *[0] * rank, *x.strides[2:])
    )


def _product(
    low: Lowering, places: Array, image: Array, kernel: Array, shape: Sequence[int]
) -> None:
    rank = len(kernel.shape) - 1

    def element(at: list[Affine]) -> None:
        weight = kernel.load(at[1 : 2 + rank])
        term = apply("mul", places.dtype, image.load(at), weight)
        low.store(places, at, term, "add")

    low.nest(shape, element)


def _depthwise(low: Lowering, op: Op) -> None:
    image = _channels(low.array(op.operands[0]), op)
    kernel, result = low.array(op.operands[1]), zeros(low, op)
    places = _spaced(result, len(op.attrs["size"]))
    _product(low, places, image, kernel, image.shape)
    finish(low, op, result)


def _depthwise_images(low: Lowering, op: Op) -> None:
    value, kernel = low.array(op.operands[0]), low.array(op.operands[1])
    result = zeros(low, op)
    places = _channels(result, op)
    _product(low, places, _spaced(value, len(op.attrs["size"])), kernel, places.shape)
    finish(low, op, result)


def _depthwise_kernel(low: Lowering, op: Op) -> None:
    image = _channels(low.array(op.operands[1]), op)
    result, rank = zeros(low, op), len(op.attrs["size"])
    value = _spaced(low.array(op.operands[0]), rank)

    def tap(at: list[Affine]) -> None:
        total = low.variable("total", cast(Literal(0, "int64"), result.dtype))

        def element(rest: list[Affine]) -> None:
            place = [*at, *rest]
            low.set(total, apply("mul", result.dtype, value.load(place), image.load(place)), "add")

        low.nest(image.shape[2 + rank :], element)
        low.store(result, at[1:], low.current(total), "add")

    low.nest(image.shape[: 2 + rank], tap)
    finish(low, op, result)


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {
    "windows": _windows,
    "overlap_add": _overlap_add,
    "window_max": _combined("maximum"),
    "window_sum": _combined("add"),
    "window_first": _window_first,
    "window_pick": _window_pick,
    "window_spread": _window_spread,
    "depthwise": _depthwise,
    "depthwise_images": _depthwise_images,
    "depthwise_kernel": _depthwise_kernel,
}
