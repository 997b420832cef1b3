"""``mindspore.numpy`` names some arguments otherwise than NumPy, and takes a dtype in more places:
here functions take both."""

from __future__ import annotations

__macro__ = True

import functools
import inspect
from collections.abc import Callable
from typing import Any

from autodiff_compiler.common.dtype import to_numpy_name
from autodiff_compiler.operators.core import structure

#: What MindSpore calls the first argument of one function or another, and the second.
FIRST = ("a", "array", "arrays", "m", "obj", "tup", "x", "x1")
SECOND = ("new_shape", "x2")


def both(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, whose arguments may be given under MindSpore's names too. Without a ``dtype``
    of its own, its result is cast to that.

    >>> add = both(lambda input, other: input + other)
    >>> add(x1=1, x2=2), add(1, other=2)
    (3, 3)
    """
    parameters = inspect.signature(function).parameters
    own = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    names = {
        other: name
        for name, others in zip(own, (FIRST, SECOND))
        for other in others
        if other not in own
    }
    casts = "dtype" not in parameters

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        dtype = kwargs.pop("dtype", None) if casts else None
        out = function(*args, **{names.get(name, name): kwargs[name] for name in kwargs})
        return out if dtype is None else structure.cast(out, dtype=to_numpy_name(dtype))

    return called


def accept(room: dict[str, Any]) -> None:
    """Makes every function of a module one that takes both names."""
    for name, thing in room.items():
        if inspect.isfunction(thing) and name[0] != "_":
            room[name] = both(thing)


__all__ = ["accept", "both"]
