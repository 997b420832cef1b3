'''``nonlocal``: a variable that inner functions set becomes an entry of a dict that all share.

>>> tree = gast.parse("""
... def f(x):
...     total = x
...     def add(y):
...         nonlocal total
...         total = total + y
...     add(x)
...     return total
... """).body[0]
>>> print(gast.unparse(desugar_nonlocal(tree)).strip())
def f(x):
    shared = {}
    shared['total'] = x
<BLANKLINE>
    def add(y):
        shared['total'] = shared['total'] + y
    add(x)
    return shared['total']
'''

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gast

from autodiff_compiler.fast_ast import children, nodes_in
from autodiff_compiler.frontend.syntax import builders

NAME = "shared"
_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
_SCOPES = (gast.FunctionDef, gast.Lambda, gast.ClassDef, *_COMPREHENSIONS)


def desugar_nonlocal(tree: gast.FunctionDef) -> gast.FunctionDef:
    """Returns ``tree`` with such variables in dicts; changes it."""
    inner = [part for part in _scope_nodes(tree) if isinstance(part, gast.FunctionDef)]
    shared = {name for function in inner for name in _written_outer_variables(function)} & _bound(
        tree
    )
    if shared:
        holder = next(n for n in _candidate_names() if n not in _names(tree))
        params = [name for name in _parameters(tree) if name in shared]
        _ReplaceByEntries(shared, holder).body_of(tree)
        keys = [builders.constant(name, tree.body[0]) for name in params]
        values = [builders.name(name, tree.body[0]) for name in params]
        entries = builders.at_position(tree.body[0], gast.Dict(keys, values))
        tree.body.insert(0, builders.assign(holder, entries, tree.body[0]))
    for function in inner:
        desugar_nonlocal(function)
    return tree


def writes_enclosing_scope(tree: gast.FunctionDef) -> list[Any]:
    """Returns the ``nonlocal``s whose variable belongs to no function inside the source."""
    statements: list[Any] = []

    def visit(function: Any, known: set[str]) -> None:
        for part in _scope_nodes(function):
            if isinstance(part, gast.Nonlocal) and not known.issuperset(part.names):
                statements.append(part)
            if isinstance(part, gast.FunctionDef):
                visit(part, known | _bound(function))

    visit(tree, set())
    return statements


def _candidate_names() -> Iterator[str]:
    yield NAME
    number = 0
    while True:
        number += 1
        yield f"{NAME}_{number}"


def _scope_nodes(function: Any) -> Iterator[Any]:
    """Yields the nodes of a function, and its inner scopes without their nodes."""
    todo = list(function.body)
    while todo:
        part = todo.pop(0)
        yield part
        if not isinstance(part, _SCOPES):
            todo.extend(children(part))


def _parameters(function: Any) -> list[str]:
    names = (part for part in nodes_in(function.args) if isinstance(part, gast.Name))
    return [name.id for name in names if isinstance(name.ctx, gast.Param)]


def _declared(function: Any) -> set[str]:
    return {n for p in _scope_nodes(function) if isinstance(p, gast.Nonlocal) for n in p.names}


def _bound(function: Any) -> set[str]:
    """Returns the variables of a function. The variable of a handler is not shared."""
    nodes = list(_scope_nodes(function))
    stored = {p.id for p in nodes if isinstance(p, gast.Name) and isinstance(p.ctx, gast.Store)}
    stored |= {part.name for part in nodes if isinstance(part, gast.FunctionDef)}
    caught = {p.name.id for p in nodes if isinstance(p, gast.ExceptHandler) and p.name}
    return (stored | set(_parameters(function))) - _declared(function) - caught


def _written_outer_variables(function: Any) -> set[str]:
    """Returns the variables of enclosing functions that a function, or one inside it, sets."""
    inner = [part for part in _scope_nodes(function) if isinstance(part, gast.FunctionDef)]
    below = {name for part in inner for name in _written_outer_variables(part)}
    return _declared(function) | below - _bound(function)


def _names(tree: Any) -> set[str]:
    return {part.id for part in nodes_in(tree) if isinstance(part, gast.Name)}


class _ReplaceByEntries(gast.NodeTransformer):
    """The replacement of shared variables by entries of the dict."""

    def __init__(self, shared: set[str], holder: str):
        self.shared, self.holder = shared, holder

    def body_of(self, function: Any) -> None:
        body = gast.Module(function.body, [])
        self.generic_visit(body)
        function.body = body.body or [builders.at_position(function, gast.Pass())]

    def visit_Name(self, node: Any) -> Any:
        if node.id not in self.shared or isinstance(node.ctx, gast.Param):
            return node
        key, holder = builders.constant(node.id, node), builders.name(self.holder, node)
        return builders.at_position(node, gast.Subscript(holder, key, node.ctx))

    def visit_Nonlocal(self, node: Any) -> Any:
        node.names = [name for name in node.names if name not in self.shared]
        return node if node.names else None

    def visit_FunctionDef(self, node: Any) -> Any:
        node.args = self.visit(node.args)
        hidden = self.shared & _bound(node)
        self.shared -= hidden
        self.body_of(node)
        self.shared |= hidden
        if node.name not in self.shared:
            return node
        entry = self.visit(builders.name(node.name, node, gast.Store))
        return [
            node,
            builders.at_position(node, gast.Assign([entry], builders.name(node.name, node), None)),
        ]

    def visit_Lambda(self, node: Any) -> Any:
        hidden = self.shared & set(_parameters(node))
        self.shared -= hidden
        node = self.generic_visit(node)
        self.shared |= hidden
        return node

    def _visit_comprehension(self, node: Any) -> Any:
        """Visits a comprehension: its own variables hide those of the function, except in the first
        iterable."""
        first = node.generators[0]
        first.iter = self.visit(first.iter)
        targets = (part for each in node.generators for part in nodes_in(each.target))
        hidden = self.shared & {part.id for part in targets if isinstance(part, gast.Name)}
        self.shared -= hidden
        node = self.generic_visit(node)
        self.shared |= hidden
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = _visit_comprehension
    visit_GeneratorExp = _visit_comprehension
