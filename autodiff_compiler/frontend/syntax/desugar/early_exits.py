'''Rewrites early exits to plain structure, and short forms of assignment to long ones.

Afterwards ``break`` and ``continue`` are gone. Every path through a function ends in a ``return``
(or a ``raise``) that is the last statement of its block. Only ``if`` statements contain it, and
these are last in their blocks, too. No statement is ever duplicated. Every new node has the
position of the user's statement that it came from. ``_Rewriter`` has the cases. An example with all
of them:

>>> _show("""
... def first_large(xs, limit):
...     if limit < 0:
...         return 0
...     total = 0
...     for x in xs:
...         if x == 0:
...             continue
...         total += x
...         if total > limit:
...             return x
...         if x < 0:
...             break
...     return total
... """)
def first_large(xs, limit):
    if limit < 0:
        return 0
    else:
        total = 0
        returned = False
        stop = False
        for x in xs:
            if x == 0:
                pass
            else:
                total = total + x
                if total > limit:
                    result = x
                    returned = True
                elif x < 0:
                    stop = True
        if returned:
            return result
        else:
            return total

A loop with early exits is a ``ForUntil`` or ``WhileUntil`` with a tuple of names, ``until``:
``('stop', 'returned')`` above. It ends after the iteration in which one of them became true.
``result`` is not initialised. The value made from ``x += y`` is an ``AugmentedBinOp``, because
``+=`` extends a list in place.
'''

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import gast

from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.frontend.syntax import builders
from autodiff_compiler.frontend.syntax.desugar.try_statement import (
    CaughtException,
    Reraise,
    TryBody,
    resolve_except_clauses,
    with_visible_handlers,
)
from autodiff_compiler.frontend.syntax.exits import (
    EXITS,
    LOOPS,
    ExitAnalysis,
    ExitContext,
    Exits,
    is_endless,
)
from autodiff_compiler.frontend.syntax.nodes import AugmentedBinOp, loop_until

Block: TypeAlias = list[gast.stmt]


def desugar_early_exits(tree: gast.FunctionDef) -> gast.FunctionDef:
    """Returns ``tree`` without early exits, and functions inside it likewise; changes it."""
    body = _Rewriter(_names(tree)).block(
        _simplify_statements(tree.body, ExitAnalysis()), ExitContext()
    )
    tree.body = _with_final_return(body, tree.body[-1], ExitAnalysis())
    return tree


def _simplify_statements(block: Sequence[gast.stmt], exits: ExitAnalysis) -> Block:
    """Returns the block with plain assignments and rewritten inner functions, and without
    statements behind an exit.

    >>> _show('''
    ... def f(x, y):
    ...     x += y
    ...     y[0] += x
    ...     z: int = x
    ...     w: int
    ...     return z
    ...     print(z)
    ... ''')
    def f(x, y):
        x = x + y
        y[0] += x
        z = x
        return z
    """
    plain: Block = []
    for stmt in block:
        if isinstance(stmt, gast.AugAssign) and isinstance(stmt.target, gast.Name):
            old = builders.name(stmt.target.id, stmt.target)
            value = builders.at_position(stmt, AugmentedBinOp(old, stmt.op, stmt.value))
            stmt = builders.at_position(stmt, gast.Assign([stmt.target], value, None))
        elif isinstance(stmt, gast.AnnAssign):
            if stmt.value is None:
                continue
            stmt = builders.at_position(stmt, gast.Assign([stmt.target], stmt.value, None))
        elif isinstance(stmt, gast.FunctionDef):
            stmt = desugar_early_exits(stmt)
        elif isinstance(stmt, (gast.If, *LOOPS)):
            stmt.body, stmt.orelse = (
                _simplify_statements(stmt.body, exits),
                _simplify_statements(stmt.orelse, exits),
            )
        elif isinstance(stmt, gast.Try):
            for part in (stmt, *stmt.handlers):
                part.body = _simplify_statements(part.body, exits)
            stmt.orelse, stmt.finalbody = (
                _simplify_statements(stmt.orelse, exits),
                _simplify_statements(stmt.finalbody, exits),
            )
        plain.append(stmt)
        if exits.never_falls_through([stmt]):
            break
    return plain


