"""The plain constructors of an operator definition, and the dtype rules that definitions share."""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import (
    COMPLEX,
    FLOAT,
    INT,
    PROMOTION,
    SAMPLE,
    SHAPE,
    ArrayType,
    Dim,
    ScalarType,
    Shape,
    Type,
    common_dtype,
)


def linear(
    name: str,
    doc: str,
    *,
    numpy: str | Callable[..., str],
    result: Callable[..., Any],
    adjoint: dict[str, Callable[..., Any]],
    **facts: Any,
) -> OpDef:
    """Declares an operator that is linear in its first operand: its tangent is the operator
    itself."""
    operands = facts.pop("operands", ("x",))
    return OpDef(
        name,
        doc,
        operands=operands,
        numpy=numpy,
        result=result,
        adjoint=adjoint,
        linear_in=operands[:1],
        kind="linear",
        **facts,
    )


def zero_gradient(
    name: str,
    doc: str,
    *,
    numpy: str | Callable[..., str],
    result: Callable[..., Any],
    operands: tuple[str, ...] = ("x",),
    **facts: Any,
) -> OpDef:
    """Declares an operator whose derivative is zero wherever it exists."""
    return OpDef(name, doc, operands, numpy, result, kind="zero", **facts)


def same_type(types: Sequence[Type], **attrs: Any) -> Type:
    """Returns the type of the first operand."""
    return types[0]


@contextmanager
def numpy_promotion(on: bool = True) -> Iterator[None]:
    """Sets NumPy's promotion of dtypes, or with ``on`` False MindSpore's, for the block."""
    before, PROMOTION.numpy = PROMOTION.numpy, on
    try:
        yield
    finally:
        PROMOTION.numpy = before


def promote_dtypes(left: str | None, right: str | None) -> str | None:
    """Returns the dtype of ``left + right`` for two tensors, by dtype alone (0-d tensors count
    fully).

    Differs from NumPy where an integer meets a float: the float's width stays.

    >>> promote_dtypes("int64", "float32"), promote_dtypes("uint8", "int8")
    ('float32', 'int16')
    """
    if left is None or right is None or left == right:
        return left if left == right else None
    a, b = np.dtype(left), np.dtype(right)
    if a.kind in "fc" and b.kind in "iub":
        return left
    if b.kind in "fc" and a.kind in "iub":
        return right
    return np.promote_types(a, b).name


def promote_scalar(dtype: str | None, kind: ScalarType) -> str | None:
    """Returns the dtype of a tensor met by a Python number, which adapts to the tensor's kind.

    >>> [promote_scalar(dtype, FLOAT) for dtype in ("float16", "int64", "bool")]
    ['float16', 'float32', 'float32']
    """
    if dtype is None:
        return None
    have = np.dtype(dtype).kind
    if kind == COMPLEX and have != "c":
        return "complex128" if dtype == "float64" else "complex64"
    if kind == FLOAT and have in "iub":
        return "float32"
    if kind == INT and have == "b":
        return "int64"
    return dtype


def arithmetic_dtype(types: Sequence[Type]) -> str | None:
    """Returns the promoted dtype of operands of which at least one is an array."""
    if PROMOTION.numpy and all(not isinstance(t, ArrayType) or t.dtype for t in types):
        return common_dtype(types)
    arrays = [t.dtype for t in types if isinstance(t, ArrayType)]
    dtype = arrays[0]
    for other in arrays[1:]:
        dtype = promote_dtypes(dtype, other)
    for type_ in types:
        if isinstance(type_, ScalarType):
            dtype = promote_scalar(dtype, type_)
    return dtype


def casts_for(types: Sequence[Type], dtype: str | None) -> list[str | None]:
    """Returns the dtype that each operand is cast to, so that NumPy's promotion ends in
    ``dtype``."""
    if dtype is None or any(isinstance(t, ArrayType) and t.dtype is None for t in types):
        return [None] * len(types)
    samples = [np.dtype(t.dtype) if isinstance(t, ArrayType) else SAMPLE.get(t) for t in types]
    if None not in samples and np.result_type(*samples) == np.dtype(dtype):
        return [None] * len(types)
    return [dtype if isinstance(t, ArrayType) and t.dtype != dtype else None for t in types]


def one_dtype(types: Sequence[Type], **attrs: Any) -> list[str | None]:
    """Returns the casts of operands that must be of one dtype.

    Plain functions cast to the dtype that NumPy promotes to. Cells cast nothing.
    """
    dtypes = [t.dtype for t in types if isinstance(t, ArrayType) and t.dtype]
    if not PROMOTION.numpy or len(dtypes) != len(types):
        return [None] * len(types)
    dtype = arithmetic_dtype(types)
    return [None if have == dtype else dtype for have in dtypes]


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape:
    """Returns NumPy's broadcast shape. A dimension is None where an unknown one decides.

    >>> broadcast_shapes([(2, 1, "b"), (3, 1)])
    (2, 3, 'b')
    """
    if any(shape is None for shape in shapes):
        return None
    rank = max((len(shape) for shape in shapes if shape is not None), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes if shape is not None]
    return tuple(_broadcast_dims(dims, shapes) for dims in zip(*padded))


