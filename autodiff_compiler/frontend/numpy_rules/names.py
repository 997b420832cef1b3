"""The functions that implement NumPy's: ``np.sin`` is ``autodiff_compiler.numpy.sin``.

``NUMPY`` maps each callable of NumPy to its implementation, and ``ARRAY_METHODS`` each method of
arrays in plain NumPy code. Functions and methods in neither table are refused by name.
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
from autodiff_compiler.frontend.numpy_rules.signatures import NumpyFunction
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.operators.core import scalar_conversion, structure
from autodiff_compiler.ops.core.shape_queries import dtype_of, in_dtype
from autodiff_compiler.ops.functions.gather_scatter import item_at
from autodiff_compiler.ops.transforms.transformed import is_whole

#: Functions of our package that make MindSpore's dtypes, and are no counterparts of NumPy's.
_MAKES_FLOAT32 = ("arange", "empty", "eye", "full", "identity", "ones", "zeros")


def _table(theirs: Any, package: Any) -> dict[Any, Callable[..., Any]]:
    """Maps the functions of a NumPy module to those of the same name in our package."""
    names = [name for name in dir(package) if name[0] != "_" and callable(getattr(package, name))]
    return {
        getattr(theirs, name): NumpyFunction(getattr(theirs, name), getattr(package, name))
        for name in names
        if hasattr(theirs, name) and name not in _MAKES_FLOAT32
    }


def _with_numpy_dtype(make: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that makes an array in NumPy's default dtype."""

    def create(shape: Any, dtype: Any = None) -> Any:
        return make(shape, dtype="float64" if dtype is None else to_numpy_name(dtype))

    return create


def _full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """Returns an array that is filled with one value, in the dtype of the value."""
    if isinstance(fill_value, (list, tuple, Value)):
        fill = ours.array(fill_value)
        return in_dtype(ops.zeros(shape, dtype=dtype_of(fill)) + fill, dtype)
    name = np.asarray(fill_value).dtype.name if dtype is None else to_numpy_name(dtype)
    return ops.full(shape, np.asarray(fill_value).astype(name).item(), dtype=name)


