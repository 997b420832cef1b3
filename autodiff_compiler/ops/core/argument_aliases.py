"""Functions whose arguments have several names.

MindSpore's names changed between versions, and those of ``mindspore.numpy`` differ from NumPy's.
"""

from __future__ import annotations

__macro__ = True

import functools
from collections.abc import Callable
from typing import Any, TypeVar

R = TypeVar("R")


def also(**names: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Lets a function take arguments under further names: ``names`` maps each to the function's
    own.

    >>> @also(x="value", divisor="by")
    ... def halved(value, by=2):
    ...     return value / by
    >>> halved(x=3), halved(3, divisor=4)
    (1.5, 0.75)

    An argument that is given under two names is a TypeError.
    """

    def widened(function: Callable[..., R]) -> Callable[..., R]:
        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> R:
            if not kwargs:
                return function(*args)
            renamed = {
                parameter: kwargs.pop(name) for name, parameter in names.items() if name in kwargs
            }
            return function(
                *args, **kwargs, **renamed
            )  # Python reports an argument that is given under both names

        return called

    return widened


__all__ = ["also"]
