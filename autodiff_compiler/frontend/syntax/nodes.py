"""Nodes of the syntax tree that desugaring makes in place of Python's own.

Each is a kind of Python's node with one fact more. Lowering reads the fact; nothing is written to a
node after it is made, for trees are kept between compilations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gast


class GuardedName(gast.Name):
    """A read of a variable that a flag has shown to be set."""


class KnownName(gast.Name):
    """A read of something of Python's own: no variable can stand in its way."""

    def __init__(self, thing: Any) -> None:
        super().__init__(thing.__name__, gast.Load(), None, None)
        self.thing = thing


class AugmentedBinOp(gast.BinOp):
    """The value of ``x = x + y`` that was written as ``x += y``."""


class ForUntil(gast.For):
    """A ``for`` that ends where one of the variables ``until`` is true after an iteration."""

    until: tuple[str, ...] = ()


class WhileUntil(gast.While):
    """A ``while`` that ends where one of the variables ``until`` is true after an iteration."""

    until: tuple[str, ...] = ()


#: Python's node that each of these is a kind of.
PLAIN_KINDS: dict[type, type] = {
    GuardedName: gast.Name,
    KnownName: gast.Name,
    AugmentedBinOp: gast.BinOp,
    ForUntil: gast.For,
    WhileUntil: gast.While,
}


def loop_until(loop: gast.stmt, flags: Sequence[str]) -> gast.stmt:
    """Returns a loop like ``loop`` that also ends where one of the variables ``flags`` is true."""
    if not flags:
        return loop
    kind = ForUntil if isinstance(loop, gast.For) else WhileUntil
    extended = kind(*(getattr(loop, field) for field in loop._fields))
    extended.until = tuple(flags)
    gast.copy_location(extended, loop)
    return extended


def exit_flags(loop: Any) -> tuple[str, ...]:
    """Returns the variables that end a loop after an iteration."""
    return loop.until if isinstance(loop, (ForUntil, WhileUntil)) else ()


class PlainTree(gast.NodeTransformer):
    """Replaces the nodes of this module by Python's own, so that a tree can be printed."""

    def visit(self, node: Any) -> Any:
        plain = PLAIN_KINDS.get(type(node))
        if plain is not None:
            fields = (getattr(node, field) for field in node._fields)
            node = gast.copy_location(plain(*fields), node)
        return super().visit(node)
