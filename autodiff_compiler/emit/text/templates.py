"""Operator templates such as ``np.matmul({x}, {y})``, filled as trees.

A template is parsed once, with a placeholder name in each slot; operands are put in as trees and
never as strings, so precedence cannot go wrong.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from operator import is_
from string import Formatter
from typing import TypeVar

from autodiff_compiler.fast_ast import nodes_in

Node = TypeVar("Node", bound=ast.AST)

#: The text that makes an array of a single one: the sensitivity of a small result.
_ONE = re.compile(r"np\.array\(\[1\], np\.(\w+)\)")


def with_constants(template: str) -> str:
    """``template`` with copies of constants of the module for what takes longer to make.

    >>> with_constants("np.array([1], np.float32)")
    'ONE_FLOAT32.copy()'
    """
    return _ONE.sub(lambda found: f"ONE_{found[1].upper()}.copy()", template)


def definitions(words: Iterable[str]) -> list[str]:
    """The lines that define those of ``words`` that are constants of the module.

    >>> definitions({"np", "ONE_FLOAT32"})
    ['ONE_FLOAT32 = np.array([1], np.float32)']
    """
    named = sorted(word for word in words if word.startswith("ONE_"))
    return [f"{word} = np.array([1], np.{word[4:].lower()})" for word in named]


def fill(template: str, slots: Mapping[str, ast.expr]) -> ast.expr:
    """The tree of an expression template with ``slots`` put in.

    >>> one_more = ast.parse("a + 1", mode="eval").body
    >>> ast.unparse(fill("np.sum({x}, axis={axis}) * {x}", dict(x=one_more, axis=ast.Constant(0))))
    'np.sum(a + 1, axis=0) * (a + 1)'
    """
    tree, names = _parsed(template)
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        raise ValueError(f"the template {template!r} is not an expression")
    return _rebuilt(tree.body[0].value, _by_placeholder(template, names, slots))


def fill_statements(template: str, slots: Mapping[str, ast.expr], out: str) -> list[ast.stmt]:
    """The statements of a template that assigns to ``{out}``, with ``out`` as that name.

    >>> from autodiff_compiler.emit.text.expressions import print_statement
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
    found = {node.id for node in nodes_in(tree) if isinstance(node, ast.Name)}
    if not {_placeholder(name) for name in names} <= found:
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


def remade(tree: Node, change: Callable[[ast.Name], ast.AST]) -> Node:
    """``tree`` with each name in it replaced by what ``change`` gives. Parts without a name that
    changes are shared, so a tree is never changed where it stands."""
    if isinstance(tree, ast.Name):
        return change(tree)  # type: ignore[return-value]
    parts, same = [], True
    for field in tree._fields:
        old = new = getattr(tree, field, None)
        if isinstance(old, ast.AST):
            new = remade(old, change) if old._fields else old
        elif isinstance(old, list):
            made = [remade(item, change) if isinstance(item, ast.AST) else item for item in old]
            new = old if all(map(is_, made, old)) else made
        same = same and new is old
        parts.append(new)
    return tree if same else type(tree)(*parts)


def _rebuilt(tree: Node, slots: Mapping[str, ast.expr]) -> Node:
    """``tree`` with the names in ``slots`` replaced by their trees."""

    def put(name: ast.Name) -> ast.expr:
        filled = slots.get(name.id, name)
        return ast.Name(filled.id, name.ctx) if isinstance(filled, ast.Name) else filled

    return remade(tree, put)
