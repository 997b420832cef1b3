"""NumPy's callables as operators: ``np.sin(x)`` in a plain function is what
``autodiff_compiler.numpy`` has under the same name.

Two tables, made of that room's names: ``NUMPY``, from the callable to the function, and
``ARRAY_METHODS``, the methods of arrays in plain NumPy code. What is in neither is refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_compiler import numpy as ours
from autodiff_compiler import ops
from autodiff_compiler.common.dtype import to_numpy_name
from autodiff_compiler.frontend.numpy_signatures import Numpys
from autodiff_compiler.operators import structure
from autodiff_compiler.ops._shapes import dtype_of
from autodiff_compiler.ops.parts import item_at

#: Here, but with MindSpore's dtype; NumPy's own run on what is known while compiling.
_MAKES_FLOAT32 = ("arange", "empty", "eye", "full", "identity", "ones", "zeros")


def _table(theirs: Any, room: Any) -> dict[Any, Callable[..., Any]]:
    """From the functions of a NumPy module to ours of the same names."""
    names = [name for name in dir(room) if name[0] != "_" and callable(getattr(room, name))]
    return {
        getattr(theirs, name): Numpys(getattr(theirs, name), getattr(room, name))
        for name in names
        if hasattr(theirs, name) and name not in _MAKES_FLOAT32
    }


def _wide(make: Callable[..., Any]) -> Callable[..., Any]:
    """Makes an array of a size that a run tells, in NumPy's dtype."""

    def made(shape: Any, dtype: Any = "float64") -> Any:
        return make(shape, dtype=to_numpy_name(dtype))

    return made


def _contiguous(a: Any, dtype: Any = None) -> Any:
    return ours.asarray(ours.atleast_1d(a), dtype)


NUMPY: dict[Any, Callable[..., Any]] = {
    **_table(np, ours),
    **_table(np.linalg, ours.linalg),
    **{
        getattr(np, name): Numpys(getattr(np, name), _wide(getattr(ours, name)))
        for name in ("empty", "ones", "zeros")
    },
    np.asanyarray: Numpys(np.asanyarray, ours.asarray),
    np.ascontiguousarray: Numpys(np.ascontiguousarray, _contiguous),
}


def _log(x: Any, base: Any = None) -> Any:
    return ours.log(x) if base is None else ours.log(x) / ours.log(base)


#: The functions of ``math``, on numbers of plain NumPy code.
MATH: dict[Any, Callable[..., Any]] = {
    getattr(math, name): getattr(ours, ours_name)
    for name, ours_name in (
        *((name, name) for name in (
            "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log2", "log10",
            "log1p", "sqrt", "cbrt", "fabs", "floor", "ceil", "trunc", "hypot", "copysign", "fmod",
            "isnan", "isinf", "isfinite", "radians", "degrees")),
        ("asin", "arcsin"), ("acos", "arccos"), ("atan", "arctan"), ("atan2", "arctan2"),
        ("asinh", "arcsinh"), ("acosh", "arccosh"), ("atanh", "arctanh"), ("pow", "power"),
    )
    if hasattr(math, name)
} | {
    math.log: _log, math.erf: ops.erf, math.erfc: ops.erfc, math.lgamma: ops.lgamma,
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


def _item(a: Any, *place: int) -> Any:
    """One element, which keeps its derivative: NumPy's floats are no barrier."""
    if len(place) == 1 and isinstance(place[0], int):
        return item_at(ours.ravel(a), place[0])
    return item_at(a, place) if place else ops.reshape(a, ())


_SAME = [
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
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
