"""Outcomes of a block besides reaching its end: a return, an exception, or no way on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autodiff_compiler.frontend.abstract.values import HeapRef
from autodiff_compiler.frontend.syntax.desugar.try_statement import ExceptClause
from autodiff_compiler.span import Span


@dataclass(frozen=True)
class Returned:
    """What a block gives that ended in ``return``."""

    value: Any


@dataclass(frozen=True)
class Diverged:
    """What a block gives that ended in ``raise``: nothing after it is reached."""


def is_caught(low: Any, kind: type) -> bool:
    """True if a handler catches exceptions of just this class."""
    return any(handler.catches(kind) for handler in low.catching)


@dataclass(frozen=True)
class Unwinding:
    """What a block or expression gives that was left by what a handler catches."""


@dataclass(frozen=True, eq=False)
class ActiveHandler:
    """A handler at work: its way in the text, the classes that it catches, the cells of its flag
    and of what was thrown. That is a number, of its class and place in ``places``, its text, and
    what it is made of.

    One without a way is the edge of a ``with``, which nothing may be thrown across.
    """

    way: ExceptClause | None
    classes: tuple[type, ...]
    flag: HeapRef
    thrown: HeapRef
    places: list[tuple[type, Span]] = field(default_factory=list)

    def catches(self, error: type) -> bool:
        return issubclass(error, self.classes)


class MayHaveThrown(Exception):
    """Something may have been thrown: the rest of this expression runs only if it was not."""
