"""NumPy's callables as operators: ``np.sin(x)`` in a plain function is what
``autodiff_compiler.numpy`` has under the same name.

Two tables, made of that package's names: ``NUMPY``, from the callable to the function, and
``ARRAY_METHODS``, the methods of arrays in plain NumPy code. What is in neither is refused by name.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_compiler import numpy as ours
from autodiff_compiler import ops
from autodiff_compiler.common.dtype import to_numpy_name
from autodiff_compiler.frontend.numpy_rules.signatures import Numpys
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.operators.core import scalar_conversion, structure
from autodiff_compiler.ops.core.shape_queries import dtype_of, in_dtype
from autodiff_compiler.ops.functions.gather_scatter import item_at
from autodiff_compiler.ops.transforms.transformed import is_whole

#: Here, but with MindSpore's dtype; NumPy's own run on what is known while compiling.
_MAKES_FLOAT32 = ("arange", "empty", "eye", "full", "identity", "ones", "zeros")


def _table(theirs: Any, package: Any) -> dict[Any, Callable[..., Any]]:
    """From the functions of a NumPy module to ours of the same names."""
    names = [name for name in dir(package) if name[0] != "_" and callable(getattr(package, name))]
    return {
        getattr(theirs, name): Numpys(getattr(theirs, name), getattr(package, name))
        for name in names
        if hasattr(theirs, name) and name not in _MAKES_FLOAT32
    }


def _wide(make: Callable[..., Any]) -> Callable[..., Any]:
    """Makes an array of a size that a run tells, in NumPy's dtype."""

    def made(shape: Any, dtype: Any = None) -> Any:
        return make(shape, dtype="float64" if dtype is None else to_numpy_name(dtype))

    return made


def _full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """One value everywhere, in the dtype of the value."""
    if isinstance(fill_value, (list, tuple, Value)):
        fill = ours.array(fill_value)
        return in_dtype(ops.zeros(shape, dtype=dtype_of(fill)) + fill, dtype)
    name = np.asarray(fill_value).dtype.name if dtype is None else to_numpy_name(dtype)
    return ops.full(shape, np.asarray(fill_value).astype(name).item(), dtype=name)


