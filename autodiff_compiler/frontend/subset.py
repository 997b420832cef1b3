"""The fence: which Python a method may be written in.

Every node is looked up by the name of its class, in ``ACCEPTED`` or in ``REFUSED``; a node in
neither (a syntax newer than this file) is refused as well. Nothing later refuses syntax. All that
is wrong with a method is told at once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import gast

from autodiff_compiler.errors import Problem, UnsupportedSyntax
from autodiff_compiler.frontend.contexts import is_straight
from autodiff_compiler.frontend.enclosing import reaches_outside
from autodiff_compiler.frontend.looking import is_look
from autodiff_compiler.frontend.source import LAMBDA, Source
from autodiff_compiler.frontend.trying import leaves_finally, unreadable
from autodiff_compiler.trees import children

_ACCEPTED = """
FunctionDef Lambda arguments Return Assign AnnAssign AugAssign Expr Pass Assert Raise
If For While Break Continue Delete Import ImportFrom Match
Call keyword Attribute Subscript Slice Starred Name Constant
Tuple List Dict Set ListComp SetComp DictComp GeneratorExp comprehension
BinOp UnaryOp BoolOp Compare IfExp JoinedStr FormattedValue NamedExpr
"""
ACCEPTED = frozenset(_ACCEPTED.split())

# Parts of statements that are refused as a whole: nothing more is said about them.
_PARTS = """
ExceptHandler withitem alias match_case MatchValue MatchSingleton MatchSequence MatchMapping
MatchClass MatchStar MatchAs MatchOr TypeVar ParamSpec TypeVarTuple Interpolation
"""

# What has no meaning of its own to accept or refuse.
_MARKS = (gast.operator, gast.unaryop, gast.boolop, gast.cmpop, gast.expr_context)

# Kind of node -> cause and cure; '{name}' is the function that the node stands in.
REFUSED: dict[str, tuple[str, str]] = {
    "Yield": (
        "'yield' makes {name} a generator, and its result would never be one value",
        "collect the items in a list and return the list",
    ),
    "YieldFrom": (
        "'yield from' makes {name} a generator, and its result would never be one value",
        "collect the items in a list and return the list",
    ),
    "Await": (
        "'await' hands control to an event loop, and compiled code has none",
        "await the value outside, and pass it in as an argument",
    ),
    "AsyncFunctionDef": (
        "calling an 'async' function makes a coroutine instead of a result",
        "write 'def' in place of 'async def'",
    ),
    "AsyncFor": (
        "'async for' hands control to an event loop, and compiled code has none",
        "collect the items outside, and loop over the list with a plain 'for'",
    ),
    "AsyncWith": (
        "'async with' hands control to an event loop, and compiled code has none",
        "enter the context outside, around the call of {name}",
    ),
    "async comprehension": (
        "a comprehension with 'async for' needs an event loop, and compiled code has none",
        "collect the items outside, and use a plain 'for' in the comprehension",
    ),
    "Global": (
        "'global' lets {name} change a variable outside, and compiled code only returns values",
        "return the new value, and assign it where {name} is called",
    ),
    "Nonlocal": (
        "this 'nonlocal' lets {name} change a variable outside of the compiled text",
        "return the new value, and assign it where {name} is called",
    ),
    "Try": (
        "this 'finally' returns, breaks or continues, which would drop what was raised",
        "do so after the 'try'",
    ),
    "caught": (
        "what was caught is known here by its text only: str(), print() and f-strings read it",
        "keep what else is needed in a variable before 'raise'",
    ),
    "TryStar": (
        "'except*' is for groups of exceptions, and compiled text raises one at a time",
        "write 'except' in place of 'except*'",
    ),
    "With": (
        "this 'with' is left from its middle, and its context would not be left with it",
        "leave it at its end, and return, break or continue after it",
    ),
    "ClassDef": (
        "a class defined inside {name} would be made anew in every call",
        "define the class at the top of the file",
    ),
    "TypeAlias": (
        "'type' defines a name for annotations, which have no value to compile",
        "move the definition to the top of the file",
    ),
    "TemplateStr": (
        "a t-string makes a template, which is not a value the compiler knows",
        "use an f-string",
    ),
}
_UNKNOWN = (
    "'{kind}' is a syntax that the compiler does not know",
    "write it with assignments, 'if', 'for' and 'while'",
)


@functools.lru_cache(maxsize=1024)
def check(source: Source) -> tuple[Problem, ...]:
    """Everything in ``source`` that is outside the subset, from the first line to the last."""
    problems = list(_refusals(source, source.tree, _called(source.tree)))
    return tuple(sorted(problems, key=_position))


def _position(problem: Problem) -> tuple[int, int]:
    return (problem.span.line, problem.span.column) if problem.span else (0, 0)


def _refusals(source: Source, node: gast.AST, name: str) -> Iterator[Problem]:
    kind = _kind(node)
    if kind == "With" and (is_look(node) or is_straight(node)):
        kind = "FunctionDef"
    if kind == "Try" and not leaves_finally(node):
        kind = "FunctionDef"
    if isinstance(node, gast.ExceptHandler):
        for read in unreadable(node):
            yield Problem(UnsupportedSyntax, *REFUSED["caught"], source.span(read))
    if kind == "Nonlocal" and not any(node is outside for outside in reaches_outside(source.tree)):
        kind = "Pass"
    if kind not in ACCEPTED and kind not in _PARTS.split() and not isinstance(node, _MARKS):
        cause, cure = REFUSED.get(kind, _UNKNOWN)
        facts = {"name": name, "kind": kind}
        yield Problem(
            UnsupportedSyntax, cause.format(**facts), cure.format(**facts), source.span(node)
        )
        if isinstance(node, gast.ClassDef):
            return  # what stands in it would be refused for reasons that go away with it
    if isinstance(node, (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda)):
        name = _called(node)
    for child in children(node):
        yield from _refusals(source, child, name)


def _kind(node: gast.AST) -> str:
    """The key of ``node`` in the tables: its class, or what it is by a flag."""
    if isinstance(node, gast.comprehension) and node.is_async:
        return "async comprehension"
    return type(node).__name__


def _called(function: gast.AST) -> str:
    name: str = getattr(function, "name", LAMBDA)
    return "this lambda" if name == LAMBDA else name
