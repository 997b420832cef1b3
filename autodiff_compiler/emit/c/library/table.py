"""``FUNCTIONS``, every definition of the C library, and the text of those that a program uses."""

from __future__ import annotations

from collections.abc import Iterable

from autodiff_compiler.emit.c.library import (
    arithmetic,
    error_function,
    exponential,
    gamma,
    integers,
    logarithm,
    parts,
    powers,
    series,
    trigonometric,
)
from autodiff_compiler.emit.c.library.record import CFunction

_MODULES = (
    parts,
    arithmetic,
    exponential,
    logarithm,
    trigonometric,
    powers,
    error_function,
    gamma,
    integers,
    series,
)

#: Every definition by name, each after those that it needs.
FUNCTIONS: dict[str, CFunction] = {}


def _add(function: CFunction, waiting: dict[str, CFunction]) -> None:
    for name in sorted(function.words & waiting.keys() - {function.name}):
        if name in waiting:
            _add(waiting.pop(name), waiting)
    FUNCTIONS[function.name] = function


def _fill() -> None:
    waiting = {each.name: each for module in _MODULES for each in module.FUNCTIONS}
    while waiting:
        _add(waiting.pop(next(iter(waiting))), waiting)


_fill()


def needs(name: str) -> tuple[str, ...]:
    """Returns the names that the definition of ``name`` uses, in the order of the table.

    >>> needs("tan_f32")
    ('angle_f32', 'reduce_f32')
    """
    words = FUNCTIONS[name].words
    return tuple(each for each in FUNCTIONS if each in words and each != name)


def functions_for(names: Iterable[str]) -> str:
    """Returns the C text of the functions ``names`` and of all that they need.

    The order is that of the table, so the text does not depend on the order of ``names``.

    >>> print(functions_for(["sqrt_f64"]))
    /* the square root */
    static inline double sqrt_f64(double x) {
      return __builtin_sqrt(x);
    }
    """
    used: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in used:
            used.add(name)
            waiting += needs(name)
    return "\n\n".join(each.text for name, each in FUNCTIONS.items() if name in used)
