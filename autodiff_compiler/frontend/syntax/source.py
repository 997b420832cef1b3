"""Finds the source of a function, and parses it so that every node keeps the user's own position.

The whole file is parsed and the function looked up in its tree. Nothing has to be dedented, which
would break strings of several lines. The positions in the tree are those of the file. A function
without source (typed at a prompt, made by ``exec``) is refused with a cure.
"""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import inspect
import linecache
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import or_
from types import CodeType
from typing import Any

import gast

from autodiff_compiler.errors import SourceNotFound
from autodiff_compiler.fast_ast import children, nodes_in
from autodiff_compiler.span import Span

LAMBDA = "<lambda>"
_Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, eq=False)
class Source:
    """A function's tree, and the text of its file. Two are equal only if they are one object.

    ``tree`` has no decorators, and a lambda is a function called ``<lambda>`` whose body is one
    ``return``. ``lines`` are all lines of the file; positions in the tree are positions in it.
    """

    tree: gast.FunctionDef
    file: str
    first_line: int
    lines: tuple[str, ...]
    #: The spans that were asked for: a function is lowered again and again.
    spans: dict[gast.AST, Span] = field(default_factory=dict, init=False, repr=False)

    def span(self, node: gast.AST) -> Span:
        """Returns the span of ``node``. One of several lines ends where its first line ends."""
        span = self.spans.get(node)
        if span is None:
            span = self.spans[node] = self._span(self._first_with_position(node))
        return span

    def _span(self, node: gast.AST) -> Span:
        line = self._line(node.lineno)
        start = _column(line, node.col_offset)
        end = len(line.rstrip())
        if node.end_lineno == node.lineno:
            end = _column(line, node.end_col_offset)
        return Span(self.file, node.lineno, start + 1, max(end, start + 1) + 1, line)

    def record_spans(self, tree: gast.AST) -> None:
        """Records the spans of all statements and expressions of a tree."""
        for node in nodes_in(tree):
            if isinstance(node, (gast.stmt, gast.expr)):
                self.span(node)

    def segment(self, node: gast.AST) -> str:
        """Returns the user's characters that ``node`` was parsed from."""
        node = self._first_with_position(node)
        last = self._line(node.end_lineno)[
            : _column(self._line(node.end_lineno), node.end_col_offset)
        ]
        if node.end_lineno == node.lineno:
            return last[_column(last, node.col_offset) :]
        first = self._line(node.lineno)
        middle = self.lines[node.lineno : node.end_lineno - 1]
        return "\n".join((first[_column(first, node.col_offset) :], *middle, last))

    def _line(self, number: int) -> str:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def _first_with_position(self, node: gast.AST) -> gast.AST:
        """Returns the first node at or below ``node`` with a position (operators have none)."""
        if _has_position(node):
            return node
        return next(filter(_has_position, nodes_in(node)), self.tree)


def _has_position(node: gast.AST) -> bool:
    return bool(getattr(node, "lineno", None) and getattr(node, "end_lineno", None))


@dataclass(frozen=True, eq=False)
class RelocatedSource(Source):
    """A source of this package that replaces the user's at ``place``: reports name that place."""

    place: Span

    def span(self, node: gast.AST) -> Span:
        return self.place


def read_source(function: Callable[..., Any]) -> Source:
    """Returns the source of a Python function, method or lambda, or raises ``SourceNotFound``."""
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        name = getattr(function, "__name__", type(function).__name__)
        raise SourceNotFound(
            f"'{name}' is not written in Python, so it has no source to compile",
            "use the function of ops or np that does the same",
        )
    linecache.lazycache(code.co_filename, getattr(function, "__globals__", {}))
    # Equal code objects may come from different files, hence the second key.
    return _read_code(code, code.co_filename)


@functools.lru_cache(maxsize=1024)
def _read_code(code: CodeType, file: str) -> Source:
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file))
    if not text.strip():
        raise _no_source(code)
    try:
        module, lines = _parse(text)
    except SyntaxError:
        raise _source_changed(code) from None
    node, owner = _find_node(module, code)
    if not _is_unchanged(text, node, code):
        raise _source_changed(code)
    tree = _as_function(gast.ast_to_gast(node))
    if owner:
        _mangle(tree, owner)
    if _argument_names(tree) != code.co_varnames[: len(_argument_names(tree))]:
        raise _no_source(code)
    return Source(tree, file, tree.lineno, lines)


