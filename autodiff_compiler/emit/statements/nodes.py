"""Statements of the generated text before names are chosen.

Expressions are trees in which ``ast.Name.id`` is the ``Value`` itself; ``rename_values`` puts text
there at the end. A loop's carry is one value here, written before the loop and at the end of its
body, so this is the first form in which a variable may be written twice. ``flow_of`` tells the
liveness analysis when each statement reads and writes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from autodiff_compiler.analysis.liveness import Cycle, Flow, Fork, Leave, Step
from autodiff_compiler.emit.text.templates import remade
from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import UNDEFINED
from autodiff_compiler.span import NOWHERE, Span

Node = TypeVar("Node", bound=ast.AST)


@dataclass
class Statement:
    """``span`` and ``about`` are those of the operation it came from, for comments."""

    span: Span = field(default=NOWHERE, kw_only=True)
    role: str = field(default="primal", kw_only=True)


@dataclass
class Assign(Statement):
    """``a, b = value``; a target that is None is not needed. ``unpacks``: a 1-tuple is opened."""

    targets: tuple[Value | None, ...]
    value: ast.expr
    unpacks: bool = False


@dataclass
class SimpleStatement(Statement):
    """Any simple statement; written names stand in its tree as such."""

    tree: ast.stmt


@dataclass
class TemplateLines(Statement):
    """The statements of one template: what they write is written first and completed after."""

    trees: tuple[ast.stmt, ...]


@dataclass
class ParallelAssign(Statement):
    """Assignments that happen at the same time; those to the own variable vanish in print.

    ``kind`` is 'init' and 'yield' for a loop's carries, 'branch' for the results of an ``if``.
    """

    pairs: tuple[tuple[Value, ast.expr], ...]
    kind: str


@dataclass
class Branch(Statement):
    """An ``if``."""

    test: ast.expr
    then: Block
    orelse: Block


@dataclass
class For(Statement):
    """``for targets in items``."""

    targets: tuple[Value, ...]
    items: ast.expr
    body: Block


@dataclass
class While(Statement):
    """Runs ``head`` and then, as long as ``test`` holds, ``body`` and ``head`` again."""

    head: Block
    test: ast.expr
    body: Block


@dataclass
class Break(Statement):
    """``if test: break``."""

    test: ast.expr


@dataclass
class Return(Statement):
    """The end of the function."""

    values: tuple[ast.expr, ...]


Block = list[Statement]
Tree = ast.expr | ast.stmt


def name_of(value: Value) -> ast.Name:
    """The tree that reads ``value``."""
    return ast.Name(value, ast.Load())  # type: ignore[arg-type]


def value_in(tree: ast.AST | None) -> Value | None:
    """The value that ``tree`` names, if it is nothing but a name."""
    if isinstance(tree, ast.Name) and isinstance(tree.id, Value):
        return tree.id
    return None


def reads(*trees: ast.AST) -> tuple[Value, ...]:
    """The values that ``trees`` read (an augmented assignment reads its target too)."""
    return tuple(dict.fromkeys(_found(trees, lambda node, augmented: augmented or _loads(node))))


def writes(*trees: ast.AST) -> tuple[Value, ...]:
    """The values that ``trees`` assign to."""
    return tuple(dict.fromkeys(_found(trees, lambda node, augmented: not _loads(node))))


def is_value(node: ast.Name) -> bool:
    """Whether a name stands for a value, and is no text of a template."""
    return isinstance(node.id, Value)


def _loads(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _found(trees: Iterable[ast.AST], wanted: Callable[[ast.Name, bool], bool]) -> Iterator[Value]:
    for tree in trees:
        augmented = isinstance(tree, ast.AugAssign)
        for node in nodes_in(tree):
            if isinstance(node, ast.Name) and is_value(node) and wanted(node, augmented):
                yield node.id  # type: ignore[misc]


def with_local_names(trees: Sequence[ast.stmt]) -> tuple[ast.stmt, ...]:
    """``trees`` with their own helping variables made values, which get names like all
    others."""
    bound = {
        node.id
        for tree in trees
        for node in nodes_in(tree)
        if isinstance(node, ast.Name) and not _loads(node) and not isinstance(node.id, Value)
    }
    own = {name: Value(UNDEFINED, name) for name in sorted(bound)}
    return tuple(rename_values(tree, lambda name: own.get(name, name)) for tree in trees)


def rename_values(tree: Node, name: Callable[[Any], Any]) -> Node:
    """``tree`` with other names: ``name`` maps text and values."""
    return remade(tree, lambda node: ast.Name(name(node.id), node.ctx))


def walk(block: Sequence[Statement]) -> Iterator[Statement]:
    """Every statement, those of inner blocks right after their owner."""
    for statement in block:
        yield statement
        for inner in blocks_of(statement):
            yield from walk(inner)


def blocks_of(statement: Statement) -> tuple[Block, ...]:
    if isinstance(statement, Branch):
        return (statement.then, statement.orelse)
    if isinstance(statement, While):
        return (statement.head, statement.body)
    return (statement.body,) if isinstance(statement, For) else ()


def trees_of(statement: Statement) -> tuple[Tree, ...]:
    """The trees that stand in the statement's own line."""
    if isinstance(statement, Assign):
        return (statement.value,)
    if isinstance(statement, SimpleStatement):
        return (statement.tree,)
    if isinstance(statement, TemplateLines):
        return statement.trees
    if isinstance(statement, ParallelAssign):
        return tuple(tree for _, tree in statement.pairs)
    if isinstance(statement, For):
        return (statement.items,)
    if isinstance(statement, Return):
        return statement.values
    assert isinstance(statement, (Branch, While, Break))
    return (statement.test,)


def targets_of(statement: Statement) -> tuple[Value, ...]:
    """The values that the statement's own line assigns to."""
    if isinstance(statement, (Assign, For)):
        return tuple(target for target in statement.targets if target is not None)
    if isinstance(statement, ParallelAssign):
        return tuple(target for target, _ in statement.pairs)
    return (
        writes(*trees_of(statement))
        if isinstance(statement, (SimpleStatement, TemplateLines))
        else ()
    )


def flow_of(block: Sequence[Statement]) -> Flow:
    """When ``block`` reads and writes."""
    return tuple(part for statement in block for part in _flow(statement))


def _flow(statement: Statement) -> Flow:
    needs, gives = reads(*trees_of(statement)), targets_of(statement)
    if isinstance(statement, Branch):
        branches = (flow_of(statement.then), flow_of(statement.orelse))
        return (Step(needs), Fork(branches))
    if isinstance(statement, For):
        return (Step(needs), Cycle((), (Step((), gives), *flow_of(statement.body))))
    if isinstance(statement, While):
        return (Cycle((*flow_of(statement.head), Step(needs)), flow_of(statement.body)),)
    if isinstance(statement, Break):
        return (Leave(needs),)
    if isinstance(statement, TemplateLines):  # operands are still read when something is written
        needs = tuple(value for value in needs if value not in gives)
        return (Step(needs, gives), Step((*needs, *gives)))
    return (Step(needs, gives),)
