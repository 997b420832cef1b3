"""Python callbacks of the generated function: logging, and hooks that do not compile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_compiler.common.tensor import wrap
from autodiff_compiler.frontend.abstract.values import HeapRef, leaves, rebuild
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.interface.compiled import PythonFunction
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.operators.core.effects import python_hook


def call_python(low: Lowering, hook: Any, args: Sequence[Any], like: Any = None) -> Any:
    """Calls a Python function at run time, with the values of ``args`` as tensors.

    Returns new values in the structure of ``like``, which holds values of ``args`` only; None
    without it.
    """
    values: list[Value] = []
    given = tuple(_with_slots(arg, values, low.state.heap) for arg in args)
    replaced: list[Value] = []
    pattern = None if like is None else _with_slots(like, replaced, low.state.heap)
    places = tuple(values.index(value) for value in replaced)
    name = getattr(hook, "__name__", type(hook).__name__)
    name = name if name.isidentifier() else "hook"
    call = _PythonCall(hook, given, pattern, places, low.compilation.numpy)
    function = low.lift(PythonFunction(name, call), name)
    attrs = {"gives": tuple(type_of(value) for value in replaced)}
    results = low.builder.make(python_hook, (function, *values), attrs)
    if not replaced:
        return None
    remaining = iter(results if isinstance(results, tuple) else (results,))
    return rebuild(like, (next(remaining) if isinstance(x, Value) else x for x in leaves(like)))


@dataclass(frozen=True)
class _Slot:
    """The place of a run-time value in the arguments of a Python function."""

    place: int


@dataclass(frozen=True, eq=False)
class _PythonCall:
    """A Python hook as generated code calls it, which takes and returns arrays.

    ``args`` are its arguments, and ``like`` the value that it may replace, with slots for arrays.
    ``places`` has the slot of ``args`` for each slot of ``like``.
    """

    hook: Any
    args: tuple
    like: Any
    places: tuple[int, ...]
    numpy: bool

    def __call__(self, *arrays: Any) -> Any:
        # Copies, since the hook may keep its arguments or change them.
        copies = [np.array(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in arrays]
        given = copies if self.numpy else wrap(copies)
        answer = self.hook(*(_fill_slots(arg, given) for arg in self.args))
        old = [np.array(copies[place]) for place in self.places]
        if self.like is None:
            if answer is not None:
                raise TypeError(
                    f"the hook {self._name} cannot be compiled, so it may read the "
                    f"gradient but must return None; it returned a {type(answer).__name__}"
                )
            return None
        if isinstance(self.like, tuple) and len(self.like) == 1 and not isinstance(answer, tuple):
            answer = (answer,)
        new = old if answer is None else [*self._parts(answer, self.like, old)]
        return new[0] if len(new) == 1 else tuple(new)

    @property
    def _name(self) -> str:
        return f"'{getattr(self.hook, '__qualname__', type(self.hook).__name__)}'"

    def _parts(self, cotangent: Any, like: Any, old: Sequence[Any]) -> Iterator[Any]:
        """Yields the arrays of a new cotangent, each with the dtype and shape of the old one."""
        if isinstance(like, _Slot):
            before = old[like.place]
            if cotangent is None:
                yield before
                return
            array = np.asarray(getattr(cotangent, "_data", cotangent))
            if array.shape != np.shape(before):
                raise ValueError(
                    f"the hook {self._name} was given a gradient of shape {np.shape(before)} and "
                    f"returned one of shape {array.shape}"
                )
            yield array.astype(before.dtype) if hasattr(before, "dtype") else array
        elif isinstance(like, (tuple, list, dict)):
            keys = list(like) if isinstance(like, dict) else range(len(like))
            if not isinstance(cotangent, type(like)) or len(cotangent) != len(like):
                raise TypeError(
                    f"the hook {self._name} returned no {type(like).__name__} "
                    f"of {len(like)} gradients"
                )
            for key in keys:
                yield from self._parts(cotangent[key], like[key], old)


def _with_slots(value: Any, values: list[Value], heap: Mapping[HeapRef, Any]) -> Any:
    """Returns ``value`` with slots for run-time values, which are appended to ``values``."""
    if isinstance(value, Value):
        values.append(value)
        return _Slot(len(values) - 1)
    if isinstance(value, HeapRef):
        inner = _with_slots(heap[value], values, heap)
        return list(inner) if value.kind == "list" else inner
    if type(value) is tuple:
        return tuple([_with_slots(item, values, heap) for item in value])
    if isinstance(value, dict):
        return {key: _with_slots(item, values, heap) for key, item in value.items()}
    return value


def _fill_slots(pattern: Any, arrays: Sequence[Any]) -> Any:
    """Returns an argument with the arrays in its slots."""
    if isinstance(pattern, _Slot):
        return arrays[pattern.place]
    if type(pattern) in (tuple, list):
        return type(pattern)([_fill_slots(item, arrays) for item in pattern])
    if type(pattern) is dict:
        return {key: _fill_slots(item, arrays) for key, item in pattern.items()}
    return pattern
