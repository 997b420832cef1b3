"""New tensors, from numbers or with the shape and dtype of another."""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.common.dtype import to_numpy_name
from autodiff_compiler.common.tensor import Tensor, wrap
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import INT
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.core.scalar_conversion import to_number
from autodiff_compiler.operators.indexing import creation
from autodiff_compiler.ops.core.shape_queries import dtype_of, in_dtype, shape_and_operands


def full(size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """Returns a tensor of one number; its dtype is the number's unless given."""
    name = _dtype_of_number(fill_value) if dtype is None else to_numpy_name(dtype)
    known, operands = shape_and_operands(size)
    return wrap(structure.full(*operands, shape=known, dtype=name, value=_number(fill_value, name)))


def _dtype_of_number(value: Any) -> str:
    return dtype_of(value) or dtype_of(Tensor(value)) or "float32"


def _number(value: Any, dtype: str) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return value if "bool" in dtype or not isinstance(value, bool) else int(value)


def zeros(size: Any, dtype: Any = None) -> Tensor:
    """Returns a tensor of zeros, of float32 unless a dtype is given."""
    return full(size, 0, dtype="float32" if dtype is None else dtype)


def ones(shape: Any, dtype: Any = None) -> Tensor:
    """Returns a tensor of ones, of float32 unless a dtype is given."""
    return full(shape, 1, dtype="float32" if dtype is None else dtype)


def zeros_like(input: Any, *, dtype: Any = None) -> Tensor:
    """Returns zeros of the shape of input."""
    return in_dtype(structure.full_like(input, value=0), dtype)


def ones_like(input: Any, *, dtype: Any = None) -> Tensor:
    """Returns ones of the shape of input."""
    return in_dtype(structure.full_like(input, value=1), dtype)


def full_like(input: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """Returns one number in the shape of input."""
    return in_dtype(structure.full_like(input, value=fill_value), dtype)


def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Tensor:
    """Returns numbers from start up to end, in steps: int64 if all are ints, else float32."""
    given = (0, start, step) if end is None else (start, end, step)
    values = [bound for bound in given if isinstance(bound, Value)]
    bounds = tuple(
        ("op", values.index(bound)) if isinstance(bound, Value) else bound for bound in given
    )
    all_integers = all(
        isinstance(bound, int) or bound in values and bound.type == INT for bound in given
    )
    name = ("int64" if all_integers else "float32") if dtype is None else to_numpy_name(dtype)
    return wrap(creation.arange(*values, bounds=bounds, dtype=name))


def range(start: Any, end: Any, step: Any = 1, maxlen: int = 1000000) -> Tensor:
    """Returns numbers from start up to end, in steps, given as numbers or as tensors of one
    element."""
    return arange(*(one_number(bound) for bound in (start, end, step)))


def one_number(bound: Any) -> Any:
    """Returns a number: the argument, or the only element of a tensor."""
    if not hasattr(bound, "__apply_operator__"):
        return bound
    kind = "int" if "int" in (dtype_of(bound) or "int") else "float"
    return bound if isinstance(bound, Value) and bound.type == INT else to_number(bound, kind=kind)


def fill(type: Any, shape: Any, value: Any) -> Tensor:
    """Returns a tensor of one number, in a dtype."""
    return full(shape, value, dtype=type)


def filled(shape: Any, value: Any) -> Any:
    """Returns a tensor with one number, given as a tensor or plain, everywhere."""
    if isinstance(value, Value):
        known, operands = shape_and_operands(shape)
        return structure.broadcast_to(value, *operands, shape=known)
    return full(shape, value)


def eye(n: int, m: int | None = None, dtype: Any = None) -> Tensor:
    """Returns ones on the diagonal, zeros elsewhere."""
    name = "float32" if dtype is None else to_numpy_name(dtype)
    return wrap(creation.eye(rows=n, columns=n if m is None else m, dtype=name))


def linspace(start: Any, end: Any, steps: int) -> Tensor:
    """Returns ``steps`` numbers from start to end, both included, in float32."""
    return wrap(creation.linspace(start=float(start), stop=float(end), count=int(steps)))


__all__ = [
    "arange",
    "eye",
    "fill",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "range",
    "zeros",
    "zeros_like",
]
