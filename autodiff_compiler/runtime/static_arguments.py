"""The static numbers of a call, whose values the compiler knows: as few as possible.

A number is an input of the generated function if possible. It becomes a constant if the compiler
needs its value (a length, the structure of a list). It also does if the compiler rejects the
program without it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from autodiff_compiler.errors import CompileError
from autodiff_compiler.interface.compiled import NeedValues

Made = TypeVar("Made")


def retry_with_static_numbers(
    attempt: Callable[[frozenset[int]], Made],
    slots: Sequence[Any],
    known: frozenset[int] = frozenset(),
    differentiated: Collection[int] = (),
) -> tuple[Made, frozenset[int]]:
    """Returns ``attempt(known)``, retried with more known slots while that may help, and those
    slots.

    After a CompileError all ints become known, then the floats too. A ``differentiated`` number
    becomes known only if a NeedValues names it.

    >>> def attempt(known):
    ...     if 1 not in known:
    ...         raise NeedValues((1,), "the size must be known")
    ...     return "done"
    >>> retry_with_static_numbers(attempt, ("x", 3))
    ('done', frozenset({1}))
    """
    numbers = {n: type(slot) for n, slot in enumerate(slots) if n not in differentiated}
    further = [
        frozenset(n for n, kind in numbers.items() if kind in kinds)
        for kinds in ((int,), (int, float))
    ]
    while True:
        try:
            return attempt(known), known
        except NeedValues as need:
            wanted = frozenset(need.positions)
            if wanted <= known:
                raise
        except CompileError:
            wanted = next((each for each in further if not each <= known), frozenset())
            if not wanted:
                raise
        known |= wanted


__all__ = ["retry_with_static_numbers"]
