"""Statements of the generated source before names are chosen.

In expressions, ``ast.Name.id`` is the ``Value`` itself; ``rename_values`` puts text there at the
end. A loop's carry is one value here. It is written before the loop and at the end of its body: in
this form a variable may be written twice. ``Statement.flow`` says when a statement reads and
writes, for the liveness analysis.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from autodiff_compiler.analysis.liveness import Cycle, Flow, Fork, Leave, Step
from autodiff_compiler.emit.text.templates import with_names
from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import UNDEFINED
from autodiff_compiler.span import NOWHERE, Span

Node = TypeVar("Node", ast.expr, ast.stmt)
Tree = ast.expr | ast.stmt


@dataclass
class Statement:
    """A statement. ``span`` and ``role`` are those of its operation, for comments."""

    span: Span = field(default=NOWHERE, kw_only=True)
    role: str = field(default="primal", kw_only=True)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of a compound statement."""
        return ()

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The trees in the statement's own line."""
        raise NotImplementedError

    @property
    def written(self) -> tuple[Value, ...]:
        """The values that the statement's own line assigns to."""
        return ()

    def flow(self) -> Flow:
        """Returns the reads and writes of the statement, in order."""
        return (Step(reads(*self.trees), self.written),)


@dataclass
class Assign(Statement):
    """``a, b = value``. A target that is None is not needed. ``unpacks`` opens a 1-tuple."""

    targets: tuple[Value | None, ...]
    value: ast.expr
    unpacks: bool = False

    @property
    def trees(self) -> tuple[Tree, ...]:
        return (self.value,)

    @property
    def written(self) -> tuple[Value, ...]:
        return tuple(target for target in self.targets if target is not None)


@dataclass
class SimpleStatement(Statement):
    """Any simple statement. The values that it writes are names in its tree."""

    tree: ast.stmt

    @property
    def trees(self) -> tuple[Tree, ...]:
        return (self.tree,)

    @property
    def written(self) -> tuple[Value, ...]:
        return writes(self.tree)


@dataclass
class TemplateLines(Statement):
    """The statements of one template. They may write a result first and complete it later, so
    operands are still read after the first write."""

    statements: tuple[ast.stmt, ...]

    @property
    def trees(self) -> tuple[Tree, ...]:
        return self.statements

    @property
    def written(self) -> tuple[Value, ...]:
        return writes(*self.statements)

    def flow(self) -> Flow:
        gives = self.written
        needed = tuple(value for value in reads(*self.statements) if value not in gives)
        return (Step(needed, gives), Step((*needed, *gives)))


@dataclass
class ParallelAssign(Statement):
    """Assignments at the same time. An assignment of a variable to itself is not printed.

    ``kind`` is 'init' and 'yield' for a loop's carries, 'branch' for the results of an ``if``.
    """

    pairs: tuple[tuple[Value, ast.expr], ...]
    kind: str

    @property
    def trees(self) -> tuple[Tree, ...]:
        return tuple(tree for _, tree in self.pairs)

    @property
    def written(self) -> tuple[Value, ...]:
        return tuple(target for target, _ in self.pairs)


@dataclass
class Branch(Statement):
    """An ``if``."""

    test: ast.expr
    then: Block
    orelse: Block

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.then, self.orelse

    @property
    def trees(self) -> tuple[Tree, ...]:
        return (self.test,)

    def flow(self) -> Flow:
        return (Step(reads(self.test)), Fork((flow_of(self.then), flow_of(self.orelse))))


@dataclass
class For(Statement):
    """``for targets in items``."""

    targets: tuple[Value, ...]
    items: ast.expr
    body: Block

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (self.body,)

    @property
    def trees(self) -> tuple[Tree, ...]:
        return (self.items,)

    @property
    def written(self) -> tuple[Value, ...]:
        return self.targets

    def flow(self) -> Flow:
        body = (Step((), self.targets), *flow_of(self.body))
        return (Step(reads(self.items)), Cycle((), body))


@dataclass
class While(Statement):
    """Runs ``head`` and then, as long as ``test`` holds, ``body`` and ``head`` again."""

    head: Block
    test: ast.expr
    body: Block

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.head, self.body

    @property
    def trees(self) -> tuple[Tree, ...]:
        return (self.test,)

    def flow(self) -> Flow:
        return (Cycle((*flow_of(self.head), Step(reads(self.test))), flow_of(self.body)),)


@dataclass
class Break(Statement):
    """``if test: break``."""

    test: ast.expr

    @property
    def trees(self) -> tuple[Tree, ...]:
        return (self.test,)

    def flow(self) -> Flow:
        return (Leave(reads(self.test)),)


@dataclass
class Return(Statement):
    """The end of the function."""

    values: tuple[ast.expr, ...]

    @property
    def trees(self) -> tuple[Tree, ...]:
        return self.values


Block = list[Statement]


def name_of(value: Value) -> ast.Name:
    """Returns the tree that reads ``value``."""
    # A value in place of text: ``rename_values`` replaces it.
    return ast.Name(value, ast.Load())  # type: ignore[arg-type]


def value_in(tree: ast.AST | None) -> Value | None:
    """Returns the value that ``tree`` names, or None if it is anything but a name of one."""
    if not isinstance(tree, ast.Name):
        return None
    name: object = tree.id
    return name if isinstance(name, Value) else None


def reads(*trees: ast.AST) -> tuple[Value, ...]:
    """Returns the values that ``trees`` read. An augmented assignment reads its target, too."""
    return tuple(dict.fromkeys(_values(trees, lambda node, augmented: augmented or _loads(node))))


def writes(*trees: ast.AST) -> tuple[Value, ...]:
    """Returns the values that ``trees`` assign to."""
    return tuple(dict.fromkeys(_values(trees, lambda node, augmented: not _loads(node))))


def _loads(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _values(trees: Iterable[ast.AST], wanted: Callable[[ast.Name, bool], bool]) -> Iterator[Value]:
    for tree in trees:
        augmented = isinstance(tree, ast.AugAssign)
        for node in nodes_in(tree):
            if (
                isinstance(node, ast.Name)
                and isinstance(node.id, Value)
                and wanted(node, augmented)
            ):
                yield node.id


def with_local_names(trees: Sequence[ast.stmt]) -> tuple[ast.stmt, ...]:
    """Returns ``trees`` with a value for each variable of the template, which then gets a name like
    all others."""
    bound = {
        node.id
        for tree in trees
        for node in nodes_in(tree)
        if isinstance(node, ast.Name) and not _loads(node) and value_in(node) is None
    }
    variables = {name: Value(UNDEFINED, name) for name in sorted(bound)}
    return tuple(rename_values(tree, lambda name: variables.get(name, name)) for tree in trees)


def rename_values(tree: Node, name: Callable[[Any], Any]) -> Node:
    """Returns ``tree`` with other names: ``name`` maps text and values."""
    return with_names(tree, lambda node: ast.Name(name(node.id), node.ctx))


def walk(block: Sequence[Statement]) -> Iterator[Statement]:
    """Yields every statement, those of inner blocks right after their owner."""
    for statement in block:
        yield statement
        for inner in statement.blocks:
            yield from walk(inner)


def flow_of(block: Sequence[Statement]) -> Flow:
    """Returns the reads and writes of a block, in order."""
    return tuple(part for statement in block for part in statement.flow())
