"""MindSpore's names of arguments beside NumPy's, and its ``dtype`` argument of more functions."""

from __future__ import annotations

__macro__ = True

import functools
import inspect
from collections.abc import Callable
from typing import Any

from autodiff_compiler.common.dtype import to_numpy_name
from autodiff_compiler.operators.core import structure

#: MindSpore's names of first arguments, and of second ones.
FIRST = ("a", "array", "arrays", "m", "obj", "tup", "x", "x1")
SECOND = ("new_shape", "x2")


def both(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps ``function`` so that it also accepts MindSpore's names of its arguments.

    If it has no argument ``dtype``, it gets one, to which the result is cast.

    >>> add = both(lambda input, other: input + other)
    >>> add(x1=1, x2=2), add(1, other=2)
    (3, 3)
    """
    parameters = inspect.signature(function).parameters
    positional = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    names = {
        other: name
        for name, others in zip(positional, (FIRST, SECOND))
        for other in others
        if other not in positional
    }
    casts = "dtype" not in parameters

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        dtype = kwargs.pop("dtype", None) if casts else None
        out = function(*args, **{names.get(name, name): kwargs[name] for name in kwargs})
        return out if dtype is None else structure.cast(out, dtype=to_numpy_name(dtype))

    return called


def accept(space: dict[str, Any]) -> None:
    """Wraps every public function of a module by ``both``."""
    for name, thing in space.items():
        if inspect.isfunction(thing) and name[0] != "_":
            space[name] = both(thing)


__all__ = ["accept", "both"]