def _arange(start: Any = None, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """Numbers from start up to stop, in steps: int64 if all are ints, else float64."""
    first, last = (0, start) if stop is None else (0 if start is None else start, stop)
    first, last, step = map(_python, (first, last, 1 if step is None else step))
    name = to_numpy_name(dtype or ("int64" if all(map(is_whole, (first, last, step))) else float))
    fixed = all(not isinstance(bound, Value) or is_whole(bound) for bound in (first, step))
    if fixed or np.dtype(name).kind in "biu":
        return ops.arange(first, last, step, dtype=name)
    count = scalar_conversion.to_number(ops.ceil((last - first) / step), kind="int")
    begin, second = (structure.cast(ops.add(first, by), dtype=name) for by in (0, step))
    return begin + (second - begin) * ops.arange(0, count, 1, dtype=name)  # as NumPy steps


def _python(bound: Any) -> Any:
    return bound.item() if isinstance(bound, np.generic) else bound


def _eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Any:
    """Ones on the k-th diagonal, zeros elsewhere."""
    rows, columns = _arange(N), _arange(N if M is None else M)
    ones = ops.equal(ops.expand_dims(rows, 1) + k, ops.expand_dims(columns, 0))
    return structure.cast(ones, dtype="float64" if dtype is None else to_numpy_name(dtype))


def _identity(n: Any, dtype: Any = None) -> Any:
    """The identity matrix."""
    return _eye(n, dtype=dtype)


def _caster(kind: type[np.generic]) -> Callable[..., Any]:
    """A NumPy class called on a value: the value in that dtype."""

    def cast(a: Any) -> Any:
        a = ours.array(a) if isinstance(a, (list, tuple)) else a
        return structure.cast(a, dtype=np.dtype(kind).name)

    cast.__name__ = kind.__name__
    return cast


def _indices(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives positions as NumPy does: in 64 bits."""

    @functools.wraps(function)
    def found(*arguments: Any, **named: Any) -> Any:
        return in_dtype(function(*arguments, **named), "int64")

    return found


def _contiguous(a: Any, dtype: Any = None) -> Any:
    return ours.asarray(ours.atleast_1d(a), dtype)


#: The classes of NumPy's scalars that cast what they are called on.
_KINDS = (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, np.complex64, np.complex128,
)  # fmt: skip
#: Functions of NumPy whose counterparts have other names, or dtypes of MindSpore's.
_OWN: dict[Any, Callable[..., Any]] = {
    **{getattr(np, name): _wide(getattr(ours, name)) for name in ("empty", "ones", "zeros")},
    np.full: _full, np.arange: _arange, np.eye: _eye, np.identity: _identity,
    np.argsort: _indices(ours.argsort),
    np.asanyarray: ours.asarray, np.ascontiguousarray: _contiguous,
}  # fmt: skip
NUMPY: dict[Any, Callable[..., Any]] = {
    **_table(np, ours),
    **_table(np.linalg, ours.linalg),
    **{theirs: Numpys(theirs, function) for theirs, function in _OWN.items()},
    **{kind: Numpys(kind, _caster(kind)) for kind in _KINDS},
}


def _log(x: Any, base: Any = None) -> Any:
    return ours.log(x) if base is None else ours.log(x) / ours.log(base)


def _pow(x: Any, y: Any) -> Any:
    """The power as a float: NaN where Python's ``**`` is complex."""
    base = structure.cast(x, dtype="float64") if isinstance(x, Value) else np.float64(x)
    return as_number(ours.power(base, y))


#: The functions of ``math``, on numbers of plain NumPy code.
MATH: dict[Any, Callable[..., Any]] = {
    getattr(math, name): getattr(ours, ours_name)
    for name, ours_name in (
        *((name, name) for name in (
            "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log2", "log10",
            "log1p", "sqrt", "cbrt", "fabs", "floor", "ceil", "trunc", "hypot", "copysign", "fmod",
            "isnan", "isinf", "isfinite", "radians", "degrees")),
        ("asin", "arcsin"), ("acos", "arccos"), ("atan", "arctan"), ("atan2", "arctan2"),
        ("asinh", "arcsinh"), ("acosh", "arccosh"), ("atanh", "arctanh"),
    )
    if hasattr(math, name)
} | {
    math.log: _log, math.pow: _pow, math.erf: ops.erf, math.erfc: ops.erfc, math.lgamma: ops.lgamma,
}  # fmt: skip


def _reshape(a: Any, *shape: Any) -> Any:
    return ours.reshape(a, shape[0] if len(shape) == 1 else shape)


def _transpose(a: Any, *axes: Any) -> Any:
    together = len(axes) == 1 and not isinstance(axes[0], int)
    return ours.transpose(a, (axes[0] if together else axes) or None)


def _astype(a: Any, dtype: Any, casting: Any = "unsafe") -> Any:
    have, want = dtype_of(a), np.dtype(dtype).name
    if casting != "unsafe" and (have is None or not np.can_cast(have, want, casting)):
        raise TypeError(f"{have} cannot be cast to {want} by the rule {casting!r}")
    return structure.cast(a, dtype=want)


def _view(a: Any) -> Any:
    """All elements again: with a dtype or a type it would read the memory as something else."""
    return a


def _turned(a: Any) -> Any:
    """The last two axes exchanged."""
    return ours.swapaxes(a, -1, -2)


def _item(a: Any, *place: Any) -> Any:
    """One element as a Python number, which keeps its derivative."""
    if len(place) == 1 and isinstance(place[0], tuple):
        place = place[0]
    if len(place) == 1 and isinstance(place[0], int):
        return as_number(item_at(ours.ravel(a), place[0]))
    return as_number(item_at(a, place) if place else a)


def as_number(a: Any) -> Any:
    """The only element of an array as a Python number, to which others do not adapt."""
    kind = np.dtype(dtype_of(a)).kind if dtype_of(a) else "f"
    if kind in "biu":
        return scalar_conversion.to_number(a, kind="bool" if kind == "b" else "int")
    return scalar_conversion.as_float(a) if kind == "f" else ops.reshape(a, ())


_SAME = [
    "all",
    "any",
    "argmax",
    "argmin",
    "clip",
    "conj",
    "conjugate",
    "copy",
    "cumprod",
    "cumsum",
    "diagonal",
    "dot",
    "max",
    "mean",
    "min",
    "prod",
    "ravel",
    "repeat",
    "round",
    "squeeze",
    "std",
    "sum",
    "swapaxes",
    "take",
    "trace",
    "var",
]

_METHODS: dict[str, Callable[..., Any]] = {
    **{name: getattr(ours, name) for name in _SAME},
    "argsort": _indices(ours.argsort),
    "reshape": _reshape, "transpose": _transpose, "flatten": ours.ravel, "astype": _astype,
    "item": _item, "view": _view,
}  # fmt: skip
ARRAY_METHODS: dict[str, Callable[..., Any]] = {
    name: Numpys(None, function, name) for name, function in _METHODS.items()
}
ARRAY_PROPERTIES: dict[str, Callable[[Any], Any]] = {
    "T": ours.transpose, "mT": _turned, "ndim": ours.ndim, "size": ours.size, "real": ours.real,
    "imag": ours.imag, "dtype": lambda a: np.dtype(a.dtype_name),
}  # fmt: skip