class _Rewriter:
    """The rewriting of early exits in one function; ``taken`` are the names in use."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.exits = ExitAnalysis()  # a statement is asked about before it is rewritten

    def block(self, block: Sequence[gast.stmt], place: ExitContext) -> Block:
        """Returns ``block`` without early exits. A statement with some contains the rest, too."""
        done: Block = []
        for number, stmt in enumerate(block):
            if isinstance(stmt, EXITS):
                return done + self.leave(stmt, place)
            if isinstance(stmt, gast.If) and self.exits.exits_of([stmt]):
                return done + self.branch(stmt, list(block[number + 1 :]), place)
            if isinstance(stmt, LOOPS):
                return done + self.loop(stmt, list(block[number + 1 :]), place)
            if isinstance(stmt, gast.Try):
                return done + self.attempt(stmt, list(block[number + 1 :]), place)
            if isinstance(stmt, gast.If):
                stmt.body = self.filled(stmt.body, place, stmt)
                stmt.orelse = self.block(stmt.orelse, place)
            done.append(stmt)
        return done

    def filled(self, block: Sequence[gast.stmt], place: ExitContext, at: gast.AST) -> Block:
        """Returns the same for a block that must not be empty."""
        return self.block(block, place) or [builders.at_position(at, gast.Pass())]

    def leave(self, stmt: gast.stmt, place: ExitContext) -> Block:
        """Returns an exit as assignments, unless it can stay or be dropped."""
        if isinstance(stmt, gast.Return):
            value = stmt.value or builders.constant(None, stmt)
            if not place.returned:
                return [builders.at_position(stmt, gast.Return(value))]
            return [
                builders.assign(place.result, value, stmt),
                builders.flag(place.returned, True, stmt),
            ]
        name = place.stop if isinstance(stmt, gast.Break) else place.skip
        return [builders.flag(name, True, stmt)] if name else []

    def branch(self, stmt: gast.If, rest: Block, place: ExitContext) -> Block:
        """Rewrites an ``if`` with exits. If one branch exits, the rest moves into the other one.

        >>> _show('''
        ... def f(a, b):
        ...     if a:
        ...         b = 1
        ...     else:
        ...         return a
        ...     return b
        ... ''')
        def f(a, b):
            if a:
                b = 1
                return b
            else:
                return a

        If both branches may reach their end, exits set flags, and the rest tests them:

        >>> _show('''
        ... def f(a, b):
        ...     if a:
        ...         if b:
        ...             return 1
        ...         a = 2
        ...     return a
        ... ''')
        def f(a, b):
            returned = False
            if a:
                if b:
                    result = 1
                    returned = True
                else:
                    a = 2
            if returned:
                return result
            else:
                return a
        """
        body, orelse, inner = stmt.body, stmt.orelse, place
        before: Block = []
        after: Block = []
        if self.exits.never_falls_through(body):
            orelse = orelse + rest
        elif self.exits.never_falls_through(orelse):
            body = body + rest
        elif rest:
            kinds = self.exits.exits_of([stmt])
            inner, before = self.enter(kinds, place, stmt)
            after = self.resume(kinds, place, inner, rest, stmt)
        stmt.body = self.filled(body, inner, stmt)
        stmt.orelse = self.block(orelse, inner)
        return [*before, stmt, *after]

    def loop(self, stmt: gast.For | gast.While, rest: Block, place: ExitContext) -> Block:
        """Rewrites a loop. Exits in its body set the flags of ``until``; ``else`` tests ``stop``.

        >>> _show('''
        ... def f(xs):
        ...     for x in xs:
        ...         if x:
        ...             if x > 1:
        ...                 continue
        ...             break
        ...         g(x)
        ...     else:
        ...         h(xs)
        ...     return x
        ... ''')
        def f(xs):
            stop = False
            for x in xs:
                if x:
                    if x > 1:
                        pass
                    else:
                        stop = True
                else:
                    g(x)
            if not stop:
                h(xs)
            return x
        """
        inside = self.exits.exits_of(stmt.body)
        endless, kinds = is_endless(stmt, inside), inside - {gast.Break, gast.Continue}
        inner, before = self.enter(kinds, place, stmt)
        stop = builders.fresh_name(self.taken, "stop") if gast.Break in inside else ""
        if stop:
            before.append(builders.flag(stop, False, stmt))
        orelse, stmt.orelse = stmt.orelse, []
        if orelse and stop:
            orelse = [
                builders.at_position(
                    orelse[0], gast.If(builders.negated_disjunction([stop], orelse[0]), orelse, [])
                )
            ]
        within = replace(inner, stop=stop, skip="")
        stmt.body = self.filled(stmt.body, within, stmt)
        stmt = loop_until(stmt, within.flags(inside))
        if not endless:
            return [*before, stmt, *self.resume(kinds, place, inner, orelse + rest, stmt)]
        if gast.Return in kinds and not place.returned:
            return [
                *before,
                stmt,
                builders.at_position(stmt, gast.Return(builders.guarded_name(inner.result, stmt))),
            ]
        return [*before, stmt]

    def attempt(self, stmt: gast.Try, rest: Block, place: ExitContext) -> Block:
        """Rewrites a ``try``: the code behind its body tests which of its handlers caught.

        >>> _show('''
        ... def f(x, low):
        ...     try:
        ...         if low:
        ...             raise ValueError(x)
        ...         x = x * 2
        ...     except ValueError:
        ...         x = 0
        ...     return x
        ... ''')
        def f(x, low):
            with handlers:
                if low:
                    raise ValueError(x)
                x = x * 2
            if caught:
                x = 0
            return x
        """
        kinds, ends = self.exits.exits_of(stmt.body), self.exits.never_falls_through(stmt.body)
        inner, before = self.enter(kinds, place, stmt)
        done = [*before, TryBody(self.filled(stmt.body, inner, stmt), stmt.clauses, stmt)]
        if not stmt.finalbody:
            follow = stmt.orelse
            for number, handler in reversed(list(enumerate(stmt.handlers))):
                if ends and number == len(stmt.handlers) - 1:
                    follow = handler.body
                else:
                    test = CaughtException(stmt.clauses[number], handler)
                    follow = [builders.at_position(handler, gast.If(test, handler.body, follow))]
            return done + self.resume(kinds, place, inner, follow + rest, stmt)
        (left,) = stmt.clauses
        done += self.block(stmt.finalbody, place)
        if ends and kinds == {gast.Return} and not place.returned:
            after = [
                builders.at_position(stmt, gast.Return(builders.guarded_name(inner.result, stmt)))
            ]
        else:
            after = self.resume(kinds, place, inner, rest, stmt)
        after = [
            builders.at_position(
                stmt, gast.If(CaughtException(left, stmt), [Reraise(left, stmt)], after)
            )
        ]
        return done + after

    def enter(self, kinds: Exits, place: ExitContext, at: gast.stmt) -> tuple[ExitContext, Block]:
        """Returns the context inside a statement that is not the last one: exits need flags."""
        before: Block = []
        if gast.Return in kinds and not place.returned:
            returned, result = (
                builders.fresh_name(self.taken, "returned"),
                builders.fresh_name(self.taken, "result"),
            )
            place = replace(place, returned=returned, result=result)
            before.append(builders.flag(returned, False, at))
        if gast.Continue in kinds and not place.skip:
            place = replace(place, skip=builders.fresh_name(self.taken, "skip"))
            before.append(builders.flag(place.skip, False, at))
        return place, before

    def resume(
        self, kinds: Exits, place: ExitContext, inner: ExitContext, rest: Block, at: gast.stmt
    ) -> Block:
        """Returns the code behind a statement whose exits of ``kinds`` set flags of ``inner``."""
        done = self.block(rest, place)
        if gast.Return in kinds and not place.returned:
            result = builders.at_position(at, gast.Return(builders.guarded_name(inner.result, at)))
            return [
                builders.at_position(at, gast.If(builders.name(inner.returned, at), [result], done))
            ]
        flags = inner.flags(kinds)
        if not flags or not done:
            return done
        return [
            builders.at_position(at, gast.If(builders.negated_disjunction(flags, at), done, []))
        ]


def _with_final_return(block: Block, at: gast.AST, exits: ExitAnalysis) -> Block:
    """Returns the block with ``return None`` at the end of each path without ``return``.

    >>> _show('''
    ... def f(a):
    ...     if a:
    ...         return 1
    ...     print(a)
    ... ''')
    def f(a):
        if a:
            return 1
        else:
            print(a)
            return None
    """
    last = block[-1] if block else None
    if isinstance(last, gast.If) and gast.Return in exits.exits_of([last]):
        last.body = _with_final_return(last.body, last, exits)
        last.orelse = _with_final_return(last.orelse, last, exits)
    elif isinstance(last, (type(None), *LOOPS)) or not exits.never_falls_through([last]):
        at = last or at
        return [*block, builders.at_position(at, gast.Return(builders.constant(None, at)))]
    return block


def _names(tree: gast.AST) -> set[str]:
    """Returns the names of variables, functions and imports in ``tree``."""
    parts = list(nodes_in(tree))
    fields = ("id", "name", "asname")
    return {name for part in parts for field in fields if (name := getattr(part, field, None))}


def _show(text: str) -> None:
    """Prints what becomes of a function: the examples in this file."""
    tree = desugar_early_exits(resolve_except_clauses(gast.parse(text).body[0]))
    print(gast.unparse(with_visible_handlers(tree)))
