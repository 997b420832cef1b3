"""Prints expression trees, with parentheses only where the grammar needs them.

``astunparse`` puts parentheses around everything and cannot write ``a[..., 1:2]`` on today's
Python. ``Printer`` is its subclass that knows the precedence of each expression. The text is the
same, byte for byte, on every supported Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from enum import IntEnum
from io import StringIO
from typing import Any

import astunparse

from autodiff_compiler.emit.text.literals import literal, quoted
from autodiff_compiler.emit.text.templates import fill, fill_statements

__all__ = ["Printer", "fill", "fill_statements", "literal", "print_expression", "print_statement"]


class Level(IntEnum):
    """The precedence of expressions, loosest first, in the order of the grammar."""

    NAMED, YIELD, TEST, OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND = range(10)
    SHIFT, SUM, TERM, FACTOR, POWER, AWAIT, ATOM = range(10, 17)

    @property
    def tighter(self) -> Level:
        return Level(self + 1)


LEVELS: dict[type[ast.AST], Level] = {
    ast.NamedExpr: Level.NAMED,
    ast.Yield: Level.YIELD,
    ast.YieldFrom: Level.YIELD,
    ast.IfExp: Level.TEST,
    ast.Lambda: Level.TEST,
    ast.Or: Level.OR,
    ast.And: Level.AND,
    ast.Not: Level.NOT,
    ast.Compare: Level.COMPARE,
    ast.BitOr: Level.BIT_OR,
    ast.BitXor: Level.BIT_XOR,
    ast.BitAnd: Level.BIT_AND,
    ast.LShift: Level.SHIFT,
    ast.RShift: Level.SHIFT,
    ast.Add: Level.SUM,
    ast.Sub: Level.SUM,
    ast.Mult: Level.TERM,
    ast.MatMult: Level.TERM,
    ast.Div: Level.TERM,
    ast.FloorDiv: Level.TERM,
    ast.Mod: Level.TERM,
    ast.UAdd: Level.FACTOR,
    ast.USub: Level.FACTOR,
    ast.Invert: Level.FACTOR,
    ast.Pow: Level.POWER,
    ast.Await: Level.AWAIT,
}


def level(tree: ast.expr) -> Level:
    """Returns the precedence of ``tree``."""
    decides = tree.op if isinstance(tree, (ast.BinOp, ast.UnaryOp, ast.BoolOp)) else tree
    return LEVELS.get(type(decides), Level.ATOM)


class Printer(astunparse.Unparser):
    """Writes a tree. Only ``operand`` decides on parentheses.

    The parent class writes the nodes without parentheses (lambda arguments, list displays, ``del``
    …).
    """

    def dispatch(self, tree: Any) -> None:
        """Writes ``tree`` where any expression but ``:=`` and ``yield`` is allowed."""
        if isinstance(tree, ast.expr):
            self.operand(tree, Level.TEST)
        else:
            super().dispatch(tree)

    def operand(self, tree: ast.expr, floor: Level) -> None:
        """Writes ``tree`` where the grammar needs at least the precedence ``floor``."""
        tree = plain_constant(tree)
        if level(tree) < floor:
            self.write("(")
            super().dispatch(tree)
            self.write(")")
        else:
            super().dispatch(tree)

    def series(self, trees: Iterable[ast.AST]) -> None:
        """Writes ``trees`` with commas between them."""
        for position, tree in enumerate(trees):
            self.write(", " if position else "")
            self.dispatch(tree)

    def bare(self, tree: ast.expr) -> None:
        """Writes one side of a simple statement: a tuple of two or more needs no parentheses."""
        if isinstance(tree, ast.Tuple) and len(tree.elts) > 1:
            self.series(tree.elts)
        else:
            self.operand(tree, Level.YIELD)

    def fill(self, text: str = "") -> None:
        """Starts a statement. Line breaks are added later, by ``line_breaking``."""
        self.write(text)

    # Statements

    def _Expr(self, tree: ast.Expr) -> None:
        self.bare(tree.value)

    def _Assign(self, tree: ast.Assign) -> None:
        for target in tree.targets:
            self.bare(target)
            self.write(" = ")
        self.bare(tree.value)

    def _AugAssign(self, tree: ast.AugAssign) -> None:
        self.dispatch(tree.target)
        self.write(f" {self.binop[type(tree.op).__name__]}= ")
        self.bare(tree.value)

    def _Return(self, tree: ast.Return) -> None:
        self.write("return")
        if tree.value is not None:
            self.write(" ")
            self.bare(tree.value)

    # Operators

    def _UnaryOp(self, tree: ast.UnaryOp) -> None:
        self.write("not " if isinstance(tree.op, ast.Not) else self.unop[type(tree.op).__name__])
        self.operand(tree.operand, level(tree))

    def _BinOp(self, tree: ast.BinOp) -> None:
        sign, precedence = self.binop[type(tree.op).__name__], level(tree)
        left, right = plain_constant(tree.left), plain_constant(tree.right)
        if isinstance(tree.op, ast.Pow):  # right-associative; a sign may follow it
            self.operand(left, precedence.tighter)
            hugged = is_plain(left) and level(left) >= precedence.tighter and is_plain(right)
            self.write(sign if hugged else f" {sign} ")
            self.operand(right, Level.FACTOR)
        else:
            self.operand(left, precedence)
            self.write(f" {sign} ")
            self.operand(right, precedence.tighter)

    def _Compare(self, tree: ast.Compare) -> None:
        self.operand(tree.left, Level.COMPARE.tighter)
        for op, right in zip(tree.ops, tree.comparators):
            self.write(f" {self.cmpops[type(op).__name__]} ")
            self.operand(right, Level.COMPARE.tighter)

    def _BoolOp(self, tree: ast.BoolOp) -> None:
        for position, value in enumerate(tree.values):
            self.write(f" {self.boolops[type(tree.op)]} " if position else "")
            self.operand(value, level(tree).tighter)

    def _IfExp(self, tree: ast.IfExp) -> None:
        self.operand(tree.body, Level.OR)
        self.write(" if ")
        self.operand(tree.test, Level.OR)
        self.write(" else ")
        self.operand(tree.orelse, Level.TEST)

    def _Lambda(self, tree: ast.Lambda) -> None:
        self.write(f"lambda {_printed(tree.args)}".rstrip() + ": ")
        self.dispatch(tree.body)

    def _NamedExpr(self, tree: ast.NamedExpr) -> None:
        self.dispatch(tree.target)
        self.write(" := ")
        self.dispatch(tree.value)

    def _Await(self, tree: ast.Await) -> None:
        self.write("await ")
        self.operand(tree.value, Level.ATOM)

    def _Yield(self, tree: ast.Yield) -> None:
        self.write("yield")
        if tree.value is not None:
            self.write(" ")
            self.bare(tree.value)

    def _YieldFrom(self, tree: ast.YieldFrom) -> None:
        self.write("yield from ")
        self.dispatch(tree.value)

    # Attributes, calls, subscripts

    def _Attribute(self, tree: ast.Attribute) -> None:
        if isinstance(tree.value, ast.Constant) and type(tree.value.value) is int:
            self.write(
                f"({print_expression(tree.value)})"
            )  # in "1.real" the point is a decimal point
        else:
            self.operand(tree.value, Level.ATOM)
        self.write(f".{tree.attr}")

    def _Call(self, tree: ast.Call) -> None:
        self.operand(tree.func, Level.ATOM)
        if len(tree.args) == 1 and not tree.keywords and isinstance(tree.args[0], ast.GeneratorExp):
            self.dispatch(tree.args[0])  # has its own parentheses
            return
        self.write("(")
        for position, argument in enumerate([*tree.args, *tree.keywords]):
            self.write(", " if position else "")
            if isinstance(argument, ast.Starred):  # a call allows a looser operand than a display
                self.write("*")
                self.dispatch(argument.value)
            else:
                self.dispatch(argument)
        self.write(")")

    def _Subscript(self, tree: ast.Subscript) -> None:
        self.operand(tree.value, Level.ATOM)
        self.write("[")
        index = tree.slice
        if isinstance(index, ast.Tuple) and index.elts and not _is_starred(index):
            self.series(index.elts)
            self.write("," if len(index.elts) == 1 else "")
        else:
            self.dispatch(index)
        self.write("]")

    def _Slice(self, tree: ast.Slice) -> None:
        parts = [part for part in (tree.lower, tree.upper, tree.step) if part is not None]
        plain = all(is_plain(part) and not isinstance(part, ast.Attribute) for part in parts)
        blank = "" if plain else " "
        if tree.lower is not None:
            self.dispatch(tree.lower)
            self.write(blank)
        self.write(":")
        if tree.upper is not None:
            self.write(blank)
            self.dispatch(tree.upper)
        if tree.step is not None:
            self.write(f":{blank}" if tree.upper is None else f"{blank}:{blank}")
            self.dispatch(tree.step)

    # Displays and atoms

    def _Tuple(self, tree: ast.Tuple) -> None:
        self.write("(")
        self.series(tree.elts)
        self.write(",)" if len(tree.elts) == 1 else ")")

    def _Set(self, tree: ast.Set) -> None:
        self.write("{")
        self.series(tree.elts)
        self.write("}" if tree.elts else "*()}")  # "{}" would be a dict

    def _Dict(self, tree: ast.Dict) -> None:
        self.write("{")
        for position, (key, value) in enumerate(zip(tree.keys, tree.values)):
            self.write(", " if position else "")
            if key is None:
                self.write("**")
                self.operand(value, Level.BIT_OR)
            else:
                self.dispatch(key)
                self.write(": ")
                self.dispatch(value)
        self.write("}")

    def _comprehension(self, tree: ast.comprehension) -> None:
        self.write(" async for " if tree.is_async else " for ")
        self.bare(tree.target)
        self.write(" in ")
        self.operand(tree.iter, Level.OR)
        for test in tree.ifs:
            self.write(" if ")
            self.operand(test, Level.OR)

    def _Starred(self, tree: ast.Starred) -> None:
        self.write("*")
        self.operand(tree.value, Level.BIT_OR)

    def _Constant(self, tree: ast.Constant) -> None:
        value = tree.value
        if isinstance(value, (str, bytes)):
            self.write(quoted(value))
        else:
            self.write("..." if value is Ellipsis else repr(value))

    def _JoinedStr(self, tree: ast.JoinedStr) -> None:
        raise TypeError("an f-string has no text that reads alike on every Python")


def print_expression(tree: ast.expr) -> str:
    """Returns the text of an expression.

    >>> print_expression(ast.parse("((-a) ** (b)) * (c + (d)).T[(1), 2:3]", mode="eval").body)
    '(-a) ** b * (c + d).T[1, 2:3]'
    """
    return _printed(tree)


def print_statement(tree: ast.stmt) -> str:
    """Returns the text of one simple statement, on one line.

    >>> print_statement(ast.parse("(a, b) = (c[(0, ...)], (d, e))").body[0])
    'a, b = c[0, ...], (d, e)'
    """
    if hasattr(tree, "body") or hasattr(tree, "cases"):
        raise TypeError(f"{type(tree).__name__} has a body; it is more than a line")
    return _printed(tree)


def plain_constant(tree: ast.expr) -> ast.expr:
    """Returns ``tree``, with an expression for a negative or infinite constant: it is printed as
    one."""
    return literal(tree.value) if isinstance(tree, ast.Constant) else tree


def is_plain(tree: ast.expr) -> bool:
    """True if ``tree`` is a name, a number, an attribute of a name, or the negative of one.

    An operator ``**`` or a slice between plain operands has no blanks, as formatters print it.
    """
    if isinstance(tree, ast.UnaryOp):
        return not isinstance(tree.op, ast.Not) and is_plain(tree.operand)
    if isinstance(tree, ast.Attribute):
        return isinstance(tree.value, (ast.Name, ast.Attribute)) and is_plain(tree.value)
    return isinstance(tree, ast.Name) or (
        isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float, complex))
    )


def _printed(tree: ast.AST) -> str:
    out = StringIO()
    Printer(tree, out)
    return out.getvalue().strip()


def _is_starred(index: ast.Tuple) -> bool:
    """True if a subscript holds ``*rest``, which Python 3.10 reads in parentheses only."""
    kinds = {type(item) for item in index.elts}
    return ast.Starred in kinds and ast.Slice not in kinds
