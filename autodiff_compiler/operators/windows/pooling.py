"""Windows along one axis, and their maxima and sums, for pooling.

A pooling over an image goes one axis after the other. An element of all windows is a slice of the
array: ``x[..., ::2]`` is the first of each pair. No array of windows is made, and a window of k by
k elements takes 2k steps, not k². Where two elements of a window are equal, the first one wins.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType, Dim, Shape, Type, size_of
from autodiff_compiler.operators.core.declare import linear
from autodiff_compiler.operators.core.structure import full, shape_argument
from autodiff_compiler.operators.destination_ops import (
    BITS,
    after_write,
    compute_into,
    empty,
    mask_bits,
    mask_bits_text,
)
from autodiff_compiler.operators.elementwise.arithmetic import add, invert, maximum
from autodiff_compiler.operators.elementwise.comparisons import less, logical_and
from autodiff_compiler.operators.indexing.indexing import index, zeros_text
from autodiff_compiler.operators.windows.sliding_windows import count_windows, span


def _pooled_type(
    types: Sequence[Type], *, axis: int, size: int, stride: int, dilation: int
) -> Type:
    x = types[0]
    assert isinstance(x, ArrayType)
    if x.shape is None:
        return x
    dim = x.shape[axis]
    if isinstance(dim, int) and dim < span(size, dilation):
        raise ShapeError(
            f"a window of {span(size, dilation)} elements does not fit an axis of size {dim}",
            "use a smaller kernel or dilation, or more padding",
        )
    dims = list(x.shape)
    dims[axis] = count_windows(dim, size, stride, dilation)
    return ArrayType(x.dtype, tuple(dims))


class _Taps:
    """The subscripts of the elements of all windows: their first elements, their second
    elements, …"""

    def __init__(self, dim: Dim, axis: int, size: int, stride: int, dilation: int):
        self.dim, self.size, self.stride, self.dilation = dim, size, stride, dilation
        self.after = ", :" * (-axis - 1)
        self.count = count_windows(dim, size, stride, dilation)

    def __getitem__(self, number: int) -> str:
        start, left = number * self.dilation, (self.size - 1 - number) * self.dilation
        stop = f"-{left}" if left and not self.ends_anyway(start) else ""
        return self.subscript(str(start or ""), stop)

    def ends_anyway(self, start: int) -> bool:
        """True if a slice without an end has no more elements than there are windows."""
        return isinstance(self.dim, int) and len(range(start, self.dim, self.stride)) == self.count

    def any(self, dim: str) -> str:
        """Returns the subscript of element ``i`` of every window; ``i`` and ``dim``, the size, are
        source.
        """
        start = "i" if self.dilation == 1 else f"{self.dilation} * i"
        if isinstance(self.count, int):
            stop = f"{start} + {(self.count - 1) * self.stride + 1}"
        else:
            stop = f"{dim} - {(self.size - 1) * self.dilation} + {start}"
        return self.subscript(f"{start} ", f" {stop}")

    def subscript(self, start: str, stop: str) -> str:
        step = f":{self.stride}" if self.stride > 1 else ""
        return f"[..., {start}:{stop}{step}{self.after}]"

    def of(self, x: Any, number: int) -> Any:
        """Returns element ``number`` of every window of ``x``, as a view."""
        start, left = number * self.dilation, (self.size - 1 - number) * self.dilation
        stop = -left if left and not self.ends_anyway(start) else None
        taken = ("slice", start or None, stop, self.stride if self.stride > 1 else None)
        full = ("slice", None, None, None)
        return index(x, index=("...", taken, *[full] * (len(self.after) // 3)))

    @property
    def disjoint(self) -> bool:
        """True if no element is in two windows."""
        return self.stride >= span(self.size, self.dilation)

    @property
    def covers(self) -> bool:
        """True if every element is in a window, given that no element is in two."""
        return isinstance(self.count, int) and self.count * self.size == self.dim


def _taps(type_: Type, axis: int, **window: int) -> _Taps:
    shape = getattr(type_, "shape", None)
    return _Taps(None if shape is None else shape[axis], axis, **window)


def _joined(name: str, taps: _Taps, axis: int, pair: str, more: str) -> str:
    """Returns the text that combines the elements of each window: ``pair`` of two expressions, or a
    loop.
    """
    if 1 < taps.size <= costs().unrolled_window_elements:
        text = f"{name}{taps[0]}"
        for number in range(1, taps.size):
            text = pair.format(text, f"{name}{taps[number]}")
        return text
    reassigned = more.startswith("{{out}} = ") and taps.size > 1
    first = f"{{out}} = {name}{taps[0]}" if reassigned else f"{{out}} = {name}{taps[0]}.copy()"
    step = more.format(f"{name}{taps.any(f'{name}.shape[{axis}]')}")
    return first if taps.size == 1 else f"{first}\nfor i in range(1, {taps.size}):\n    {step}"


def _is_large(type_: Type) -> bool:
    """True if an array is so large that results are written into it."""
    return size_of(type_) >= costs().large_bytes


def _max_numpy(types: Sequence[Type], *, axis: int, **window: int) -> str:
    taps = _taps(types[0], axis, **window)
    more = "np.maximum({{out}}, {}, out={{out}})"
    if not _is_large(types[0]):
        more = "{{out}} = np.maximum({{out}}, {})"
    return _joined("{x}", taps, axis, "np.maximum({}, {})", more)


def _parts(join: OpDef) -> Callable[..., Any]:
    """Returns slices, and what ``join`` makes of them."""

    def parts(x: Value, axis: int, size: int, stride: int, dilation: int) -> Any:
        taps = _taps(x.type, axis, size=size, stride=stride, dilation=dilation)
        joined = taps.of(x, 0)
        for number in range(1, size):
            joined = join(joined, taps.of(x, number))
        return None if size == 1 else joined

    return parts


def _max_back(ct: Any, x: Any, out: Any, axis: int, size: int, stride: int, dilation: int) -> Any:
    """Returns ct at the largest elements.

    The larger one of a pair is found without the maximum, which need not be saved then: any array
    of its shape stands for it.
    """
    best = ct if size == 2 and stride >= span(size, dilation) else out
    return window_first(ct, x, best, axis=axis, size=size, stride=stride, dilation=dilation)


window_max: OpDef = OpDef(
    "window_max",
    "The largest element of each window along an axis, counted from the back; NaN wins. Within a "
    "window neighbours are dilation apart. A window larger than its axis is a ShapeError. d_x is "
    "ct at the first of the largest.",
    operands=("x",),
    numpy=_max_numpy,
    result=_pooled_type,
    adjoint={"x": _max_back},
    tangent={
        "x": lambda dot, x, out, axis, size, stride, dilation: window_pick(
            dot, x, out, axis=axis, size=size, stride=stride, dilation=dilation
        )
    },
    decompose=_parts(maximum),
    batch="trailing",
    label="{x}_max largest",
)


def _put_text(type_: Type, out: str, ct: str, mask: str) -> str:
    """Returns the text that puts ct where the mask is true, else 0, into a slice. It is no product,
    because ct may be infinite or NaN (see ``mask_bits``).
    """
    dtype = getattr(type_, "dtype", None)
    if dtype not in BITS:
        return f"np.copyto({out}, np.where({mask}, {ct}, 0))"
    bits = f"np.{BITS[dtype]}"
    return f"np.multiply({ct}.view({bits}), {mask}, out={out}.view({bits}))"


def _first_numpy(types: Sequence[Type], *, axis: int, **window: int) -> str:
    taps, like = _taps(types[1], axis, **window), types[1]
    if taps.size == 2 and taps.disjoint:
        make = "np.empty_like" if taps.covers else "np.zeros_like"
        return (
            f"later = {{x}}{taps[0]} < {{x}}{taps[1]}\n"
            f"{{out}} = {make}({{x}})\n"
            f"{{out}}{taps[1]} = {mask_bits_text(like, '{ct}', 'later')}\n"
            f"{{out}}{taps[0]} = {mask_bits_text(like, '{ct}', '~later')}"
        )
    here = taps.any(f"{{x}}.shape[{axis}]")
    return (
        "{out}, left = np.zeros_like({x}), np.ones({best}.shape, np.bool_)\n"
        f"for i in range({taps.size}):\n"
        f"    first = left & ~({{x}}{here} < {{best}})\n"
        f"    {{out}}{here} += {mask_bits_text(like, '{ct}', 'first')}\n"
        "    left ^= first"
    )


def _first_parts(
    ct: Value, x: Value, best: Value, axis: int, size: int, stride: int, dilation: int
) -> Any:
    """Returns a comparison, and what belongs to each slice of an array to fill."""
    taps = _taps(x.type, axis, size=size, stride=stride, dilation=dilation)
    assert isinstance(x.type, ArrayType)
    if size == 2 and taps.disjoint:
        later = less(taps.of(x, 0), taps.of(x, 1))
        out: Any = empty(shape=x.type.shape, dtype=x.type.dtype)
        if not taps.covers:
            out = full(shape=x.type.shape, dtype=x.type.dtype, value=0)
        for number in (1, 0):
            mask = later if number else invert(later)
            written = compute_into(
                ct, mask, taps.of(out, number), text=_put_text(x.type, "{2}", "{0}", "{1}")
            )
            out = after_write(written, out)
        return out
    if not 1 < size <= costs().unrolled_window_elements or x.type.dtype not in BITS:
        return None
    out, left = full(shape=x.type.shape, dtype=x.type.dtype, value=0), None
    for number in range(size):
        beyond = less(taps.of(x, number), best)
        first = invert(beyond) if left is None else logical_and(left, invert(beyond))
        out = _added(out, mask_bits(ct, first), taps, number)
        if number < size - 1:
            left = beyond if left is None else logical_and(left, beyond)
    return out


def _added(out: Any, v: Any, taps: _Taps, number: int) -> Any:
    """Returns ``out`` with v added to element ``number`` of every window."""
    place = taps.of(out, number)
    return after_write(compute_into(place, v, place, text="np.add({0}, {1}, out={2})"), out)


window_first: OpDef = OpDef(
    "window_first",
    "Zeros like x with ct at the first largest element of each window, whose value is best; "
    "overlapping windows are added.",
    operands=("ct", "x", "best"),
    numpy=_first_numpy,
    result=lambda types, **window: types[1],
    adjoint={
        "ct": lambda ct, x, best, axis, size, stride, dilation: window_pick(
            ct, x, best, axis=axis, size=size, stride=stride, dilation=dilation
        ),
        "x": lambda: None,
        "best": lambda: None,
    },
    linear_in=("ct",),
    decompose=_first_parts,
    batch="trailing",
    label="{x}_first",
)


def _pick_numpy(types: Sequence[Type], *, axis: int, **window: int) -> str:
    taps = _taps(types[1], axis, **window)
    if taps.size == 2:
        return f"np.where({{x}}{taps[0]} < {{x}}{taps[1]}, {{v}}{taps[1]}, {{v}}{taps[0]})"
    here = taps.any(f"{{x}}.shape[{axis}]")
    return (
        f"{{out}}, left = {{v}}{taps[0]}, np.ones({{best}}.shape, np.bool_)\n"
        f"for i in range({taps.size}):\n"
        f"    first = left & ~({{x}}{here} < {{best}})\n"
        f"    {{out}} = np.where(first, {{v}}{here}, {{out}})\n"
        "    left ^= first"
    )


window_pick: OpDef = OpDef(
    "window_pick",
    "The element of v at the position of the first largest element of x in each window, whose "
    "value is best.",
    operands=("v", "x", "best"),
    numpy=_pick_numpy,
    result=lambda types, **window: ArrayType(types[0].dtype, types[2].shape),
    adjoint={
        "v": lambda ct, x, best, axis, size, stride, dilation: window_first(
            ct, x, best, axis=axis, size=size, stride=stride, dilation=dilation
        ),
        "x": lambda: None,
        "best": lambda: None,
    },
    linear_in=("v",),
    batch="trailing",
    label="{v}_picked",
)


def _sum_numpy(types: Sequence[Type], *, axis: int, **window: int) -> str:
    taps = _taps(types[0], axis, **window)
    return _joined("{x}", taps, axis, "{} + {}", "{{out}} += {}")


def _sum_back(ct: Any, x: Any, axis: int, size: int, stride: int, dilation: int) -> Any:
    shape, more = shape_argument(x)
    return window_spread(
        ct, *more, shape=shape, axis=axis, size=size, stride=stride, dilation=dilation
    )


window_sum: OpDef = linear(
    "window_sum",
    "The sum of each window along an axis, counted from the back. Within a window neighbours are "
    "dilation apart. A window larger than its axis is a ShapeError. d_x adds ct to every element "
    "of its window.",
    numpy=_sum_numpy,
    result=_pooled_type,
    adjoint={"x": _sum_back},
    decompose=_parts(add),
    batch="trailing",
    label="{x}_sums",
)


def _spread_numpy(types: Sequence[Type], *, shape: Shape, axis: int, **window: int) -> str:
    taps = _taps(ArrayType(None, shape), axis, **window)
    zeros = zeros_text(types, shape, 1)
    if taps.disjoint and taps.size <= costs().unrolled_window_elements:
        zeros = zeros.replace("np.zeros", "np.empty") if taps.covers else zeros
        return "\n".join([zeros, *(f"{{out}}{taps[k]} = {{v}}" for k in range(taps.size))])
    here = taps.any(f"{{out}}.shape[{axis}]")
    return f"{zeros}\nfor i in range({taps.size}):\n    {{out}}{here} += {{v}}"


def _spread_parts(
    v: Value, shape: Shape, rest: Sequence[Value], axis: int, size: int, stride: int, dilation: int
) -> Any:
    """Returns a copy in each slice of an array to fill."""
    assert isinstance(v.type, ArrayType)
    taps = _taps(ArrayType(None, shape), axis, size=size, stride=stride, dilation=dilation)
    known = isinstance(taps.count, int) and 1 < size <= costs().unrolled_window_elements
    if rest or not (taps.disjoint and taps.covers or known):
        return None
    if not (taps.disjoint and taps.covers):
        out = full(shape=shape, dtype=v.type.dtype, value=0)
        for number in range(size):
            out = _added(out, v, taps, number)
        return out
    out = empty(shape=shape, dtype=v.type.dtype)
    for number in range(size):
        out = after_write(compute_into(v, taps.of(out, number), text="np.copyto({1}, {0})"), out)
    return out


window_spread: OpDef = linear(
    "window_spread",
    "Zeros of the given shape, with v added to every element of its window: the adjoint of "
    "window_sum. The shape is an attribute, or the last operand if it is unknown at compile "
    "time.",
    operands=("v", "*rest"),
    numpy=_spread_numpy,
    result=lambda types, *, shape, **window: ArrayType(types[0].dtype, shape),
    adjoint={
        "v": lambda ct, axis, size, stride, dilation: window_sum(
            ct, axis=axis, size=size, stride=stride, dilation=dilation
        ),
        "*rest": lambda: None,
    },
    decompose=_spread_parts,
    label="{v}_spread",
)
