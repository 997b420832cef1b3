"""``try``: what its body raises becomes an exit, which ``desugar`` makes plain structure of.

Each handler has a flag. A ``raise`` in the body becomes a ``Throw``, which sets the flag of the
handler that catches it. Which one does is known while compiling, because the class of what is
raised is. ``finally`` catches everything, and raises it again behind its own statements. Every
statement of a body knows (``tried``) what its handlers catch: the lowering refuses there what may
raise such an exception where only a run can tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gast

from autodiff_compiler.frontend import make


@dataclass(frozen=True)
class Way:
    """A handler as a ``raise`` sees it: its flag, the classes that it catches (None: all) as an
    expression, its variable, and where what it may have to raise again is kept (``again``).
    ``watched`` says whether it must run for whatever is raised."""

    flag: str
    classes: Any
    variable: str = ""
    again: str = ""
    watched: bool = True


class Throw(gast.stmt):
    """``raise`` where a handler stands around it. Without ``exc`` it raises again what set the
    flag ``of``. ``targets`` are the variables that it may set, ``ways`` the handlers."""

    _fields = ("exc", "targets")

    def __init__(self, exc: Any, ways: Sequence[Way], of: Way | None, at: gast.AST) -> None:
        names = [name for way in ways for name in (way.flag, way.variable, way.again) if name]
        super().__init__()
        self.exc, self.ways, self.of = exc, tuple(ways), of
        self.targets = [make.name(name, at, gast.Store) for name in names]
        make.placed(at, self)

    @property
    def flags(self) -> list[str]:
        """The flags that it may set."""
        return [way.flag for way in self.ways]


def with_flags(tree: gast.FunctionDef, taken: set[str]) -> gast.FunctionDef:
    """``tree`` with flags for its handlers, and every ``raise`` inside a ``Throw``; changes it.
    ``taken`` are the names in it."""
    tree.body = _Flags(taken).block(tree.body, (), None)
    return tree


def shown(tree: gast.FunctionDef) -> gast.FunctionDef:
    """``tree`` with each ``Throw`` as a call that sets flags, for people; changes it."""
    return _Shown().visit(tree)


class _Shown(gast.NodeTransformer):
    def visit_Throw(self, node: Throw) -> Any:
        targets = [make.name(flag, node, gast.Store) for flag in node.flags]
        args = [] if node.exc is None else [node.exc]
        call = make.placed(node, gast.Call(make.name("throw", node), args, []))
        return make.placed(node, gast.Assign(targets, call, None))


def leaves_finally(node: gast.Try) -> bool:
    """Whether ``finally`` returns, breaks or continues, which would drop what was raised."""
    exits = (gast.Return, gast.Break, gast.Continue)
    return any(isinstance(part, exits) for stmt in node.finalbody for part in _inside(stmt))


def unreadable(handler: gast.ExceptHandler) -> Iterator[gast.Name]:
    """Reads of what a handler caught that need more of it than its text."""
    if handler.name is None:
        return
    name = handler.name.id if isinstance(handler.name, gast.Name) else handler.name
    fine: set[int] = set()
    for part in (part for stmt in handler.body for part in gast.walk(stmt)):
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


def _acts(node: gast.AST) -> bool:
    """Whether this may be seen outside: it prints, or sets an attribute."""
    stores = isinstance(node, gast.Attribute) and isinstance(node.ctx, gast.Store)
    return stores or isinstance(node, gast.Expr)


def _inside(node: gast.AST) -> Iterator[gast.AST]:
    yield node
    if not isinstance(node, (gast.FunctionDef, gast.Lambda)):
        for child in gast.iter_child_nodes(node):
            yield from _inside(child)


class _Flags:
    """Gives flags to the handlers of one tree."""

    def __init__(self, taken: set[str]):
        self.taken = taken

    def block(self, block: Sequence[Any], ways: tuple[Way, ...], caught: Way | None) -> list[Any]:
        """``block`` in the body of handlers (``ways``, the innermost first), and itself in the
        handler that ``caught`` belongs to."""
        done = []
        for stmt in block:
            made = self.statement(stmt, ways, caught)
            made.tried = tuple(way for way in ways if way.watched)
            done.append(made)
        return done

    def statement(self, stmt: Any, ways: tuple[Way, ...], caught: Way | None) -> Any:
        if isinstance(stmt, gast.FunctionDef):
            stmt.body = self.block(stmt.body, (), None)
        elif isinstance(stmt, (gast.If, gast.For, gast.While, gast.With)):
            stmt.body = self.block(stmt.body, ways, caught)
            if not isinstance(stmt, gast.With):
                stmt.orelse = self.block(stmt.orelse, ways, caught)
        elif isinstance(stmt, gast.Assert) and ways:
            told = [] if stmt.msg is None else [stmt.msg]
            error = make.placed(stmt, gast.Call(make.builtin(AssertionError, stmt), told, []))
            wrong = make.placed(stmt, gast.UnaryOp(gast.Not(), stmt.test))
            return make.placed(stmt, gast.If(wrong, [Throw(error, ways, None, stmt)], []))
        elif isinstance(stmt, gast.Raise):
            again = caught is not None and (stmt.exc is None or _is(stmt.exc, caught.variable))
            if again or ways:
                return Throw(None if again else stmt.exc, ways, caught if again else None, stmt)
        elif isinstance(stmt, gast.Try):
            if stmt.finalbody and stmt.handlers:
                inner = gast.Try(stmt.body, stmt.handlers, stmt.orelse, [])
                stmt.body, stmt.handlers = [make.placed(stmt, inner)], []
                stmt.orelse = []
            return self.attempt(stmt, ways, caught)
        return stmt

    def attempt(self, stmt: Any, ways: tuple[Way, ...], caught: Way | None) -> Any:
        """A ``try`` with its flags, and in ``again`` what raises after ``finally``."""
        if stmt.finalbody:
            left, error = make.fresh(self.taken, "left"), make.fresh(self.taken, "error")
            watched = any(_acts(part) for each in stmt.finalbody for part in _inside(each))
            own = [Way(left, None, "", error, watched)]
        else:
            own = [self.way(handler) for handler in stmt.handlers]
        stmt.flags = [way.flag for way in own]
        stmt.body = self.block(stmt.body, (*own, *ways), caught)
        for handler, way in zip(stmt.handlers, own):
            handler.body = self.handled(handler, way, ways)
        stmt.orelse = self.block(stmt.orelse, ways, caught)
        stmt.finalbody = self.block(stmt.finalbody, ways, caught)
        stmt.again = Throw(None, ways, own[0], stmt) if stmt.finalbody else make.placed(
            stmt, gast.Pass())  # fmt: skip
        return stmt

    def way(self, handler: Any) -> Way:
        name = handler.name.id if isinstance(handler.name, gast.Name) else handler.name or ""
        reraises = any(
            isinstance(part, gast.Raise) and (part.exc is None or _is(part.exc, name))
            for stmt in handler.body
            for part in gast.walk(stmt)
        )
        again = make.fresh(self.taken, "error") if reraises else ""
        return Way(make.fresh(self.taken, "caught"), handler.type, name, again)

    def handled(self, handler: Any, way: Way, ways: tuple[Way, ...]) -> list[Any]:
        """The statements of a handler, whose variable is set where it runs, and not after it."""
        for part in (part for stmt in handler.body for part in gast.walk(stmt)):
            if way.variable and _is(part, way.variable):
                part.guarded = True
        return self.block(handler.body, ways, way)


def _is(node: Any, variable: str) -> bool:
    return isinstance(node, gast.Name) and bool(variable) and node.id == variable
