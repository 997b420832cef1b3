"""NumPy's callables as operators: ``np.sin(x)`` in a plain function is the record ``sin``.

One table, ``NUMPY``, from the callable to a function over records that takes NumPy's arguments.
What is not in it is refused with the name of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_compiler import ops
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import is_floating
from autodiff_compiler.operators import declare, elementwise, reduce, structure

#: NumPy name -> name in ``ops``, where the arguments are the same.
SAME = {
    "abs": "abs", "absolute": "abs", "add": "add", "arccos": "acos", "arccosh": "acosh",
    "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "atleast_1d": "atleast_1d", "atleast_2d": "atleast_2d",
    "atleast_3d": "atleast_3d", "broadcast_to": "broadcast_to", "ceil": "ceil", "clip": "clip",
    "cos": "cos", "cosh": "cosh", "cross": "cross", "cumsum": "cumsum", "diag": "diag",
    "diagonal": "diagonal", "divide": "div", "einsum": "einsum", "equal": "equal", "exp": "exp",
    "expand_dims": "expand_dims", "expm1": "expm1", "fabs": "abs", "flip": "flip",
    "fliplr": "fliplr", "flipud": "flipud", "floor": "floor", "greater": "greater",
    "greater_equal": "greater_equal", "inner": "inner", "isfinite": "isfinite", "isinf": "isinf",
    "isnan": "isnan", "kron": "kron", "less": "less", "less_equal": "less_equal", "log": "log",
    "log10": "log10", "log1p": "log1p", "log2": "log2", "logical_and": "logical_and",
    "logical_not": "logical_not", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "matmul": "matmul", "maximum": "maximum", "minimum": "minimum", "mod": "floor_mod",
    "moveaxis": "moveaxis", "multiply": "mul", "nan_to_num": "nan_to_num", "negative": "neg",
    "not_equal": "not_equal", "outer": "outer", "power": "pow", "ravel": "ravel",
    "reciprocal": "reciprocal", "remainder": "floor_mod", "repeat": "repeat_interleave",
    "reshape": "reshape", "roll": "roll", "rot90": "rot90", "sign": "sign", "sin": "sin",
    "sinh": "sinh", "sqrt": "sqrt", "square": "square", "squeeze": "squeeze",
    "subtract": "sub", "swapaxes": "swapaxes", "tan": "tan", "tanh": "tanh", "tile": "tile",
    "trace": "trace", "tril": "tril", "triu": "triu", "true_divide": "div", "where": "where",
    "zeros_like": "zeros_like", "ones_like": "ones_like", "concatenate": "concat",
    "stack": "stack", "hstack": "hstack", "vstack": "vstack", "dstack": "dstack",
    "column_stack": "column_stack",
}  # fmt: skip


def _reduction(record: OpDef, **fixed: Any) -> Callable[..., Any]:
    def reduction(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        axes = declare.normal_axes(axis, getattr(a, "ndim", 0))
        return record(a, axes=axes, keepdims=bool(keepdims), **fixed)

    return reduction


def _spread(record: OpDef) -> Callable[..., Any]:
    def spread(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
        axes = declare.normal_axes(axis, getattr(a, "ndim", 0))
        return record(a, axes=axes, keepdims=bool(keepdims), ddof=ddof)

    return spread


def _mean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    exact = not is_floating(a.type)
    return _reduction(reduce.mean)(structure.cast(a, dtype="float64") if exact else a, axis,
                                   keepdims=keepdims)  # fmt: skip


def _transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    return ops.transpose(a, tuple(reversed(range(a.ndim))) if axes is None else axes)


def _dot(a: Any, b: Any) -> Any:
    if 0 in (getattr(a, "ndim", 0), getattr(b, "ndim", 0)):
        return a * b
    return ops.matmul(a, b) if b.ndim <= 2 else ops.dot(a, b)


def _array(items: Any) -> Any:
    """``np.array`` of nested lists with values in them."""
    if not isinstance(items, (list, tuple)):
        return items
    return ops.stack([_array(item) if isinstance(item, (list, tuple)) else item for item in items])


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord not in (None, 2, "fro") or (ord == 2 and axis is None and x.ndim == 2):
        raise TypeError(f"the norm of order {ord!r} has no operator yet; use the Euclidean norm")
    axes = declare.normal_axes(axis, x.ndim)
    return elementwise.sqrt(structure.sum_(elementwise.square(x), axes=axes, keepdims=keepdims))


SPECIAL: dict[Any, Callable[..., Any]] = {
    np.sum: _reduction(structure.sum_),
    np.mean: _mean,
    np.prod: _reduction(reduce.prod),
    np.max: _reduction(reduce.max, first=False),
    np.min: _reduction(reduce.min, first=False),
    np.any: _reduction(reduce.any),
    np.all: _reduction(reduce.all),
    np.var: _spread(reduce.var),
    np.std: _spread(reduce.std),
    np.transpose: _transpose,
    np.dot: _dot,
    np.array: _array,
    np.asarray: _array,
    np.linalg.norm: _norm,
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
}

NUMPY: dict[Any, Callable[..., Any]] = {
    **{getattr(np, name): getattr(ops, same) for name, same in SAME.items() if hasattr(ops, same)},
    **SPECIAL,
}
