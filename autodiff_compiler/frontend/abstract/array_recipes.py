"""How arrays that a text makes while it is compiled are written: ``np.linspace(-1.0, 1.0, 5)``.

Such an array depends on nothing that a run brings. The generated source says how it is made, so
that it needs nothing else: by the call that made it, or item by item where it is small.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from autodiff_compiler.cost_model import costs

#: Where NumPy has functions whose outcome depends on their arguments alone.
_NAMESPACES: dict[str, ModuleType] = {
    "np": np,
    "np.linalg": np.linalg,
    "np.fft": np.fft,
    "np.polynomial.polynomial": np.polynomial.polynomial,
    "np.polynomial.legendre": np.polynomial.legendre,
    "np.polynomial.chebyshev": np.polynomial.chebyshev,
    "np.polynomial.hermite": np.polynomial.hermite,
    "np.polynomial.hermite_e": np.polynomial.hermite_e,
    "np.polynomial.laguerre": np.polynomial.laguerre,
}
#: Those that read files or objects, or call what they are given.
_IMPURE = frozenset((
    "load", "loadtxt", "genfromtxt", "fromfile", "frombuffer", "fromfunction", "fromiter",
    "frompyfunc", "memmap", "empty", "empty_like", "apply_along_axis", "apply_over_axes",
    "piecewise", "vectorize",
))  # fmt: skip


class Recipes:
    """The arrays that were made by calls of NumPy, with the texts of these calls."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, str]] = {}

    def remember(
        self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any], made: Any
    ) -> None:
        """Keep how ``made``, the outcome of a call, is written; the parts of a tuple, by index."""
        name = _function_names().get(id(callee))
        if name is None:
            return
        given = [self._argument(arg) for arg in args]
        given += [(text := self._argument(v)) and f"{k}={text}" for k, v in kwargs.items()]
        if any(text is None for text in given):
            return
        call = f"{name}({', '.join(map(str, given))})"
        parts = enumerate(made) if isinstance(made, (tuple, list)) else ()
        for text, array in ((call, made), *((f"{call}[{n}]", part) for n, part in parts)):
            if isinstance(array, (np.ndarray, np.generic)) and _evaluates_to(text, array):
                self._made[id(array)] = array, text

    def text(self, array: Any) -> str | None:
        """Return the text that makes ``array``; None where it is large and nothing is known."""
        known = self._made.get(id(array))
        if known is not None and known[0] is array:
            return known[1]
        return literal(array)

    def _argument(self, value: Any) -> str | None:
        if isinstance(value, (np.ndarray, np.generic)):
            known = self._made.get(id(value))
            return known[1] if known is not None else literal(value)
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            parts = [self._argument(item) for item in value]
            if any(part is None for part in parts):
                return None
            inner = ", ".join(map(str, parts))
            comma = "," if len(parts) == 1 else ""
            return f"[{inner}]" if isinstance(value, list) else f"({inner}{comma})"
        if value is None or isinstance(value, (bool, str)):
            return repr(value)
        if type(value) in (int, float, complex):
            return _number_literal(value)
        if isinstance(value, type) and issubclass(value, np.generic):
            return f"np.{value.__name__}"
        if any(value is kind for kind in (int, float, bool, complex)):
            return str(value.__name__)
        return f"np.{value.type.__name__}" if _is_plain_dtype(value) else None


def literal(array: Any) -> str | None:
    """Return a small array of numbers as text; None where it is large, or holds something else.

    >>> literal(np.array([[1.0, 2.5]])), literal(np.float64(2.0))
    ('np.array([[1.0, 2.5]])', 'np.float64(2.0)')
    >>> literal(np.array([1, 2], np.int32)), literal(np.arange(100.0))
    ('np.array([1, 2], np.int32)', None)
    """
    dtype = array.dtype
    if array.size > costs().literal_elements or not _is_plain_dtype(dtype):
        return None
    if type(array) is not np.ndarray and not isinstance(array, np.generic):
        return None
    name = f"np.{'bool' if dtype.kind == 'b' else dtype.name}"
    if isinstance(array, np.generic):
        text = f"{name}({_number_literal(array.item())})"
    elif array.size == 0:
        text = f"np.zeros({array.shape}, {name})"
    else:
        usual = ("bool", "int64", "float64", "complex128")
        kind = "" if dtype.name in usual else f", {name}"
        text = f"np.array({_nested_literal(array.tolist())}{kind})"
    return text if _evaluates_to(text, array) else None


def _nested_literal(items: Any) -> str:
    if isinstance(items, list):
        return f"[{', '.join(map(_nested_literal, items))}]"
    return _number_literal(items)


def _number_literal(value: Any) -> str:
    if type(value) is complex:
        return f"complex({_number_literal(value.real)}, {_number_literal(value.imag)})"
    text = repr(value)
    return text.replace("nan", "np.nan").replace("inf", "np.inf") if type(value) is float else text


def _is_plain_dtype(dtype: Any) -> bool:
    native = isinstance(dtype, np.dtype) and dtype.isnative
    return native and dtype.type.__module__ == "numpy" and dtype.kind in "biufc"


def _evaluates_to(text: str, array: Any) -> bool:
    """Decide whether a text gives this very array."""
    if array.size > costs().checked_array_elements:
        return False
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = eval(text, {"np": np})  # made of NumPy's names and of literals
    except Exception:
        return False
    if type(found) is not type(array) or found.dtype != array.dtype or found.shape != array.shape:
        return False
    return bool(found.tobytes() == array.tobytes())


@functools.cache
def _function_names() -> dict[int, str]:
    """Return the text of each function by its identity."""
    return {
        id(function): f"{space}.{name}"
        for space, module in reversed(_NAMESPACES.items())
        for name, function in vars(module).items()
        if callable(function) and name[0] != "_" and name not in _IMPURE
        and not isinstance(function, type)
    }  # fmt: skip


__all__ = ["Recipes", "literal"]
