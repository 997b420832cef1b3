"""Operator templates such as ``np.matmul({x}, {y})``, filled in as trees.

A template is parsed once, with a placeholder name in each slot. Operands are inserted as trees and
never as strings, so precedence cannot go wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cache
from operator import is_
from string import Formatter
from typing import overload

from autodiff_compiler.fast_ast import nodes_in


def fill(template: str, slots: Mapping[str, ast.expr]) -> ast.expr:
    """Returns the tree of an expression template with ``slots`` filled in.

    >>> one_more = ast.parse("a + 1", mode="eval").body
    >>> ast.unparse(fill("np.sum({x}, axis={axis}) * {x}", dict(x=one_more, axis=ast.Constant(0))))
    'np.sum(a + 1, axis=0) * (a + 1)'
    """
    tree, names = _parsed(template)
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        raise ValueError(f"the template {template!r} is not an expression")
    return with_names(tree.body[0].value, _by_slots(_by_placeholder(template, names, slots)))


def fill_statements(template: str, slots: Mapping[str, ast.expr]) -> list[ast.stmt]:
    """Returns the statements of a template with ``slots`` filled in; the slot ``out`` is a name.

    >>> from autodiff_compiler.emit.text.expressions import print_statement
    >>> template = "{out} = np.zeros({shape})\\n{out}[{index}] = {x}"
    >>> x, z = ast.Name("y", ast.Load()), ast.Name("z", ast.Load())
    >>> slots = dict(shape=ast.Constant(3), index=ast.Constant(1), x=x, out=z)
    >>> for statement in fill_statements(template, slots):
    ...     print(print_statement(statement))
    z = np.zeros(3)
    z[1] = y
    """
    tree, names = _parsed(template)
    filled = _by_slots(_by_placeholder(template, names, slots))
    return [with_names(statement, filled) for statement in tree.body]


@cache
def _parsed(template: str) -> tuple[ast.Module, frozenset[str]]:
    """Returns the tree of a template, with a placeholder name in each slot, and the slots'
    names."""
    parts, names = [], set()
    for text, name, _, _ in Formatter().parse(template):
        parts.append(text)
        if name is not None:
            names.add(name)
            parts.append(_placeholder(name))
    tree = ast.parse("".join(parts))
    used = {node.id for node in nodes_in(tree) if isinstance(node, ast.Name)}
    if not {_placeholder(name) for name in names} <= used:
        raise ValueError(f"a slot of the template {template!r} is not an expression of its own")
    return tree, frozenset(names)


def _placeholder(name: str) -> str:
    return f"_slot_{name}_"


def _by_placeholder(
    template: str, names: frozenset[str], slots: Mapping[str, ast.expr]
) -> dict[str, ast.expr]:
    missing = sorted(names - slots.keys())
    if missing:
        raise KeyError(f"the template {template!r} wants {', '.join(missing)}")
    return {_placeholder(name): slots[name] for name in names}


@overload
def with_names(tree: ast.expr, change: Callable[[ast.Name], ast.expr]) -> ast.expr: ...


@overload
def with_names(tree: ast.stmt, change: Callable[[ast.Name], ast.expr]) -> ast.stmt: ...


def with_names(tree: ast.AST, change: Callable[[ast.Name], ast.expr]) -> ast.AST:
    """Returns ``tree`` with ``change(name)`` in place of each name.

    Parts without a changed name are shared; no tree is changed in place.
    """
    return _with_names(tree, change)


def _with_names(tree: ast.AST, change: Callable[[ast.Name], ast.expr]) -> ast.AST:
    if isinstance(tree, ast.Name):
        return change(tree)
    parts, same = [], True
    for field in tree._fields:
        old = new = getattr(tree, field, None)
        if isinstance(old, ast.AST):
            new = _with_names(old, change) if old._fields else old
        elif isinstance(old, list):
            items = [
                _with_names(item, change) if isinstance(item, ast.AST) else item for item in old
            ]
            new = old if all(map(is_, items, old)) else items
        same = same and new is old
        parts.append(new)
    return tree if same else type(tree)(*parts)


def _by_slots(slots: Mapping[str, ast.expr]) -> Callable[[ast.Name], ast.expr]:
    """Returns the function from a placeholder to the tree in its slot."""

    def tree_in(name: ast.Name) -> ast.expr:
        tree = slots.get(name.id, name)
        return ast.Name(tree.id, name.ctx) if isinstance(tree, ast.Name) else tree

    return tree_in
