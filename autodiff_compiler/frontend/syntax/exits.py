"""Early exits of a block of statements, before ``desugar`` makes them plain structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import gast

from autodiff_compiler.frontend.syntax.nodes import exit_flags

#: Kinds of exit: the classes of statements.
Exits: TypeAlias = set[type]
EXITS = (gast.Return, gast.Break, gast.Continue)
LOOPS = (gast.For, gast.While)
NESTING = (gast.If, gast.Try, *LOOPS)


@dataclass(frozen=True)
class ExitContext:
    """The flags that exits set in a block. A flag that is not needed is empty.

    At the end of a function ``return`` stays (``returned`` is empty). At the end of a loop's body
    ``continue`` is dropped (``skip`` is empty). ``break`` always sets ``stop``.
    """

    returned: str = ""
    result: str = ""
    stop: str = ""
    skip: str = ""

    def flags(self, kinds: Exits) -> list[str]:
        """Returns the flags that exits of these kinds set to true."""
        names = {gast.Break: self.stop, gast.Return: self.returned, gast.Continue: self.skip}
        return [name for kind, name in names.items() if kind in kinds and name]


class ExitAnalysis:
    """The exits of blocks, computed once for each statement. The statements must not change."""

    def __init__(self) -> None:
        self.exits: dict[gast.stmt, Exits] = {}
        self.known: dict[gast.stmt, bool] = {}

    def exits_of(self, block: Sequence[gast.stmt]) -> Exits:
        """Returns the kinds of exit by which ``block`` may be left early."""
        return set().union(*map(self._exits, block))

    def _exits(self, stmt: gast.stmt) -> Exits:
        if isinstance(stmt, EXITS):
            return {type(stmt)}
        if not isinstance(stmt, NESTING):
            return set()
        kinds = self.exits.get(stmt)
        if kinds is None:
            kinds = self.exits_of(stmt.body)
            if isinstance(stmt, LOOPS):
                kinds -= {gast.Break, gast.Continue}
            elif isinstance(stmt, gast.Try):
                kinds.update(self.exits_of(stmt.finalbody))
                kinds.update(*(self.exits_of(part.body) for part in stmt.handlers))
            kinds |= self.exits_of(stmt.orelse)
            self.exits[stmt] = kinds
        return kinds

    def never_falls_through(self, block: Sequence[gast.stmt]) -> bool:
        """True if control never reaches the end of ``block``."""
        return any(map(self._never_falls_through, block))

    def _never_falls_through(self, stmt: gast.stmt) -> bool:
        if isinstance(stmt, (gast.Raise, *EXITS)):
            return True
        if not isinstance(stmt, NESTING):
            return False
        never = self.known.get(stmt)
        if never is None:
            if isinstance(stmt, gast.If):
                never = self.never_falls_through(stmt.body) and self.never_falls_through(
                    stmt.orelse
                )
            elif isinstance(stmt, gast.Try):
                paths = [[*stmt.body, *stmt.orelse], *(handler.body for handler in stmt.handlers)]
                never = all(map(self.never_falls_through, paths))
            else:
                inside = self.exits_of(stmt.body)
                ends = gast.Break not in inside and self.never_falls_through(stmt.orelse)
                never = is_endless(stmt, inside) or ends
            self.known[stmt] = never
        return never


def exits_of(block: Sequence[gast.stmt]) -> Exits:
    """Returns the kinds of exit by which ``block`` may be left early."""
    return ExitAnalysis().exits_of(block)


def never_falls_through(block: Sequence[gast.stmt]) -> bool:
    """True if control never reaches the end of ``block``."""
    return ExitAnalysis().never_falls_through(block)


def is_endless(stmt: gast.For | gast.While, inside: Exits) -> bool:
    """True if a loop can only be left by ``return``: a ``while True`` without ``break``."""
    test = getattr(stmt, "test", None)
    ends = gast.Break in inside or bool(exit_flags(stmt))
    return isinstance(test, gast.Constant) and bool(test.value) and not ends
