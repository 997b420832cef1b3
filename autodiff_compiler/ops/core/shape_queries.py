"""Questions about arguments: shape, rank, dtype. A ``Tensor`` and an IR ``Value`` answer alike.

The functions of this package run at once on tensors and, at compile time, on values. They decide by
shapes, ranks and dtype names alone, which the functions below return.
"""

from __future__ import annotations

__macro__ = True

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from autodiff_compiler.common.dtype import to_numpy_name
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import BUILDING
from autodiff_compiler.ir.types import INT, SHAPE, ArrayType, ListType, Shape, is_complex
from autodiff_compiler.operators.core.containers import make_tuple
from autodiff_compiler.operators.core.declare import normal_axes
from autodiff_compiler.operators.core.structure import cast, copy

P = ParamSpec("P")
R = TypeVar("R")


def shape_of(x: Any) -> Shape:
    """Returns the shape as far as it is known; a number has none (``()``)."""
    if isinstance(x, Value):
        return x.type.shape if isinstance(x.type, ArrayType) else ()
    return tuple(getattr(x, "shape", ()))


def rank_of(x: Any) -> int | None:
    """Returns the number of axes, or None if it is unknown."""
    if type(x) is Tensor:
        return x._data.ndim
    shape = shape_of(x)
    return None if shape is None else len(shape)


def known_rank(x: Any, what: str) -> int:
    """Returns the rank. Raises a ShapeError that names ``what`` if it is unknown."""
    rank = rank_of(x)
    if rank is None:
        raise ShapeError(
            f"{what} needs to know how many dimensions its input has",
            "give the shapes of the inputs in the signature, such as x=f32[2,3]",
        )
    return rank


def is_list(x: Any) -> bool:
    """True if ``x`` is a list whose length is known at run time only."""
    return isinstance(x, Value) and isinstance(x.type, ListType)


def item_rank(x: Any, what: str) -> int:
    """Returns the rank of the items of such a list."""
    return known_rank(Value(x.type.item), what)


def known_sizes(x: Any, what: str) -> tuple[int, ...]:
    """Returns the shape as ints. Raises a ShapeError that names ``what`` if a size is unknown."""
    shape = shape_of(x)
    sizes = tuple(dim for dim in shape or () if isinstance(dim, int))
    if shape is None or len(sizes) != len(shape):
        raise ShapeError(
            f"{what} needs to know the shape of its input",
            "give the shape as numbers in the signature, such as x=f32[2,3]",
        )
    return sizes


def dtype_of(x: Any) -> str | None:
    """Returns NumPy's name of the dtype; None for numbers and where it is unknown."""
    if isinstance(x, Value):
        return x.dtype_name
    dtype = getattr(x, "dtype", None)
    return None if dtype is None else to_numpy_name(dtype)


def holds_complex(x: Any) -> bool:
    """True if x certainly holds complex numbers, or is one."""
    if isinstance(x, Value):
        return is_complex(x.type)
    return isinstance(x, complex) or "complex" in (dtype_of(x) or "")


def is_integral(x: Any) -> bool:
    """True if x certainly holds ints or bools."""
    dtype = dtype_of(x)
    return dtype is not None and ("int" in dtype or dtype == "bool")


def axes_of(axis: Any, x: Any) -> tuple[int, ...] | None:
    """Returns the axes that a reduction of x goes over; None for all."""
    if axis is None:
        return None
    return normal_axes(axis, rank_of(x))


def axis_of(axis: int, rank: int | None) -> int:
    """Returns an axis counted from the front where the rank is known."""
    (normal,) = normal_axes(axis, rank) or (axis,)
    return normal


def in_dtype(x: Any, dtype: Any) -> Tensor:
    """Casts x to ``dtype`` if one is given and differs."""
    if dtype is None or dtype_of(x) == to_numpy_name(dtype):
        return x
    return cast(x, dtype=to_numpy_name(dtype))


def unaliased(function: Callable[P, R]) -> Callable[P, R]:
    """Wraps ``function`` so that its result is a copy where it would be its first argument
    itself."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        out = function(*args, **kwargs)
        given: Any = args[0] if args else next(iter(kwargs.values()), None)
        return copy(out) if out is given and rank_of(out) != 0 else out

    return called


def setting(given: Any) -> Any:
    """Returns a setting, which may be a tensor, as plain numbers and lists of numbers.

    At compile time it must be a tensor from outside the function, or made of numbers inside it.
    """
    if isinstance(given, Value) and isinstance(given.type, ArrayType):
        given = BUILDING.stack[-1].known_array(given)
        if given is None:
            raise ShapeError(
                "this argument must be a compile-time constant", "pass ints, or a tuple of ints"
            )
    return given.tolist() if hasattr(given, "tolist") else given


def shape_and_operands(shape: Any) -> tuple[Shape, tuple[Any, ...]]:
    """Returns a shape argument as operators take it: the known sizes, and a run-time shape if
    needed."""
    if isinstance(shape, Value) and shape.type == SHAPE:
        return None, (shape,)
    if type(shape) is tuple and all([type(dim) is int for dim in shape]):
        return shape, ()
    shape = setting(shape)
    dims: Sequence[Any] = shape if isinstance(shape, (tuple, list)) else (shape,)
    if not any(isinstance(dim, Value) for dim in dims):
        return tuple(int(dim) for dim in dims), ()
    for dim in dims:
        if isinstance(dim, Value) and dim.type != INT:
            raise ShapeError(
                f"a dimension must be an int, not {dim.type}", "use x.shape[i] or int(...)"
            )
    known = tuple(dim if isinstance(dim, int) and dim >= 0 else None for dim in dims)
    return known, (make_tuple(*dims),)


def one_or_many(given: Sequence[Any]) -> Any:
    """Returns the arguments of ``f(2, 3)`` or of ``f((2, 3))``, which mean the same."""
    if len(given) == 1 and (isinstance(given[0], (tuple, list)) or not isinstance(given[0], int)):
        return given[0]
    return tuple(given)
