"""Whether two functions of loop nests are the same, but for the identity of their parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autodiff_compiler.loop_ir.nodes import (
    Buffer,
    Function,
    Literal,
    Scalar,
)
from autodiff_compiler.span import Span


def facts(function: Function) -> list[Any]:
    """Returns all that a function consists of, with numbers for its scalars and buffers."""
    numbers: dict[Any, int] = {}
    return [*_facts(function, numbers)]


def _facts(thing: Any, numbers: dict[Any, int]) -> Iterator[Any]:
    if isinstance(thing, (Scalar, Buffer)):
        yield numbers.setdefault(thing, len(numbers))
        for name in thing.__slots__:
            yield repr(getattr(thing, name))
    elif isinstance(thing, Span):
        yield thing.line, thing.file_name
    elif isinstance(thing, Literal):
        floats = thing.dtype.startswith("float")
        yield thing.dtype, repr(float(thing.value) if floats else int(thing.value))
    elif isinstance(thing, tuple):
        yield len(thing)
        for each in thing:
            yield from _facts(each, numbers)
    elif type(thing).__module__ == Function.__module__:
        yield type(thing).__name__
        for name in thing.__dataclass_fields__:
            yield from _facts(getattr(thing, name), numbers)
    else:
        yield repr(thing)