def _arange(start: Any = None, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """Returns numbers from start up to stop, in steps: int64 if all are ints, else float64."""
    first, last = (0, start) if stop is None else (0 if start is None else start, stop)
    first, last, step = map(_python, (first, last, 1 if step is None else step))
    name = to_numpy_name(dtype or ("int64" if all(map(is_whole, (first, last, step))) else float))
    is_exact = all(not isinstance(bound, Value) or is_whole(bound) for bound in (first, step))
    if is_exact or np.dtype(name).kind in "biu":
        return ops.arange(first, last, step, dtype=name)
    count = scalar_conversion.to_number(ops.ceil((last - first) / step), kind="int")
    begin, second = (structure.cast(ops.add(first, by), dtype=name) for by in (0, step))
    return begin + (second - begin) * ops.arange(0, count, 1, dtype=name)  # as NumPy steps


def _python(bound: Any) -> Any:
    return bound.item() if isinstance(bound, np.generic) else bound


def _eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Any:
    """Returns ones on the k-th diagonal and zeros elsewhere."""
    rows, columns = _arange(N), _arange(N if M is None else M)
    ones = ops.equal(ops.expand_dims(rows, 1) + k, ops.expand_dims(columns, 0))
    return structure.cast(ones, dtype="float64" if dtype is None else to_numpy_name(dtype))


def _identity(n: Any, dtype: Any = None) -> Any:
    """Returns the identity matrix."""
    return _eye(n, dtype=dtype)


def _cast_to(kind: type[np.generic]) -> Callable[..., Any]:
    """Returns the function of a scalar class of NumPy, which casts its argument."""

    def cast(a: Any) -> Any:
        a = ours.array(a) if isinstance(a, (list, tuple)) else a
        return structure.cast(a, dtype=np.dtype(kind).name)

    cast.__name__ = kind.__name__
    return cast


def _in_int64(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function whose positions have 64 bits, as NumPy's have."""

    @functools.wraps(function)
    def positions(*arguments: Any, **named: Any) -> Any:
        return in_dtype(function(*arguments, **named), "int64")

    return positions


def _contiguous(a: Any, dtype: Any = None) -> Any:
    return ours.asarray(ours.atleast_1d(a), dtype)


#: The classes of NumPy's scalars, which cast their argument when called.
_SCALAR_CLASSES = tuple(
    getattr(np, name)
    for name in """bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64
    complex64 complex128""".split()
)
#: Functions of NumPy whose counterparts have other names, or MindSpore's dtypes.
_OWN: dict[Any, Callable[..., Any]] = {
    **{
        getattr(np, name): _with_numpy_dtype(getattr(ours, name))
        for name in ("empty", "ones", "zeros")
    },
    np.full: _full,
    np.arange: _arange,
    np.eye: _eye,
    np.identity: _identity,
    np.argsort: _in_int64(ours.argsort),
    np.asanyarray: ours.asarray,
    np.ascontiguousarray: _contiguous,
}
NUMPY: dict[Any, Callable[..., Any]] = {
    **_table(np, ours),
    **_table(np.linalg, ours.linalg),
    **{theirs: NumpyFunction(theirs, function) for theirs, function in _OWN.items()},
    **{kind: NumpyFunction(kind, _cast_to(kind)) for kind in _SCALAR_CLASSES},
}


def _log(x: Any, base: Any = None) -> Any:
    return ours.log(x) if base is None else ours.log(x) / ours.log(base)


def _pow(x: Any, y: Any) -> Any:
    """Returns the power as a float: NaN where Python's ``**`` is complex."""
    base = structure.cast(x, dtype="float64") if isinstance(x, Value) else np.float64(x)
    return as_number(ours.power(base, y))


#: Functions of ``math`` that NumPy has under the same name, and those that it calls ``arc…``.
_SAME_IN_MATH = """sin cos tan sinh cosh tanh exp exp2 expm1 log2 log10 log1p sqrt cbrt fabs floor
    ceil trunc hypot copysign fmod isnan isinf isfinite radians degrees""".split()
_INVERSE_IN_MATH = "asin acos atan atan2 asinh acosh atanh".split()
#: The functions of ``math``, on numbers of plain NumPy code.
MATH: dict[Any, Callable[..., Any]] = {
    getattr(math, name): getattr(ours, ours_name)
    for name, ours_name in (
        *((name, name) for name in _SAME_IN_MATH),
        *((name, name.replace("a", "arc", 1)) for name in _INVERSE_IN_MATH),
    )
    if hasattr(math, name)
} | {
    math.log: _log,
    math.pow: _pow,
    math.erf: ops.erf,
    math.erfc: ops.erfc,
    math.lgamma: ops.lgamma,
}


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
    """Returns a view of all elements; a view as another dtype or type is not supported."""
    return a


def _swap_last_axes(a: Any) -> Any:
    """Returns an array with its last two axes exchanged."""
    return ours.swapaxes(a, -1, -2)


def _item(a: Any, *place: Any) -> Any:
    """Returns one element as a Python number. Its derivative is kept."""
    if len(place) == 1 and isinstance(place[0], tuple):
        place = place[0]
    if len(place) == 1 and isinstance(place[0], int):
        return as_number(item_at(ours.ravel(a), place[0]))
    return as_number(item_at(a, place) if place else a)


def as_number(a: Any) -> Any:
    """Returns the only element of an array as a Python number, which adapts to other dtypes."""
    kind = np.dtype(dtype_of(a)).kind if dtype_of(a) else "f"
    if kind in "biu":
        return scalar_conversion.to_number(a, kind="bool" if kind == "b" else "int")
    return scalar_conversion.as_float(a) if kind == "f" else ops.reshape(a, ())


#: Methods of arrays that are functions of the same name.
_SAME_METHODS = """all any argmax argmin clip conj conjugate copy cumprod cumsum diagonal dot max
    mean min prod ravel repeat round squeeze std sum swapaxes take trace var""".split()
_METHODS: dict[str, Callable[..., Any]] = {
    **{name: getattr(ours, name) for name in _SAME_METHODS},
    "argsort": _in_int64(ours.argsort),
    "reshape": _reshape,
    "transpose": _transpose,
    "flatten": ours.ravel,
    "astype": _astype,
    "item": _item,
    "view": _view,
}
ARRAY_METHODS: dict[str, Callable[..., Any]] = {
    name: NumpyFunction(None, function, name) for name, function in _METHODS.items()
}
ARRAY_PROPERTIES: dict[str, Callable[[Any], Any]] = {
    "T": ours.transpose,
    "mT": _swap_last_axes,
    "ndim": ours.ndim,
    "size": ours.size,
    "real": ours.real,
    "imag": ours.imag,
    "dtype": lambda a: np.dtype(a.dtype_name),
}


def supported_names() -> list[str]:
    """Returns the names that a plain function may use: of NumPy, of arrays and of ``math``."""
    spaces = (("np", np, NUMPY), ("np.linalg", np.linalg, NUMPY), ("math", math, MATH))
    functions = [
        f"{prefix}.{name}"
        for prefix, space, table in spaces
        for name in sorted(vars(space))
        if name[0] != "_" and callable(getattr(space, name)) and getattr(space, name) in table
    ]
    return functions + [f"array.{name}" for name in sorted({*ARRAY_METHODS, *ARRAY_PROPERTIES})]
