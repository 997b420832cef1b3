"""Sliding windows and products over blocks of axes, for convolution and pooling.

``windows`` is a view, so it costs nothing; ``overlap_add`` is its adjoint (col2im), and both are
linear, so that every derivative is made of the same three operators. The window is over the last
axes; ``size``, ``stride`` and ``dilation`` have one entry for each of them.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType, Dim, Shape, Type
from autodiff_compiler.operators.core.declare import linear
from autodiff_compiler.operators.core.families import bilinear
from autodiff_compiler.operators.core.structure import inverse, shape_argument, transpose
from autodiff_compiler.operators.indexing.indexing import zeros_text

Sizes = Sequence[int]


def span(size: int, dilation: int) -> int:
    """Returns the extent of a window: its elements and the gaps between them.

    >>> span(3, 2)
    5
    """
    return (size - 1) * dilation + 1


def count_windows(dim: Dim, size: int, stride: int, dilation: int) -> Dim:
    """Returns the number of windows that fit into an axis.

    >>> count_windows(7, 3, 2, 1), count_windows("b", 3, 2, 1)
    (3, None)
    """
    return (dim - span(size, dilation)) // stride + 1 if isinstance(dim, int) else None


def _spans(size: Sizes, dilation: Sizes) -> tuple[int, ...]:
    return tuple(span(*pair) for pair in zip(size, dilation))


def _windows_type(types: Sequence[Type], *, size: Sizes, stride: Sizes, dilation: Sizes) -> Type:
    (x,) = types
    assert isinstance(x, ArrayType)
    if x.shape is None:
        return x
    lead, dims = x.shape[: -len(size)], x.shape[-len(size) :]
    if len(dims) < len(size):
        raise ShapeError(f"a window of {len(size)} dimensions needs more axes than {x} has")
    for dim, reach in zip(dims, _spans(size, dilation)):
        if isinstance(dim, int) and dim < reach:
            raise ShapeError(
                f"a window of {reach} elements does not fit an axis of size {dim}",
                "use a smaller kernel or dilation, or more padding",
            )
    counts = map(count_windows, dims, size, stride, dilation)
    return ArrayType(x.dtype, (*lead, *counts, *size))


def _view(name: str, size: Sizes, dilation: Sizes, options: str = "") -> str:
    """Returns the text of the windows over ``name``, one for each position."""
    reach, axes = _spans(size, dilation), tuple(range(-len(size), 0))
    where = f"{reach}, {axes}" if len(size) > 1 else f"{reach[0]}, -1"
    return f"np.lib.stride_tricks.sliding_window_view({name}, {where}{options})"


def for_taps(size: Sizes, line: str) -> str:
    """Returns the lines that do ``line`` for every place (i, j, …) in a window.

    >>> print(for_taps((3, 2), "y += x[i, j]"))
    <BLANKLINE>
    for i in range(3):
        for j in range(2):
            y += x[i, j]
    """
    loops = [f"for {letter} in range({count}):" for letter, count in zip("ijk", size)]
    return "".join(f"\n{'    ' * depth}{text}" for depth, text in enumerate([*loops, line]))


def _thinned(stride: Sizes, dilation: Sizes) -> str:
    """Returns the subscript that leaves out windows, and elements within them."""
    if all(step == 1 for step in (*stride, *dilation)):
        return ""
    steps = [f"::{step}" if step > 1 else ":" for step in (*stride, *dilation)]
    return f"[..., {', '.join(steps)}]"


def _windows_numpy(types: Sequence[Type], *, size: Sizes, stride: Sizes, dilation: Sizes) -> str:
    return _view("{x}", size, dilation) + _thinned(stride, dilation)


def _windows_back(ct: Value, x: Value, size: Sizes, stride: Sizes, dilation: Sizes) -> Value:
    shape, more = shape_argument(x)
    return overlap_add(ct, *more, shape=shape, size=size, stride=stride, dilation=dilation)


windows: OpDef = linear(
    "windows",
    "Every window of the given size over the last axes of x, one for each stride: a read-only "
    "view of shape (..., how many windows, window size). Within a window neighbours are dilation "
    "apart. A window larger than its axis is a ShapeError. d_x adds the windows up again.",
    numpy=_windows_numpy,
    result=_windows_type,
    adjoint={"x": _windows_back},
    label="{x}_windows",
    views=("x",),
)


def _overlap_add_numpy(
    types: Sequence[Type], *, shape: Shape, size: Sizes, stride: Sizes, dilation: Sizes
) -> str:
    zeros = zeros_text(types, shape, 1)
    if all(step >= reach > 1 for step, reach in zip(stride, _spans(size, dilation))):
        view = _view("{out}", size, dilation, ", writeable=True")
        return f"{zeros}\nplaces = {view}\nplaces{_thinned(stride, dilation)} = {{v}}"
    v, half = types[0], False
    if isinstance(v, ArrayType) and v.dtype == "float16":
        # Terms are added one by one: float16 would lose small terms beside the sum.
        zeros, half = zeros_text((replace(v, dtype="float32"), *types[1:]), shape, 1), True
    rank, letters = len(size), "ijk"[: len(size)]
    have = getattr(types[0], "shape", None) or (None,) * 2 * rank
    places = []
    for letter, count, place, step, gap in zip(
        letters, have[-2 * rank : -rank], range(-2 * rank, -rank), stride, dilation
    ):
        start = letter if gap == 1 else f"{gap} * {letter}"
        times = f"{step} * " if step > 1 else ""
        reach = (count - 1) * step + 1 if isinstance(count, int) else f"{times}{{v}}.shape[{place}]"
        places.append(f"{start}:{start} + {reach}" + (f":{step}" if step > 1 else ""))
    target = f"{{out}}[..., {', '.join(places)}]"
    added = zeros + for_taps(size, f"{target} += {{v}}[..., {', '.join(letters)}]")
    return f"{added}\n{{out}} = {{out}}.astype(np.float16)" if half else added


overlap_add: OpDef = linear(
    "overlap_add",
    "Zeros of the given shape to which every window of v is added at its position: the adjoint "
    "of windows. The shape is an attribute, or the last operand if it is unknown at compile "
    "time.",
    operands=("v", "*rest"),
    numpy=_overlap_add_numpy,
    result=lambda types, *, shape, **attrs: ArrayType(types[0].dtype, shape),
    adjoint={
        "v": lambda ct, size, stride, dilation: windows(
            ct, size=size, stride=stride, dilation=dilation
        ),
        "*rest": lambda: None,
    },
    label="{v}_added_up",
)


def _tensordot_type(types: Sequence[Type], *, axes: tuple[Sizes, Sizes]) -> Type:
    a, b = types
    if not isinstance(a, ArrayType) or not isinstance(b, ArrayType) or a.dtype != b.dtype:
        raise DTypeError(f"a product of tensors needs two of one dtype, not {a} and {b}")
    if a.shape is None or b.shape is None:
        return ArrayType(a.dtype, None)
    for left, right in zip(*axes):
        pair = (a.shape[left], b.shape[right])
        if pair[0] != pair[1] and None not in pair:
            raise ShapeError(
                f"axis {left} of {a} and axis {right} of {b} have sizes {pair[0]} and {pair[1]}",
                "axes that are summed over must have one size",
            )
    rows = [dim for axis, dim in enumerate(a.shape) if axis not in axes[0]]
    columns = [dim for axis, dim in enumerate(b.shape) if axis not in axes[1]]
    return ArrayType(a.dtype, (*rows, *columns))


def _free(x: Value, contracted: Sizes) -> list[int]:
    return [axis for axis in range(x.ndim or 0) if axis not in contracted]


def _tensordot_left(ct: Value, a: Value, b: Value, axes: tuple[Sizes, Sizes]) -> Value:
    """Returns ``ct`` times b, summed over the axes of b in the result; the contracted axes come
    first."""
    brought, own_axes = _free(b, axes[1]), _free(a, axes[0])
    over = (tuple(brought), tuple(range(len(own_axes), len(own_axes) + len(brought))))
    # np.tensordot sums fastest over the first factor's last axes; b's order of the summed axes
    order = sorted(range(len(axes[1])), key=lambda k: axes[1][k])
    have = [*(axes[0][k] for k in order), *own_axes]
    return _ordered(tensordot(b, ct, axes=over), have)


def _tensordot_right(ct: Value, a: Value, b: Value, axes: tuple[Sizes, Sizes]) -> Value:
    """Returns a times ``ct``, summed over the axes of a in the result."""
    brought, own_axes = _free(a, axes[0]), _free(b, axes[1])
    over = (tuple(brought), tuple(range(len(brought))))
    order = sorted(range(len(axes[0])), key=lambda k: axes[0][k])
    have = [*(axes[1][k] for k in order), *own_axes]
    return _ordered(tensordot(a, ct, axes=over), have)


def _ordered(x: Value, have: Sequence[int]) -> Value:
    """Returns x, whose axes are in the order ``have``, with its axes in ascending order."""
    return x if list(have) == sorted(have) else transpose(x, perm=inverse(tuple(have)))


tensordot: OpDef = bilinear(
    "tensordot",
    "The sum over pairs of axes, one of a and one of b, of the products of their elements: the "
    "other axes of a, then those of b, stay. Both have one dtype: nothing is promoted (DTypeError)."
    " Paired axes of different sizes are a ShapeError. The ranks must be known. "
    "d_a sums ct with b over the axes that b brought, d_b likewise.",
    numpy="np.tensordot({a}, {b}, {axes})",
    result=_tensordot_type,
    adjoint={"a": _tensordot_left, "b": _tensordot_right},
    label="{a}_dot_{b} product",
)
