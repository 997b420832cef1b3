"""Operator templates such as ``np.matmul({x}, {y})``, filled as trees.

A template is parsed once, with a placeholder name in each slot; operands are put in as trees and
never as strings, so precedence cannot go wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from string import Formatter
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)


def fill(template: str, slots: Mapping[str, ast.expr]) -> ast.expr:
    """The tree of an expression template with ``slots`` put in; every use of a slot is a copy.

    >>> one_more = ast.parse("a + 1", mode="eval").body
    >>> ast.unparse(fill("np.sum({x}, axis={axis}) * {x}", dict(x=one_more, axis=ast.Constant(0))))
    'np.sum(a + 1, axis=0) * (a + 1)'
    """
    tree, names = _parsed(template)
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        raise ValueError(f"the template {template!r} is no expression")
    return _rebuilt(tree.body[0].value, _by_placeholder(template, names, slots))


def fill_statements(template: str, slots: Mapping[str, ast.expr], out: str) -> list[ast.stmt]:
    """The statements of a template that assigns to ``{out}``, with ``out`` as that name.

    >>> from autodiff_compiler.emit.unparse import print_statement
    >>> template = "{out} = np.zeros({shape})\\n{out}[{index}] = {x}"
    >>> slots = dict(shape=ast.Constant(3), index=ast.Constant(1), x=ast.Name("y", ast.Load()))
    >>> for statement in fill_statements(template, slots, "z"):
    ...     print(print_statement(statement))
    z = np.zeros(3)
    z[1] = y
    """
    tree, names = _parsed(template)
    filled = _by_placeholder(template, names, {**slots, "out": ast.Name(out, ast.Load())})
    return [_rebuilt(statement, filled) for statement in tree.body]


@cache
def _parsed(template: str) -> tuple[ast.Module, frozenset[str]]:
    """The tree of a template, with a placeholder name in each slot, and the slots' names."""
    parts, names = [], set()
    for text, name, _, _ in Formatter().parse(template):
        parts.append(text)
        if name is not None:
            names.add(name)
            parts.append(_placeholder(name))
    tree = ast.parse("".join(parts))
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if not {_placeholder(name) for name in names} <= found:
        raise ValueError(f"a slot of the template {template!r} is no expression of its own")
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


def _rebuilt(tree: Node, slots: Mapping[str, ast.expr]) -> Node:
    """A copy of ``tree`` with the names in ``slots`` replaced by copies of their trees."""
    if isinstance(tree, ast.Name) and tree.id in slots:
        filled = _rebuilt(slots[tree.id], {})
        if isinstance(filled, ast.Name):
            filled.ctx = tree.ctx
        return filled  # type: ignore[return-value]
    fields = {}
    for name, value in ast.iter_fields(tree):
        if isinstance(value, ast.AST):
            value = _rebuilt(value, slots)
        elif isinstance(value, list):
            value = [_rebuilt(item, slots) if isinstance(item, ast.AST) else item for item in value]
        fields[name] = value
    return type(tree)(**fields)
