"""Functions of modules that most processes never need: imported when they are first called."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def imported_late(module: str, name: str) -> Callable[..., Any]:
    """Returns a function that calls ``name`` of a module, which it imports then.

    >>> root = imported_late("math", "sqrt")
    >>> root(9.0)
    3.0
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(import_module(module), name)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


__all__ = ["imported_late"]
