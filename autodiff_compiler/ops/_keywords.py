"""Functions whose arguments have several names: MindSpore's changed from version to version, and
those of ``mindspore.numpy`` are not NumPy's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def also(**names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Lets a function take arguments under further names: ``names`` gives its own for each.

    >>> @also(x="value", divisor="by")
    ... def halved(value, by=2):
    ...     return value / by
    >>> halved(x=3), halved(3, divisor=4)
    (1.5, 0.75)
    """

    def widened(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **{names.get(name, name): kwargs[name] for name in kwargs})

        return called

    return widened


__all__ = ["also"]
