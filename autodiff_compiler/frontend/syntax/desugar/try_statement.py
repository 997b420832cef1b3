"""``try``: its body becomes a ``TryBody``, and the code behind it tests which handler caught.

Lowering knows which handler catches an exception. The active handlers are a stack, through calls as
well (``core/unwinding.py``). A throw sets the flag of the first that catches its class. The bodies
of the handlers, ``else`` and the rest become plain ``if``s on these flags. ``finally`` catches
everything, and raises it again behind its own statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gast

from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.frontend.syntax import builders
from autodiff_compiler.frontend.syntax.nodes import PlainTree


@dataclass(frozen=True, eq=False)
class ExceptClause:
    """An ``except`` clause in the source: the classes that it catches as an expression (None: all).

    ``is_read``: its variable is read. ``reraises``: it raises the exception again. ``must_run``: it
    must run for any exception of an operation, too.
    """

    classes: Any
    is_read: bool = False
    reraises: bool = False
    must_run: bool = True


class TryBody(gast.stmt):
    """The body of a ``try`` with these handlers."""

    _fields = ("body",)

    def __init__(self, body: list[Any], clauses: Sequence[ExceptClause], at: gast.AST) -> None:
        super().__init__()
        self.body, self.clauses = body, tuple(clauses)
        builders.at_position(at, self)


class CaughtException(gast.expr):
    """The condition that a handler caught something; with ``reads_message`` the message that it
    caught."""

    _fields = ()

    def __init__(self, clause: ExceptClause, at: gast.AST, reads_message: bool = False) -> None:
        super().__init__()
        self.clause, self.reads_message = clause, reads_message
        builders.at_position(at, self)


class Reraise(gast.Raise):
    """A ``raise`` of the exception that a handler caught."""

    _fields = ()

    def __init__(self, clause: ExceptClause, at: gast.AST) -> None:
        super().__init__(None, None)
        self.clause = clause
        builders.at_position(at, self)


def resolve_except_clauses(tree: gast.FunctionDef) -> gast.FunctionDef:
    """Adds the clauses of each ``try`` to ``tree``, and a ``Reraise`` for each ``raise`` of a
    caught exception. Returns the changed tree.
    """
    tree.body = _ResolveClauses().block(tree.body, None)
    return tree


def with_visible_handlers(tree: gast.FunctionDef) -> gast.FunctionDef:
    """Returns ``tree`` with the body of each ``try`` in a ``with``, for readers; changes it."""
    return _ShowHandlers().visit(tree)


class _ShowHandlers(PlainTree):
    def visit_TryBody(self, node: TryBody) -> Any:
        self.generic_visit(node)
        context = gast.withitem(builders.name("handlers", node), None)
        return builders.at_position(node, gast.With([context], node.body, None))

    def visit_CaughtException(self, node: CaughtException) -> Any:
        return builders.name("caught", node)


def exits_finally(node: gast.Try) -> bool:
    """True if ``finally`` returns, breaks or continues, which would drop an exception."""
    exits = (gast.Return, gast.Break, gast.Continue)
    return any(
        isinstance(part, exits) for stmt in node.finalbody for part in builders.nodes_of_scope(stmt)
    )


def unsupported_uses(handler: gast.ExceptHandler) -> Iterator[gast.Name]:
    """Yields reads of a caught exception that need more than its message."""
    if handler.name is None:
        return
    name = handler.name.id if isinstance(handler.name, gast.Name) else handler.name
    fine: set[int] = set()
    for part in (part for stmt in handler.body for part in nodes_in(stmt)):
        shown: list[Any] = []
        if isinstance(part, gast.Raise):
            shown = [part.exc, part.cause]
        elif isinstance(part, gast.FormattedValue) and part.conversion in (-1, 115):
            shown = [part.value]
        elif isinstance(part, gast.Call) and getattr(part.func, "id", "") in ("str", "print"):
            shown = part.args
        fine |= {id(thing) for thing in shown}
        if isinstance(part, gast.Name) and part.id == name and id(part) not in fine:
            yield part


def _is_observable(node: gast.AST) -> bool:
    """True if this has an effect outside: it may print, or sets an attribute."""
    stores = isinstance(node, gast.Attribute) and isinstance(node.ctx, gast.Store)
    return stores or isinstance(node, gast.Expr)


class _ResolveClauses:
    """The ``except`` clauses of a tree."""

    def block(self, block: Sequence[Any], caught: Any) -> list[Any]:
        """Returns ``block`` inside the handler ``caught``: its clause and its variable."""
        return [self.statement(stmt, caught) for stmt in block]

    def statement(self, stmt: Any, caught: Any) -> Any:
        if isinstance(stmt, gast.FunctionDef):
            stmt.body = self.block(stmt.body, None)
        elif isinstance(stmt, (gast.If, gast.For, gast.While)):
            stmt.body = self.block(stmt.body, caught)
            stmt.orelse = self.block(stmt.orelse, caught)
        elif isinstance(stmt, gast.Raise):
            if caught is not None and (stmt.exc is None or _is_variable(stmt.exc, caught[1])):
                return Reraise(caught[0], stmt)
        elif isinstance(stmt, gast.Try):
            if stmt.finalbody and stmt.handlers:
                inner = gast.Try(stmt.body, stmt.handlers, stmt.orelse, [])
                stmt.body, stmt.handlers = [builders.at_position(stmt, inner)], []
                stmt.orelse = []
            self.attempt(stmt, caught)
        return stmt

    def attempt(self, stmt: Any, caught: Any) -> None:
        """Gives a ``try`` its clauses, in the order of its handlers."""
        if stmt.finalbody:
            observable = any(
                _is_observable(part)
                for each in stmt.finalbody
                for part in builders.nodes_of_scope(each)
            )
            stmt.clauses = [ExceptClause(None, reraises=True, must_run=observable)]
        else:
            stmt.clauses = []
        for handler in stmt.handlers:
            name = getattr(handler.name, "id", handler.name) or ""
            parts = [part for each in handler.body for part in nodes_in(each)]
            raises = [part for part in parts if isinstance(part, gast.Raise)]
            again = any(part.exc is None or _is_variable(part.exc, name) for part in raises)
            clause = ExceptClause(handler.type, bool(name), again)
            stmt.clauses.append(clause)
            handler.body = self.block(handler.body, (clause, name))
            if name:
                handler.body.insert(
                    0,
                    builders.assign(
                        name, CaughtException(clause, handler, reads_message=True), handler
                    ),
                )
        stmt.body = self.block(stmt.body, caught)
        stmt.orelse = self.block(stmt.orelse, caught)
        stmt.finalbody = self.block(stmt.finalbody, caught)


def _is_variable(node: Any, variable: str) -> bool:
    return isinstance(node, gast.Name) and bool(variable) and node.id == variable