def _broadcast_dims(dims: Sequence[Dim], shapes: Sequence[Shape]) -> Dim:
    known = {dim for dim in dims if dim is not None and dim != 1}
    if len(known) > 1:
        texts = " and ".join(f"({', '.join(map(str, shape or ()))})" for shape in shapes)
        raise ShapeError(
            f"shapes {texts} do not broadcast",
            "each pair of dimensions, counted from the right, must be equal or contain a 1",
        )
    if known:
        return known.pop()
    return None if None in dims else 1


def without_rank() -> ShapeError:
    """Returns the error for unpacking or counting a shape whose length is unknown."""
    return ShapeError(
        "how many axes this tensor has is not known, so its shape cannot be unpacked or counted",
        "give the shape of the input in the signature, such as x=f32[2,3] or x=f32[a,b]; "
        "or read one size, x.shape[0]",
    )


def shape_of_type(type_: Type) -> Shape:
    """Returns the shape of an array type; a Python number counts as 0-d."""
    if isinstance(type_, ArrayType):
        return type_.shape
    if isinstance(type_, ScalarType):
        return ()
    if type_ == SHAPE:
        raise without_rank()
    raise DTypeError(
        f"a value of type {type_} cannot be an operand of arithmetic",
        "use a Tensor or a number here",
    )


def static_sizes(shape: Shape) -> tuple[int, ...] | None:
    """Returns ``shape`` if every size is a known number, else None."""
    if shape is None:
        return None
    sizes = [dim for dim in shape if isinstance(dim, int)]
    return tuple(sizes) if len(sizes) == len(shape) else None


def expect_array_type(type_: Type) -> ArrayType:
    """Returns a type that is known to be an array's."""
    assert isinstance(type_, ArrayType), type_
    return type_


def behind_new_axis(axes: Any) -> Any:
    """Returns the axes after a new first axis was added; those counted from the back stay.

    >>> behind_new_axis((0, -1, 2))
    (1, -1, 3)
    """
    if isinstance(axes, int):
        return axes + 1 if axes >= 0 else axes
    return tuple(map(behind_new_axis, axes))


def normal_axes(axes: Any, ndim: int | None) -> tuple[int, ...] | None:
    """Returns axes as a sorted tuple counted from the front; None stands for all of them.

    >>> normal_axes(-1, 3), normal_axes((), 2)
    ((2,), None)
    """
    if type(axes) is int and ndim is not None and -ndim <= axes < ndim:
        return (axes % ndim,)
    if axes is None or axes == () or axes == []:
        return None
    listed = [axes] if isinstance(axes, int) else list(axes)
    if ndim is None:
        return tuple(listed)
    for axis in listed:
        if not -ndim <= axis < ndim:
            raise ShapeError(
                f"axis {axis} is out of range for {ndim} dimensions",
                f"use an axis from {-ndim} to {ndim - 1}",
            )
    normal = sorted({axis % ndim for axis in listed})
    if len(normal) != len(listed):
        raise ShapeError(f"axes {tuple(listed)} contain the same axis twice")
    return tuple(normal)


def placeholders(types: Sequence[Type]) -> str:
    """Returns the placeholders of all operands of an operator that takes any number of them.

    >>> placeholders([Type(), Type()])
    '{0}, {1}'
    """
    return ", ".join(f"{{{position}}}" for position in range(len(types)))


def method_text(types: Sequence[Type], name: str, arguments: str, x: str = "{x}") -> str:
    """Returns the text of a NumPy function, as a method where x surely has axes.

    A small call of a method takes a third of the time of the function.
    """
    if shape_of_type(types[0]):
        return f"{x}.{name}({arguments.removeprefix(', ')})"
    return f"np.{name}({x}{arguments})"  # a 0-d operand may be a Python number


def number_text(value: Any) -> str:
    """Returns the text of a number, which may be infinite or NaN.

    >>> number_text(1.5), number_text(float("-inf"))
    ('1.5', '-np.inf')
    """
    if (fraction := as_fraction(value)) is not None:
        return f"{fraction[0]} / {fraction[1]}"
    return repr(value).replace("inf", "np.inf").replace("nan", "np.nan")


def as_fraction(value: Any) -> tuple[int, int] | None:
    """Returns whole numbers whose quotient a float with many digits is, or None.

    Python computes the quotient once, when it compiles the text.

    >>> as_fraction(1 / 6), as_fraction(-256 / 255), as_fraction(0.25), as_fraction(math.pi)
    ((1, 6), (-256, 255), None, None)
    """
    if type(value) is not float or not math.isfinite(value) or len(repr(value)) < 14:
        return None
    size = abs(value)
    less = round(1 / (size - 1)) if 1 < size <= 2 else 0  # n / (n - 1): an unbiased variance
    for numerator in (*range(1, 65), *([less + 1] if less else [])):
        divisor = numerator / size
        if divisor >= 2**24:
            return None
        if numerator / max(round(divisor), 1) == size:
            return (numerator if value > 0 else -numerator), round(divisor)
    return None
