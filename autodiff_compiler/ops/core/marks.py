"""Marks of functions and classes: attributes that the front end reads."""

from __future__ import annotations

__macro__ = True

from typing import Any, TypeVar

CallableT = TypeVar("CallableT")


def mark(function: CallableT, **attributes: Any) -> CallableT:
    """Sets attributes of a function or class, and returns it.

    >>> vars(mark(lambda: 1, runs_while_compiling=True))
    {'runs_while_compiling': True}
    """
    for name, value in attributes.items():
        setattr(function, name, value)
    return function
