"""The convolution of each channel with a kernel of its own, tap by tap.

A product over columns would copy every window for a single row of the kernel. Here a tap of the
kernel is one product with a slice of the images. The three operators are each other's adjoints.
Each takes two of images x, kernel w and cotangent ct, and computes the third.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from typing import Any

from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType, Dim, Shape, Type
from autodiff_compiler.operators.core.structure import shape_argument
from autodiff_compiler.operators.indexing.indexing import zeros_text
from autodiff_compiler.operators.windows.sliding_windows import count_windows, for_taps, span

Sizes = Sequence[int]


def _slices(dims: Sequence[Dim], name: str, size: Sizes, stride: Sizes, dilation: Sizes) -> str:
    """Returns the subscript of the elements of the images ``name`` that tap (i, j, …) reads."""
    slices = []
    for axis, (letter, dim, k, step, gap) in enumerate(zip("ijk", dims, size, stride, dilation)):
        start = letter if gap == 1 else f"{gap} * {letter}"
        count = count_windows(dim, k, step, gap)
        if isinstance(count, int):
            stop = f"{start} + {(count - 1) * step + 1}"
        else:
            stop = f"{name}.shape[{axis - len(size)}] - {(k - 1) * gap} + {start}"
        slices.append(f"{start} : {stop}" + (f" : {step}" if step > 1 else ""))
    return f"{name}[..., {', '.join(slices)}]"


def _space(type_: Type, rank: int) -> Sequence[Dim]:
    shape = getattr(type_, "shape", None)
    return (None,) * rank if shape is None else shape[-rank:]


def _tap(size: Sizes) -> str:
    """Returns the subscript of a kernel that broadcasts one number to each channel."""
    return f"[:, {', '.join('ijk'[: len(size)])}{', None' * len(size)}]"


def _type(types: Sequence[Type], *, size: Sizes, stride: Sizes, dilation: Sizes) -> Type:
    x, w = types
    assert isinstance(x, ArrayType) and isinstance(w, ArrayType)
    if x.shape is None:
        return x
    dims = x.shape[-len(size) :]
    for dim, k, gap in zip(dims, size, dilation):
        if isinstance(dim, int) and dim < span(k, gap):
            raise ShapeError(
                f"a window of {span(k, gap)} elements does not fit an axis of size {dim}",
                "use a smaller kernel or dilation, or more padding",
            )
    return ArrayType(
        x.dtype, (*x.shape[: -len(size)], *map(count_windows, dims, size, stride, dilation))
    )


def _forward_numpy(types: Sequence[Type], *, size: Sizes, stride: Sizes, dilation: Sizes) -> str:
    taken = _slices(_space(types[0], len(size)), "{x}", size, stride, dilation)
    term = f"{taken} * {{w}}{_tap(size)}"
    result_type = _type(types, size=size, stride=stride, dilation=dilation)
    if not isinstance(result_type, ArrayType) or not result_type.is_static:
        return "{out} = 0.0" + for_taps(size, f"{{out}} = {{out}} + {term}")
    zeros = f"{{out}} = np.zeros({result_type.shape}, np.{result_type.dtype})"
    return zeros + for_taps(size, f"{{out}} += {term}")


depthwise: OpDef = OpDef(
    "depthwise",
    "A convolution of each channel by itself, of images x (batch, channels, *space) and a kernel w "
    "(channels, *size). It is a sum over the taps of the kernel: of slices of x, each times the "
    "channel's number at that tap. A kernel that does not fit is a ShapeError.",
    operands=("x", "w"),
    numpy=_forward_numpy,
    result=_type,
    adjoint={
        "x": lambda ct, x, w, size, stride, dilation: _to_images(ct, w, x, size, stride, dilation),
        "w": lambda ct, x, size, stride, dilation: depthwise_kernel(
            ct, x, size=size, stride=stride, dilation=dilation
        ),
    },
    kind="bilinear",
    label="{x}_convolved",
)


def _to_images(ct: Value, w: Any, x: Value, size: Sizes, stride: Sizes, dilation: Sizes) -> Value:
    shape, more = shape_argument(x)
    return depthwise_images(ct, w, *more, shape=shape, size=size, stride=stride, dilation=dilation)


def _images_numpy(
    types: Sequence[Type], *, shape: Shape, size: Sizes, stride: Sizes, dilation: Sizes
) -> str:
    taken = _slices(_space(ArrayType(None, shape), len(size)), "{out}", size, stride, dilation)
    zeros = zeros_text(types, shape, 2)
    return zeros + for_taps(size, f"{taken} += {{v}} * {{w}}{_tap(size)}")


depthwise_images: OpDef = OpDef(
    "depthwise_images",
    "Images to which v times the kernel w is added at every tap: the adjoint of depthwise with "
    "respect to its images. The shape is an attribute, or the last operand if it is unknown at "
    "compile time.",
    operands=("v", "w", "*rest"),
    numpy=_images_numpy,
    result=lambda types, *, shape, **window: ArrayType(types[0].dtype, shape),
    adjoint={
        "v": lambda ct, w, size, stride, dilation: depthwise(
            ct, w, size=size, stride=stride, dilation=dilation
        ),
        "w": lambda ct, v, size, stride, dilation: depthwise_kernel(
            v, ct, size=size, stride=stride, dilation=dilation
        ),
        "*rest": lambda: None,
    },
    kind="bilinear",
    label="{v}_spread",
)


def _kernel_numpy(types: Sequence[Type], *, size: Sizes, stride: Sizes, dilation: Sizes) -> str:
    rank, letters = len(size), ", ".join("ijk"[: len(size)])
    taken = _slices(_space(types[1], rank), "{x}", size, stride, dilation)
    axes = (0, *range(2, 2 + rank))
    result_type = _kernel_type(types, size=size)
    shape = f"({{x}}.shape[1], {', '.join(map(str, size))}), {{v}}.dtype"
    if isinstance(result_type, ArrayType) and result_type.is_static:
        shape = f"{result_type.shape}, np.{result_type.dtype}"
    total = f"({{v}} * {taken}).sum(axis={axes})"
    return f"{{out}} = np.zeros({shape})" + for_taps(size, f"{{out}}[:, {letters}] = {total}")


def _kernel_type(types: Sequence[Type], *, size: Sizes, **window: Sizes) -> Type:
    v, x = types
    assert isinstance(v, ArrayType) and isinstance(x, ArrayType)
    return ArrayType(v.dtype, (x.shape[1] if x.shape else None, *size))


depthwise_kernel: OpDef = OpDef(
    "depthwise_kernel",
    "The adjoint of depthwise with respect to its kernel of this size. For each channel and tap, "
    "it is the sum of the products of v and the image elements at that tap.",
    operands=("v", "x"),
    numpy=_kernel_numpy,
    result=_kernel_type,
    adjoint={
        "v": lambda ct, x, size, stride, dilation: depthwise(
            x, ct, size=size, stride=stride, dilation=dilation
        ),
        "x": lambda ct, v, x, size, stride, dilation: _to_images(v, ct, x, size, stride, dilation),
    },
    kind="bilinear",
    label="{v}_kernel",
)
