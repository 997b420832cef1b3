"""Handlers of ``assert``, ``raise`` and ``try``: an exception sets the flag of the clause that
catches it, or escapes."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import gast

from autodiff_compiler.errors import CompileError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract.outcomes import (
    ActiveHandler,
    Diverged,
    Unwinding,
    is_caught,
)
from autodiff_compiler.frontend.abstract.values import Unset, UsesPoison
from autodiff_compiler.frontend.core.guards import MISSING, PLAIN
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.unwinding import evaluate_once, handling
from autodiff_compiler.frontend.expressions.containers import evaluate_items
from autodiff_compiler.frontend.syntax.desugar.try_statement import (
    CaughtException,
    ExceptClause,
    Reraise,
    TryBody,
)
from autodiff_compiler.frontend.syntax.desugar.with_statement import WithBoundary
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.operators.core import effects
from autodiff_compiler.operators.elementwise import comparisons
from autodiff_compiler.span import Span


def execute_assert(low: Lowering, node: Any) -> None:
    truth = low.truth(low.evaluate(node.test))
    if truth is True:
        return
    if is_caught(low.catching, AssertionError):
        bad = comparisons.logical_not(truth) if isinstance(truth, Value) else True
        messages = [] if node.msg is None else [node.msg]
        _throw_where(low, bad, AssertionError, lambda: evaluate_items(low, messages))
        return
    message = [] if node.msg is None else [low.packed(low.evaluate(node.msg))]
    low.builder.make(effects.assert_true, (truth, *message), {})


def execute_raise(low: Lowering, node: Any) -> Diverged | Unwinding:
    return _throw(low, *_exception_of(low, node.exc))


def execute_try_body(low: Lowering, node: TryBody) -> Diverged | None:
    """Lowers the body of a ``try`` with its ``except`` clauses active."""
    handlers = []
    for clause in node.clauses:
        flag, thrown = low.allocate("flag", False), low.allocate("exception", MISSING)
        handlers.append(ActiveHandler(clause, _classes(low, clause), flag, thrown))
    low.frame.handlers |= dict(zip(node.clauses, handlers))
    with handling(low, (*handlers, *low.catching)):
        outcome = low.block(node.body)
    return outcome if isinstance(outcome, Diverged) else None


def execute_with_boundary(low: Lowering, node: WithBoundary) -> None:
    """Begins or ends the body of a ``with``."""
    if not node.begins:
        low.catching = low.catching[1:]
    elif low.catching:
        nowhere = low.allocate("flag", False)
        low.catching = (ActiveHandler(None, (), nowhere, nowhere), *low.catching)


def evaluate_caught_exception(low: Lowering, node: CaughtException) -> Any:
    if node.clause not in low.frame.handlers:
        raise UsesPoison  # what it catches is not known
    handler: ActiveHandler = low.frame.handlers[node.clause]
    if not node.reads_message:
        return low.state.heap[handler.flag]
    return _thrown(low, handler)[1]


def _thrown(low: Lowering, handler: ActiveHandler) -> Any:
    """Returns the number of the place, the message and the arguments of the caught exception."""
    if low.state.heap[handler.thrown] is MISSING:
        raise UsesPoison  # what was to be thrown was refused
    return low.certainly(low.state.heap[handler.thrown], guarded=True)


def execute_reraise(low: Lowering, node: Reraise) -> Diverged | Unwinding | None:
    """Raises again the exception that was caught."""
    handler: ActiveHandler = low.frame.handlers[node.clause]
    number, text, args = _thrown(low, handler)
    given = (text,) if any(isinstance(arg, Unset) for arg in args) else args
    return _raise_again(low, number, handler.places, 0, given)


def _raise_again(
    low: Lowering, number: Any, places: Sequence[tuple[type, Span]], first: int, args: Any
) -> Diverged | Unwinding | None:
    """Raises again what was thrown at the place with that number, as if from there."""

    def throw(place: int) -> Diverged | Unwinding:
        kind, span = places[place]
        with low.builder.at(span):
            return _throw(low, kind, args)

    if not isinstance(number, Value):
        return throw(number)
    if first == len(places) - 1:
        return throw(first)
    outcome: Diverged | Unwinding | None = low.choose(
        comparisons.equal(number, first),
        lambda: throw(first),
        lambda: _raise_again(low, number, places, first + 1, args),
    )
    return outcome


def _exception_of(low: Lowering, raised: Any) -> tuple[Any, tuple[Any, ...]]:
    """Returns the class of an exception, and its arguments."""
    args: Sequence[Any] = ()
    if isinstance(raised, gast.Call):
        raised, args = raised.func, evaluate_items(low, raised.args)
    error: Any = None if raised is None else low.evaluate(raised)
    return error, tuple(args)


def _throw(low: Lowering, kind: Any, args: tuple[Any, ...]) -> Diverged | Unwinding:
    """Sets the flag of the clause that catches ``kind``, or raises it."""
    known = isinstance(kind, type) and issubclass(kind, Exception)
    if not known or not is_caught(low.catching, kind):
        return _raise(low, kind, args)
    handler = next(each for each in low.catching if each.clause is None or each.catches(kind))
    if handler.clause is None:
        raise low.fail(
            UnsupportedSyntax,
            f"a {kind.__name__} raised inside this 'with' is caught by a handler outside of it",
            "move the 'try' inside the 'with'",
        )
    place = kind, low.builder.span
    if place not in handler.places:
        handler.places.append(place)
    text = _message_of(low, kind, args) if handler.clause.is_read else ""
    arguments = tuple(map(partial(_as_runtime_text, low), args)) if handler.clause.reraises else ()
    low.state.heap[handler.thrown] = (
        handler.places.index(place),
        _as_runtime_text(low, text),
        arguments,
    )
    low.state.heap[handler.flag] = True
    return Unwinding()


def _throw_where(low: Lowering, bad: Any, kind: type, args: Callable[[], Sequence[Any]]) -> None:
    """Throws where ``bad`` is true."""

    def throw() -> Unwinding | Diverged:
        return _throw(low, kind, tuple(args()))

    if isinstance(bad, Value):
        low.choose(bad, throw, lambda: None)
    elif bad:
        throw()


@contextmanager
def may_raise(
    low: Lowering, kind: type, bad: Callable[[], Any], text: Callable[[], Any]
) -> Iterator[None]:
    """Enters a block whose operations raise ``kind`` only where ``bad()`` is true. If a clause
    catches it, that is tested first, and thrown with ``text()``."""
    before = low.tested_exceptions
    if is_caught(low.catching, kind):
        evaluate_once(low, kind, lambda: _throw_where(low, bad(), kind, lambda: [text()]))
        low.tested_exceptions = (*before, kind)
    try:
        yield
    finally:
        low.tested_exceptions = before


def throw_if_caught(low: Lowering, error: CompileError) -> bool:
    """Throws the exception that Python would raise here, if a clause catches it. Returns whether
    one does."""
    meant = error.meant
    if meant is None or not is_caught(low.catching, type(meant)):
        return False
    _throw(low, type(meant), meant.args)
    return True


def _raise(low: Lowering, kind: Any, args: tuple[Any, ...]) -> Diverged:
    name = getattr(kind, "__name__", "")
    known = isinstance(kind, type) and issubclass(kind, Exception)
    if not known or vars(builtins).get(name) is not kind:
        raise low.fail(
            UnsupportedSyntax,
            "generated code can raise only Python's built-in exceptions",
            "raise ValueError, TypeError or another built-in exception",
        )
    operands = [low.packed(arg) for arg in args]
    low.builder.make(effects.raise_error, operands, {"error": name})
    return Diverged()


def _message_of(low: Lowering, kind: type, args: tuple[Any, ...]) -> Any:
    """Returns the message of an exception."""
    if kind.__str__ is KeyError.__str__ and len(args) == 1 and isinstance(args[0], PLAIN):
        return repr(args[0])
    user_classes = [each for each in kind.__mro__ if each.__module__ != "builtins"]
    plain = kind.__str__ is BaseException.__str__
    plain &= not any("__init__" in vars(each) for each in user_classes)
    if not plain:
        raise low.fail(
            UnsupportedSyntax,
            f"the message of a {kind.__name__} is computed by its own __init__ or "
            "__str__, which is not compiled",
            "omit 'as', or raise a ValueError with that message",
        )
    return low.call(str, args if len(args) == 1 else (args,), {}) if args else ""


def _as_runtime_text(low: Lowering, text: Any) -> Any:
    """Returns a message as a value: another ``raise`` may give another message."""
    if not isinstance(text, str):
        return text
    pattern = text.replace("{", "{{").replace("}", "}}")
    return low.builder.make(effects.text, (), {"pattern": pattern, "sign": "format"})


def _classes(low: Lowering, clause: ExceptClause) -> tuple[type, ...]:
    """Returns the classes that an ``except`` clause catches."""
    if clause.classes is None:
        return (BaseException,)
    classes: list[Any] = [low.evaluate(clause.classes)]
    while any(isinstance(each, tuple) for each in classes):
        parts = (each if isinstance(each, tuple) else (each,) for each in classes)
        classes = [one for part in parts for one in part]
    if not all(isinstance(each, type) and issubclass(each, BaseException) for each in classes):
        raise low.fail(
            UnsupportedSyntax,
            "the expression after 'except' is not an exception class",
            "use an exception class, or a tuple of them: except (ValueError, TypeError)",
        )
    return tuple(classes)
