"""Translation of exceptions of library code that ran at compile time to the user's terms."""

from __future__ import annotations

import inspect
import re
from typing import Any

from autodiff_compiler.errors import (
    CompileError,
    DTypeError,
    ShapeError,
    UnknownAttribute,
    UnknownName,
    UnsupportedSyntax,
)
from autodiff_compiler.faults import is_check, place_of
from autodiff_compiler.frontend.abstract.evaluator import Evaluator
from autodiff_compiler.frontend.abstract.values import HeapRef
from autodiff_compiler.span import Span

#: The compile error for a failing operator or library call, by the exception that it raised.
KINDS: tuple[tuple[type[Exception], type[CompileError]], ...] = (
    (TypeError, DTypeError),
    (AttributeError, UnknownAttribute),
    (NameError, UnknownName),
    (ValueError, ShapeError),
    (LookupError, ShapeError),
    (ArithmeticError, DTypeError),
)
CURES: dict[type[CompileError], str] = {
    DTypeError: "correct the type or value that the message names",
    UnknownAttribute: "use an attribute that the object has",
    UnknownName: "assign the name before this line",
    ShapeError: "correct the shape, index or value that the message names",
}


def translate_error(error: Exception, doing: str, called: Any, span: Span | None) -> CompileError:
    """Returns ``error`` as a compile error at the user's source. Raises it again if no mistake of
    the user's can cause it."""
    for raised, kind in KINDS:
        if isinstance(error, raised):
            text = str(error).splitlines()[0] if str(error) else type(error).__name__
            text = text.replace("'Value'", "'Tensor'").replace(f"'{HeapRef.__name__}'", "'list'")
            text = re.sub(rf"{HeapRef.__name__}\(kind='(\w+)', number=\d+\)", r"<a \1>", text)
            return kind(f"{doing}: {text}", _cure_of(kind, text, called), span)
    raise error


#: The exceptions that may be due to a mistake of the user's.
KINDS_RAISED = tuple(raised for raised, _ in KINDS)


def failed_check(error: Exception, span: Span) -> CompileError | None:
    """Returns the compile error of a mistake that a check of this package found.

    Returns None for an exception of the user's own code, and for a fault of the compiler.
    """
    if isinstance(error, CompileError) or not is_check(error.__traceback__):
        return None
    return translate_error(error, "this operation fails", None, place_of(error) or span)


def _cure_of(kind: type[CompileError], text: str, called: Any) -> str:
    usage = usage_of(called) if "argument" in text else ""
    tells = usage and not usage.endswith("(*args, **kwargs)")
    return f"call it as {usage}" if tells else CURES[kind]


def usage_of(called: Any, name: str = "") -> str:
    """Returns the signature of a function without annotations; empty if not known.

    >>> def scale(x: int, *rest: int, k: float = 2.0) -> float: ...
    >>> usage_of(scale)
    'scale(x, *rest, k=2.0)'
    """
    try:
        signature = inspect.signature(called, follow_wrapped=False)
    except (TypeError, ValueError):
        return ""
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    text = str(signature.replace(parameters=bare, return_annotation=signature.empty))
    return (name or getattr(called, "__name__", type(called).__name__)) + text


def refused_object_dict(low: Evaluator, cls: type) -> CompileError:
    """Returns the error of a use of a ``__dict__`` other than of its items."""
    refusal: CompileError = low.fail(
        UnsupportedSyntax,
        f"vars() or __dict__ of an object '{cls.__name__}' is not supported in compiled code, "
        "but for its items",
        "read the attributes one by one, and set them with setattr or object.__setattr__",
    )
    return refusal


def missing_item(low: Evaluator, container: Any, key: Any, error: Exception) -> CompileError:
    """Returns the error of an item that is not there."""
    if isinstance(error, KeyError):
        keys = ", ".join(map(repr, container))
        cure = f"its keys are {keys}" if keys else "it is empty"
        return low.fail(UnknownName, f"the dict has no key {key!r}", cure).meaning(error)
    if isinstance(error, IndexError):
        count = len(container)
        cause = f"index {key} is out of range: there are {count} items"
        cure = f"use an index from {-count} to {count - 1}" if count else "append an item first"
        return low.fail(ShapeError, cause, cure).meaning(error)
    return low.translate(error, "reading this item fails")