@functools.lru_cache(maxsize=16)
def _parse(text: str) -> tuple[ast.Module, tuple[str, ...]]:
    return ast.parse(text), tuple(text.split("\n"))


def span_of_class(kind: type) -> Span | None:
    """Returns the place where the source of a class begins, or None if it has no source."""
    try:
        lines, first = inspect.getsourcelines(kind)
        file = inspect.getsourcefile(kind) or ""
    except (OSError, TypeError):
        return None
    number = next(n for n, line in enumerate(lines) if line.lstrip().startswith("class "))
    line = lines[number].rstrip()
    start = len(line) - len(line.lstrip())
    return Span(file, first + number, start + 1, len(line) + 1, line)


def _no_source(code: CodeType) -> SourceNotFound:
    return SourceNotFound(
        f"the source of {_code_title(code)} was not found in {code.co_filename!r}",
        "put the function in a file and import it; or register its source in "
        "linecache.cache under the file name given to compile()",
    )


def _source_changed(code: CodeType) -> SourceNotFound:
    return SourceNotFound(
        f"the source of {_code_title(code)} in {code.co_filename!r} has changed since the "
        "file was imported",
        "reload the module, or restart Python",
    )


def _code_title(code: CodeType) -> str:
    return "a lambda" if code.co_name == LAMBDA else f"'{code.co_name}'"


def _is_unchanged(text: str, node: ast.AST, code: CodeType) -> bool:
    """True if ``text`` still has at ``node`` the source that ``code`` was compiled from.

    A file may be edited while a program runs. pytest compiles asserts in its own way, so code that
    it compiled is trusted.
    """
    if any(name.startswith("@py") for each in _codes(code) for name in _names_in(each)):
        return True
    place, wanted = (code.co_name, code.co_firstlineno), _fingerprint(code)
    future = code.co_flags & _FUTURE
    return any(
        (other.co_name, other.co_firstlineno) == place and _fingerprint(other) == wanted
        for line in (code.co_firstlineno, None)
        for other in _codes(_compile_around(text, line, future))
    )


#: The flags of a code object for the names that its file imported from ``__future__``.
_FUTURE = functools.reduce(
    or_, [getattr(__future__, name).compiler_flag for name in __future__.all_feature_names]
)


@functools.lru_cache(maxsize=64)
def _compile_around(text: str, line: int | None, future: int) -> CodeType:
    """Returns the code of the file, or only of its functions and classes that contain ``line``.

    To compile one of many is much faster. Other statements stay: imports change the bytecode of
    calls.
    """
    module, _ = _parse(text)
    statements = [
        statement
        for statement in module.body
        if line is None or not isinstance(statement, _Definition) or _reaches(statement, line)
    ]
    code: CodeType = compile(
        ast.Module(statements, []), "<text>", "exec", future, dont_inherit=True
    )
    return code


def _functions(
    node: ast.AST, owner: str = "", line: int | None = None
) -> Iterator[tuple[Any, str]]:
    """Yields every function and lambda below ``node`` with the name of the class around it. Leaves
    out statements that do not contain ``line``, if it is given."""
    for child in children(node):
        if line is not None and not _reaches(child, line):
            continue
        if isinstance(child, _Function):
            yield child, owner
        yield from _functions(child, child.name if isinstance(child, ast.ClassDef) else owner, line)


def _reaches(node: Any, line: int) -> bool:
    """True if a node contains ``line``, or is no statement: positions inside an f-string are not
    reliable."""
    return not isinstance(node, ast.stmt) or _first_line(node) <= line <= (node.end_lineno or line)


def _first_line(node: Any) -> int:
    """Returns the first line of a code object: that of the first decorator, if there is one."""
    decorators = getattr(node, "decorator_list", ())
    return int(decorators[0].lineno if decorators else node.lineno)


