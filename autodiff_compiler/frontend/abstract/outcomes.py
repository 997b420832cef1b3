"""Outcomes of a block besides reaching its end: a return, a throw, or divergence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from autodiff_compiler.frontend.abstract.values import HeapRef
from autodiff_compiler.frontend.syntax.desugar.try_statement import ExceptClause
from autodiff_compiler.span import Span


@dataclass(frozen=True)
class Returned:
    """The outcome of a block that ended in ``return``."""

    value: Any


@dataclass(frozen=True)
class Diverged:
    """The outcome of a block that ended in ``raise``: nothing after it is reached."""


@dataclass(frozen=True)
class Unwinding:
    """The outcome of a block or expression that threw what an active handler catches."""


@dataclass(frozen=True, eq=False)
class ActiveHandler:
    """An active handler: its clause, the classes that it catches, and two heap objects.

    ``flag`` says that something was thrown. ``thrown`` has a number, which is the position in
    ``places`` of its class and place; then its message, and the arguments of the exception.
    A handler without a clause is the edge of a ``with``: nothing may be thrown across it.
    """

    clause: ExceptClause | None
    classes: tuple[type, ...]
    flag: HeapRef
    thrown: HeapRef
    places: list[tuple[type, Span]] = field(default_factory=list)

    def catches(self, error: type) -> bool:
        return issubclass(error, self.classes)


class MayHaveThrown(Exception):
    """Raised while lowering: something may have been thrown at run time, and the rest of this
    expression runs only if it was not."""


def is_caught(handlers: Iterable[ActiveHandler], kind: type) -> bool:
    """True if one of the handlers catches exceptions of just this class."""
    return any(handler.catches(kind) for handler in handlers)
