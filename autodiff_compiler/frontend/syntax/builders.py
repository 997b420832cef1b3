"""Builders of syntax nodes at the position of a user's node (``at``), so that each has a span."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import gast

from autodiff_compiler.fast_ast import children
from autodiff_compiler.frontend.syntax.nodes import (
    GuardedName,
    KnownName,
    exit_flags,
    loop_until,
)

Node = TypeVar("Node")


def fresh_name(taken: set[str], wish: str) -> str:
    """Returns ``wish``, or the first of ``wish_1``, ``wish_2``, … that is not taken; takes it."""
    free, number = wish, 0
    while free in taken:
        number += 1
        free = f"{wish}_{number}"
    taken.add(free)
    return free


def at_position(at: gast.AST, node: Node) -> Node:
    """Gives ``node`` the position of ``at``, and returns it."""
    gast.copy_location(node, at)
    return node


def name(text: str, at: gast.AST, context: type = gast.Load) -> gast.Name:
    """Returns a read of a variable, or with ``gast.Store`` a write."""
    return at_position(at, gast.Name(text, context(), None, None))


def guarded_name(text: str, at: gast.AST) -> gast.Name:
    """Returns a read of a result that a flag has shown to be set."""
    return at_position(at, GuardedName(text, gast.Load(), None, None))


def constant(value: Any, at: gast.AST) -> gast.Constant:
    """Returns a literal: True, False, None, a number or a string."""
    return at_position(at, gast.Constant(value, None))


def assign(target: str, value: gast.AST, at: gast.AST) -> gast.Assign:
    """Returns ``target = value``."""
    return at_position(at, gast.Assign([name(target, at, gast.Store)], value, None))


def flag(target: str, value: bool, at: gast.AST) -> gast.Assign:
    """Returns ``target = True`` or ``target = False``."""
    return assign(target, constant(value, at), at)


def collecting_loop(node: gast.AST, source: str, items: str) -> gast.stmt:
    """Returns the loop that appends the items of a comprehension over ``source`` to ``items``."""
    append = at_position(node, gast.Attribute(name(items, node), "append", gast.Load()))
    statement: gast.stmt = at_position(
        node, gast.Expr(at_position(node, gast.Call(append, [node.elt], [])))
    )
    for generator in reversed(node.generators):
        for test in reversed(generator.ifs):
            statement = at_position(test, gast.If(test, [statement], []))
        first = generator is node.generators[0]
        through = name(source, generator.iter) if first else generator.iter
        statement = at_position(node, gast.For(generator.target, through, [statement], [], None))
    return statement


def index_loop(node: gast.AST, items: str, at: str, first: str, counts: bool) -> gast.stmt:
    """Returns the ``while`` over the list ``items`` that does the same as the ``for`` at ``node``.

    With ``counts`` each item comes with its number; the first number is ``first``.
    """

    def plus(left: str, right: gast.AST) -> gast.AST:
        return at_position(node, gast.BinOp(name(left, node), gast.Add(), right))

    length = at_position(node, gast.Call(builtin_name(len, node), [name(items, node)], []))
    test = at_position(node, gast.Compare(name(at, node), [gast.Lt()], [length]))
    item = at_position(node, gast.Subscript(name(items, node), name(at, node), gast.Load()))
    if counts:
        item = at_position(node, gast.Tuple([plus(first, name(at, node)), item], gast.Load()))
    take = at_position(node, gast.Assign([node.target], item, None))
    step = assign(at, plus(at, constant(1, node)), node)
    loop = at_position(node, gast.While(test, [take, step, *node.body], []))
    return loop_until(loop, exit_flags(node))


def builtin_name(thing: Any, at: gast.AST) -> gast.Name:
    """Returns a read of something of Python's own: no variable can stand in its way."""
    return at_position(at, KnownName(thing))


def nodes_of_scope(node: gast.AST) -> Iterator[gast.AST]:
    """Yields ``node`` and the nodes below it, but none inside inner functions."""
    yield node
    if not isinstance(node, (gast.FunctionDef, gast.Lambda)):
        for child in children(node):
            yield from nodes_of_scope(child)


def conjunction(tests: Sequence[Any], at: gast.AST) -> gast.AST:
    """Returns ``one and other``; True for no tests."""
    if len(tests) < 2:
        return tests[0] if tests else constant(True, at)
    return at_position(at, gast.BoolOp(gast.And(), list(tests)))


def negated_disjunction(flags: list[str], at: gast.AST) -> gast.AST:
    """Returns ``not flag``, or ``not (one or other)``."""
    names = [name(text, at) for text in flags]
    test = names[0] if len(names) == 1 else at_position(at, gast.BoolOp(gast.Or(), names))
    return at_position(at, gast.UnaryOp(gast.Not(), test))
