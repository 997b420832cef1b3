"""The supported subset of Python's syntax.

Every node is looked up by the name of its class, in ``ACCEPTED`` or in ``REFUSED``. A node in
neither (a syntax newer than this file) is refused as well. Nothing later refuses syntax. All
problems of a method are reported at once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import gast

from autodiff_compiler.errors import Problem, UnsupportedSyntax
from autodiff_compiler.fast_ast import children
from autodiff_compiler.frontend.syntax.desugar.insert_gradient import is_insert_gradient
from autodiff_compiler.frontend.syntax.desugar.nonlocal_variables import writes_enclosing_scope
from autodiff_compiler.frontend.syntax.desugar.try_statement import exits_finally, unsupported_uses
from autodiff_compiler.frontend.syntax.desugar.with_statement import exits_at_end_only
from autodiff_compiler.frontend.syntax.source import LAMBDA, Source

_ACCEPTED = """
FunctionDef Lambda arguments Return Assign AnnAssign AugAssign Expr Pass Assert Raise
If For While Break Continue Delete Import ImportFrom Match
Call keyword Attribute Subscript Slice Starred Name Constant
Tuple List Dict Set ListComp SetComp DictComp GeneratorExp comprehension
BinOp UnaryOp BoolOp Compare IfExp JoinedStr FormattedValue NamedExpr
"""
ACCEPTED = frozenset(_ACCEPTED.split())

# Parts of statements that are refused as a whole, and parts of accepted statements.
_PARTS = """
ExceptHandler withitem alias match_case MatchValue MatchSingleton MatchSequence MatchMapping
MatchClass MatchStar MatchAs MatchOr TypeVar ParamSpec TypeVarTuple Interpolation
"""

# Nodes without a meaning of their own.
_MARKS = (gast.operator, gast.unaryop, gast.boolop, gast.cmpop, gast.expr_context)

# Kind of node -> cause and cure; '{name}' is the function that the node stands in.
REFUSED: dict[str, tuple[str, str]] = {
    "Yield": (
        "'yield' makes {name} a generator, which compiled code does not support",
        "collect the items in a list and return the list",
    ),
    "YieldFrom": (
        "'yield from' makes {name} a generator, which compiled code does not support",
        "collect the items in a list and return the list",
    ),
    "Await": (
        "'await' needs an event loop, and compiled code has none",
        "await the value outside of {name}, and pass it as an argument",
    ),
    "AsyncFunctionDef": (
        "an 'async' function returns a coroutine instead of a result",
        "use 'def' instead of 'async def'",
    ),
    "AsyncFor": (
        "'async for' needs an event loop, and compiled code has none",
        "collect the items outside, and loop over the list with a plain 'for'",
    ),
    "AsyncWith": (
        "'async with' needs an event loop, and compiled code has none",
        "put the 'async with' around the call of {name}",
    ),
    "async comprehension": (
        "a comprehension with 'async for' needs an event loop, and compiled code has none",
        "collect the items outside, and use a plain 'for' in the comprehension",
    ),
    "Global": (
        "'global' makes {name} change a global variable, which compiled code cannot do",
        "return the new value, and assign it where {name} is called",
    ),
    "Nonlocal": (
        "'nonlocal' makes {name} change a variable of a function that is not compiled with it",
        "return the new value, and assign it where {name} is called",
    ),
    "Try": (
        "'return', 'break' or 'continue' inside 'finally' would discard an exception",
        "move it after the 'try' statement",
    ),
    "caught": (
        "compiled code keeps only the message of a caught exception, for str(), print() "
        "and f-strings",
        "store other information in a variable before 'raise'",
    ),
    "TryStar": (
        "'except*' handles exception groups, which compiled code does not support",
        "use 'except' instead of 'except*'",
    ),
    "With": (
        "'return', 'break' or 'continue' inside this 'with' would leave its context "
        "manager entered",
        "move the 'return', 'break' or 'continue' after the 'with'",
    ),
    "ClassDef": (
        "a class statement inside {name} would make a new class in every call",
        "define the class at module level",
    ),
    "TypeAlias": (
        "a 'type' statement defines a name for annotations, which compiled code does not support",
        "move the 'type' statement to module level",
    ),
    "TemplateStr": (
        "a t-string makes a Template object, which compiled code does not support",
        "use an f-string",
    ),
}
_UNKNOWN = (
    "the syntax '{kind}' is not supported",
    "write it with assignments, 'if', 'for' and 'while'",
)


@functools.lru_cache(maxsize=1024)
def check(source: Source) -> tuple[Problem, ...]:
    """Returns the problems of all that is outside the subset, from the first line to the last."""
    problems = list(_refusals(source, source.tree, _called(source.tree)))
    return tuple(sorted(problems, key=_position))


def _position(problem: Problem) -> tuple[int, int]:
    return (problem.span.line, problem.span.column) if problem.span else (0, 0)


def _refusals(source: Source, node: gast.AST, name: str) -> Iterator[Problem]:
    kind = _kind(node)
    if kind == "With" and (is_insert_gradient(node) or exits_at_end_only(node)):
        kind = "FunctionDef"
    if kind == "Try" and not exits_finally(node):
        kind = "FunctionDef"
    if isinstance(node, gast.ExceptHandler):
        for read in unsupported_uses(node):
            yield Problem(UnsupportedSyntax, *REFUSED["caught"], source.span(read))
    if kind == "Nonlocal" and not any(
        node is outside for outside in writes_enclosing_scope(source.tree)
    ):
        kind = "Pass"
    if kind not in ACCEPTED and kind not in _PARTS.split() and not isinstance(node, _MARKS):
        cause, cure = REFUSED.get(kind, _UNKNOWN)
        facts = {"name": name, "kind": kind}
        yield Problem(
            UnsupportedSyntax, cause.format(**facts), cure.format(**facts), source.span(node)
        )
        if isinstance(node, gast.ClassDef):
            return  # refusals inside it would go away with it
    if isinstance(node, (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda)):
        name = _called(node)
    for child in children(node):
        yield from _refusals(source, child, name)


def _kind(node: gast.AST) -> str:
    """Returns the key of ``node`` in the tables: its class, or its kind by a flag."""
    if isinstance(node, gast.comprehension) and node.is_async:
        return "async comprehension"
    return type(node).__name__


def _called(function: gast.AST) -> str:
    name: str = getattr(function, "name", LAMBDA)
    return "this lambda" if name == LAMBDA else name
