"""By which ways a block of statements is left, before ``desugar`` makes them plain structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import gast

#: Kinds of exit: the classes of statements.
Exits: TypeAlias = set[type]
EXITS = (gast.Return, gast.Break, gast.Continue)
LOOPS = (gast.For, gast.While)


@dataclass(frozen=True)
class Place:
    """What an exit becomes where it stands: the names it sets; empty where none is needed.

    At the end of a function ``return`` stays (``returned`` is empty), and at the end of a loop's
    body ``continue`` is nothing (``skip`` is empty). ``break`` always sets ``stop``.
    """

    returned: str = ""
    result: str = ""
    stop: str = ""
    skip: str = ""

    def flags(self, kinds: Exits) -> list[str]:
        """The names that exits of these kinds set to true."""
        names = {gast.Break: self.stop, gast.Return: self.returned, gast.Continue: self.skip}
        return [name for kind, name in names.items() if kind in kinds and name]


def exits_of(block: Sequence[gast.stmt]) -> Exits:
    """The kinds of exit by which ``block`` may be left early."""
    kinds: Exits = set()
    for stmt in block:
        if isinstance(stmt, EXITS):
            kinds.add(type(stmt))
        elif isinstance(stmt, gast.Try):
            parts = (*(part.body for part in stmt.handlers), stmt.orelse, stmt.finalbody)
            kinds |= exits_of(stmt.body).union(*map(exits_of, parts))
        elif isinstance(stmt, gast.If):
            kinds |= exits_of(stmt.body) | exits_of(stmt.orelse)
        elif isinstance(stmt, LOOPS):
            kinds |= exits_of(stmt.body) - {gast.Break, gast.Continue} | exits_of(stmt.orelse)
    return kinds


def leaves(block: Sequence[gast.stmt]) -> bool:
    """Whether control never reaches the end of ``block``."""
    for stmt in block:
        if isinstance(stmt, (gast.Raise, *EXITS)):
            return True
        if isinstance(stmt, gast.If) and leaves(stmt.body) and leaves(stmt.orelse):
            return True
        if isinstance(stmt, gast.Try):
            ways = [[*stmt.body, *stmt.orelse], *(handler.body for handler in stmt.handlers)]
            if all(map(leaves, ways)):
                return True
        if isinstance(stmt, LOOPS):
            inside = exits_of(stmt.body)
            if is_endless(stmt, inside) or (gast.Break not in inside and leaves(stmt.orelse)):
                return True
    return False


def is_endless(stmt: gast.For | gast.While, inside: Exits) -> bool:
    """Whether a loop can only be left by ``return``: a ``while True`` without ``break``."""
    test = getattr(stmt, "test", None)
    ends = gast.Break in inside or bool(getattr(stmt, "until", ()))
    return isinstance(test, gast.Constant) and bool(test.value) and not ends
