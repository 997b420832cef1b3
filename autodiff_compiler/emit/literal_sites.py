"""Finds integer literals in source for which a person would write the size of an array.

>>> [row[0] for row in LITERALS.finditer("x_1 = y.reshape((2, -1)) / 1.5 + 3")]
['2, -1', '3']
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from autodiff_compiler.fast_ast import children

#: Integers in a row. The syntax tree excludes those in strings and exponents.
LITERALS = re.compile(r"(?<![\w.])-?\d+(?:, -?\d+)*(?![\w.])")

#: NumPy's functions that take a shape, with its position.
TAKES_SHAPE = {"zeros": 0, "ones": 0, "empty": 0, "full": 0, "broadcast_to": 1}
#: Expressions with variables of their own.
SCOPES = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)

Shape: TypeAlias = tuple[int, ...]
Shapes: TypeAlias = Mapping[str, Shape]
Columns: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Site:
    """A place of literals in a row.

    kind           'new' (the shape of a new array), 'shape', 'reshape', 'count', 'length' (of a
                   slice), or 'count less one' (a divisor).
    line           its line.
    columns        where the literals are in the text.
    shape_columns  where their tuple or argument list is; None if they are not all of it.
    first          the position of the first literal in it.
    rank           the number of its items.
    arrays         the arrays that may be asked for a size there, the likeliest first.
    near           how many of them are in the same line.
    """

    kind: str
    line: int
    columns: Columns
    shape_columns: Columns | None
    first: int
    rank: int
    arrays: Sequence[str]
    near: int


def skeleton(code: str) -> str:
    """Returns source without its integer literals. Functions that differ in sizes have the same
    one.
    """
    return LITERALS.sub("#", code)


def literals_in(code: str) -> list[Shape]:
    """Returns the integer literals of source, those in a row together."""
    return [tuple([int(number) for number in row.split(", ")]) for row in LITERALS.findall(code)]


def find_sites(code: str, shapes: Shapes) -> dict[int, Site]:
    """Returns the sites of the literals of a function, by the number of the row.

    >>> code = "def f(x):\\n    y = x.sum(axis=1) / 5\\n    return y.reshape((2, 1))"
    >>> [(site.kind, site.arrays) for site in find_sites(code, {"x": (2, 5)}).values()]
    [('count', ['x']), ('reshape', ['x'])]
    """
    lines = code.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    (function,) = ast.parse(code).body
    assert isinstance(function, ast.FunctionDef)
    if not code.isascii():  # columns of the tree count bytes
        return {}

    def offset(node: ast.expr, end: bool = False) -> int:
        if end:
            assert node.end_lineno is not None and node.end_col_offset is not None
            return starts[node.end_lineno - 1] + node.end_col_offset
        return starts[node.lineno - 1] + node.col_offset

    uses = {}
    for use in _uses(function):
        uses[offset(use.node)] = use
    sites: dict[int, Site] = {}
    bound = _bound_arrays(function, shapes)
    for number, row in enumerate(LITERALS.finditer(code)):
        used = uses.get(row.start())
        count = row[0].count(",") + 1
        if used is None or not all(map(_is_integer, used.items_from(count))):
            continue
        line = used.node.lineno
        arrays = [array for where, array in bound if where < line]
        words = re.findall(r"[^\W\d]\w*", lines[line - 1])
        near = [word for word in dict.fromkeys(words) if word in arrays]
        shape_columns = None
        if used.parts and count == len(used.items):
            shape_columns = offset(used.parts[0]), offset(used.parts[-1], end=True)
        likely = [*near, *(array for array in arrays if array not in near)]
        rank = len(used.items)
        sites[number] = Site(
            used.kind, line, row.span(), shape_columns, used.first, rank, likely, len(near)
        )
    return sites


def _bound_arrays(function: ast.FunctionDef, shapes: Shapes) -> list[tuple[int, str]]:
    """Returns the arrays of known shape with the line that surely binds them, latest first."""
    args = function.args
    bindings = {arg.arg: 0 for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
    for statement in function.body:
        if isinstance(statement, ast.Assign):
            for node in ast.walk(statement.targets[0]):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    bindings.setdefault(node.id, statement.lineno)
    rows = [(line, name) for name, line in bindings.items() if name in shapes]
    return sorted(rows, key=lambda row: -row[0])


@dataclass(frozen=True)
class _Use:
    """The use of an expression, which may be a literal.

    kind   that of the site.
    items  the items of the tuple or the arguments that it is one of.
    first  its position among them.
    parts  the tuple, or the arguments, if they are a shape.
    """

    kind: str
    items: Sequence[ast.expr]
    first: int = 0
    parts: Sequence[ast.expr] = ()

    @property
    def node(self) -> ast.expr:
        return self.items[self.first]

    def items_from(self, count: int) -> Sequence[ast.expr | None]:
        """Returns so many items from the first on; None for those that are missing."""
        items = self.items[self.first : self.first + count]
        return [*items, *[None] * (count - len(items))]


def _is_integer(node: ast.expr | None) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) is int


def _uses(tree: ast.AST) -> Iterator[_Use]:
    """Yields the uses of literals for which a person would write a size."""
    for node in children(tree):
        if isinstance(node, SCOPES):
            continue
        yield from _uses(node)
        if isinstance(node, ast.Call):
            yield from _uses_in_call(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv)):
            if _is_integer(node.left) and _is_integer(node.right):
                yield _Use("count", [node.left])
                yield _Use("count less one", [node.right])
            else:
                yield _Use("count", [node.right])
        elif isinstance(node, ast.Slice):
            end = node.upper
            if isinstance(end, ast.BinOp) and isinstance(end.op, ast.Add):
                yield _Use("length", [end.right])


def _uses_in_call(call: ast.Call) -> Iterator[_Use]:
    kind, args = _shape_arguments(call)
    is_tuple = len(args) == 1 and isinstance(args[0], ast.Tuple)
    items = args[0].elts if args and isinstance(args[0], ast.Tuple) else args
    if kind != "count" or not is_tuple:
        parts = args if kind != "count" else ()
        yield from (_Use(kind, items, number, parts) for number in range(len(items)))


def _shape_arguments(call: ast.Call) -> tuple[str, list[ast.expr]]:
    """Returns the kind and the arguments of a call that are a shape or counts."""
    function = call.func
    if isinstance(function, ast.Name):
        return "count", call.args if function.id == "range" else []
    if not isinstance(function, ast.Attribute):
        return "", []
    is_numpy = isinstance(function.value, ast.Name) and function.value.id == "np"
    if not is_numpy:
        return "reshape", call.args if function.attr == "reshape" else []
    if function.attr == "arange":
        return "count", call.args
    place = TAKES_SHAPE.get(function.attr)
    if place is None:
        return "", []
    return "shape" if function.attr == "broadcast_to" else "new", call.args[place : place + 1]


__all__ = ["Columns", "Shape", "Shapes", "Site", "find_sites", "literals_in", "skeleton"]
