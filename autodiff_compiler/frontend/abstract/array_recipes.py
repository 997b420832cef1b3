"""Source of arrays that are made at compile time: ``np.linspace(-1.0, 1.0, 5)``.

These arrays depend on no argument. The generated source makes them itself: by the call that made
them, or item by item if they are small.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from autodiff_compiler.cost_model import costs

#: NumPy's namespaces of functions whose outcome depends on their arguments alone.
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
#: Functions of these that read files or objects, or call a function.
_IMPURE = frozenset(
    """load loadtxt genfromtxt fromfile frombuffer fromfunction fromiter frompyfunc memmap
    empty empty_like apply_along_axis apply_over_axes piecewise vectorize""".split()
)


class Recipes:
    """The arrays made by calls of NumPy, with the source of these calls."""

    def __init__(self) -> None:
        self._texts: dict[int, tuple[Any, str]] = {}

    def remember(
        self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any], outcome: Any
    ) -> None:
        """Records the text of ``outcome``, the outcome of a call, and those of a tuple's items."""
        name = _function_names().get(id(callee))
        if name is None:
            return
        given = [self._argument(arg) for arg in args]
        given += [(text := self._argument(v)) and f"{k}={text}" for k, v in kwargs.items()]
        if any(text is None for text in given):
            return
        call = f"{name}({', '.join(map(str, given))})"
        parts = enumerate(outcome) if isinstance(outcome, (tuple, list)) else ()
        for text, array in ((call, outcome), *((f"{call}[{n}]", part) for n, part in parts)):
            if isinstance(array, (np.ndarray, np.generic)) and _evaluates_to(text, array):
                self._texts[id(array)] = array, text

    def text(self, array: Any) -> str | None:
        """Returns the text that makes ``array``; None if it is large and no call is known."""
        known = self._texts.get(id(array))
        if known is not None and known[0] is array:
            return known[1]
        return literal(array)

    def _argument(self, value: Any) -> str | None:
        if isinstance(value, (np.ndarray, np.generic)):
            known = self._texts.get(id(value))
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
    """Returns a small array of numbers as text; None if it is large, or holds something else.

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
    """True if the text evaluates to an equal array of the same type."""
    if array.size > costs().checked_array_elements:
        return False
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            evaluated = eval(text, {"np": np})  # consists of NumPy's names and of literals
    except Exception:
        return False
    if (
        type(evaluated) is not type(array)
        or evaluated.dtype != array.dtype
        or evaluated.shape != array.shape
    ):
        return False
    return bool(evaluated.tobytes() == array.tobytes())


@functools.cache
def _function_names() -> dict[int, str]:
    """Returns the text of each function by its identity."""
    names = {}
    for namespace, module in reversed(_NAMESPACES.items()):
        for name, function in vars(module).items():
            is_function = callable(function) and not isinstance(function, type)
            if is_function and name[0] != "_" and name not in _IMPURE:
                names[id(function)] = f"{namespace}.{name}"
    return names


__all__ = ["Recipes", "literal"]