def _find_node(module: ast.Module, code: CodeType) -> tuple[Any, str]:
    """Returns the node that ``code`` was compiled from, and the name of the class around it."""
    candidates = [
        (node, owner)
        for node, owner in _functions(module, line=code.co_firstlineno)
        if _first_line(node) == code.co_firstlineno
        and getattr(node, "name", LAMBDA) == code.co_name
    ]
    if len(candidates) > 1:
        candidates = _with_same_code(module, candidates, code)
    if not candidates:
        raise _source_changed(code) if os.path.isfile(code.co_filename) else _no_source(code)
    if len({ast.dump(node) for node, _ in candidates}) > 1:
        raise SourceNotFound(
            f"several lambdas with the same bytecode begin on line {code.co_firstlineno} "
            f"of {code.co_filename!r}, so the source of this one is ambiguous",
            "put each lambda on its own line, or write a function",
        )
    return candidates[0]


def _with_same_code(
    module: ast.Module, candidates: list[tuple[Any, str]], code: CodeType
) -> list[tuple[Any, str]]:
    """Returns those lambdas of one line that compile to ``code``.

    The file is compiled once more, with each candidate moved beyond the file's end: its first line
    then identifies its code object. A lambda compiled by itself would not do, for names of
    enclosing functions would be globals. All of it moves, for bytecode depends on line ends.
    """
    length = 1 + max(getattr(node, "end_lineno", 0) or 0 for node in nodes_in(module))
    moved = copy.deepcopy(module)
    wanted = {id(node) for node, _ in candidates}
    order = [node for node, _ in _functions(module)]
    for (twin, _), node in zip(_functions(moved), order, strict=True):
        if id(node) in wanted:
            ast.increment_lineno(twin, length * (1 + order.index(node)) - twin.lineno)
    compiled = compile(moved, code.co_filename, "exec", dont_inherit=True)
    alike = {
        other.co_firstlineno // length - 1
        for other in _codes(compiled)
        if _fingerprint(other) == _fingerprint(code) and other.co_firstlineno % length == 0
    }
    return [(node, owner) for node, owner in candidates if order.index(node) in alike]


def _names_in(code: CodeType) -> tuple[str, ...]:
    return (*code.co_names, *code.co_varnames)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _fingerprint(code: CodeType) -> tuple[Any, ...]:
    """Returns a code object without positions; constants by ``repr``, for ``1 == 1.0 == True``."""
    constants = tuple(
        _fingerprint(item) if isinstance(item, CodeType) else repr(item) for item in code.co_consts
    )
    # The flags of 'from __future__' are the file's, not the function's.
    flags = code.co_flags & (inspect.CO_ASYNC_GENERATOR * 2 - 1)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return (code.co_code, constants, counts, names)


def _as_function(tree: gast.AST) -> gast.FunctionDef:
    """Returns a function without decorators; a lambda becomes a function with one ``return``."""
    if not isinstance(tree, gast.Lambda):
        tree.decorator_list = []
        return tree
    returned = gast.copy_location(gast.Return(value=tree.body), tree.body)
    function = gast.FunctionDef(
        name=LAMBDA,
        args=tree.args,
        body=[returned],
        decorator_list=[],
        returns=None,
        type_comment=None,
        type_params=[],
    )
    return gast.copy_location(function, tree)


def _argument_names(tree: gast.FunctionDef) -> tuple[str, ...]:
    """Returns the arguments in the order of a code object."""
    args = tree.args
    named = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    return tuple(arg.id for arg in named if arg is not None)


#: The fields that hold a name which Python mangles: not the keywords of a call.
_NAMED = ("id", "attr", "name", "rest")


def _mangle(tree: gast.FunctionDef, owner: str) -> None:
    """Mangles the private names (``self.__w``) of a class's methods as Python does."""
    prefix = "_" + owner.lstrip("_")
    if prefix == "_":
        return

    def mangled(name: Any) -> Any:
        private = isinstance(name, str) and name.startswith("__") and not name.endswith("__")
        return prefix + name if private and "." not in name else name

    for node in nodes_in(tree):
        if isinstance(node, (gast.Global, gast.Nonlocal)):
            node.names = [*map(mangled, node.names)]
        if isinstance(node, gast.alias):
            name = mangled(node.asname or node.name)
            node.asname = node.asname if name == node.name else name
            continue
        for slot in _NAMED:
            if hasattr(node, slot) and not (node is tree and slot == "name"):
                setattr(node, slot, mangled(getattr(node, slot)))


def _column(line: str, offset: int | None) -> int:
    """Returns the character at a byte offset: the parser counts bytes of UTF-8."""
    return len(line.encode()[: offset or 0].decode(errors="ignore"))
