"""``fingerprint``: a digest of functions, which differs if the functions differ in anything.

    >>> from autodiff_compiler.ir.parser import parse_function
    >>> text = "func @f(%x: f32[2]) -> (f32[2]) {{\\n  %y: f32[2] = {} %x\\n  return %y\\n}}\\n"
    >>> sin, again, cos = (parse_function(text.format(name)) for name in ("sin", "sin", "cos"))
    >>> fingerprint(sin) == fingerprint(again), fingerprint(sin) == fingerprint(cos)
    (True, False)

Unlike the printed text, it covers everything from which source is generated: names, places in the
user's file, and the user's lines. A function that holds anything but plain data has no digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from autodiff_compiler.ir import types
from autodiff_compiler.ir.nodes import Function, Op, Region, Value
from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.span import Span

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))


def fingerprint(*things: Any) -> str | None:
    """Digests functions and plain data, as hexadecimal digits; None for any other object."""
    digest = hashlib.sha256()
    try:
        for piece in _Reader().pieces(things):
            digest.update(piece.encode("utf-8", "surrogatepass") + b"\0")
    except _Opaque:
        return None
    return digest.hexdigest()


class _Opaque(Exception):
    """The refusal of an object without a textual form."""


class _Reader:
    def __init__(self) -> None:
        #: The numbers of values and functions, by identity, in the order of their first use.
        self.met: dict[int, int] = {}

    def pieces(self, thing: Any) -> Iterator[str]:
        """Yields the text of ``thing``, piece by piece."""
        kind = type(thing)
        if kind in _PLAIN:
            yield f"{kind.__name__} {thing!r}"
        elif kind in _READERS:
            yield from _READERS[kind](self, thing)
        elif kind.__module__ == types.__name__:
            yield from self.data(thing)
        elif isinstance(thing, Mapping):
            yield from self.mapping(thing)
        elif isinstance(thing, OpDef) and OPERATORS.get(thing.name) is thing:
            yield f"operator {thing.name}"
        elif isinstance(thing, np.dtype):
            yield f"dtype {thing.str}"
        else:
            raise _Opaque

    def sequence(self, things: tuple | list) -> Iterator[str]:
        yield f"{type(things).__name__} {len(things)}"
        for item in things:
            yield from self.pieces(item)

    def mapping(self, things: Mapping) -> Iterator[str]:
        yield f"mapping {len(things)}"
        for key, item in things.items():
            yield from self.pieces(key)
            yield from self.pieces(item)

    def numbered(self, thing: Value | Function) -> Iterator[str]:
        """Yields the number of a value or function, and at its first use its contents."""
        known = id(thing) in self.met
        number = self.met.setdefault(id(thing), len(self.met))
        yield f"{type(thing).__name__} {number}"
        if not known:
            yield from self.value(thing) if isinstance(thing, Value) else self.data(thing)

    def value(self, value: Value) -> Iterator[str]:
        yield from self.pieces((value.type, value.name, value.has_user_name))

    def values(self, things: frozenset) -> Iterator[str]:
        """Yields a set of values that were met before."""
        if any(id(item) not in self.met for item in things):
            raise _Opaque
        yield from self.pieces(("set", *sorted([self.met[id(item)] for item in things])))

    def slice(self, thing: slice) -> Iterator[str]:
        yield from self.pieces(("slice", thing.start, thing.stop, thing.step))

    def data(self, thing: Any) -> Iterator[str]:
        """Yields the fields of a dataclass, one after the other."""
        if not is_dataclass(thing):
            raise _Opaque
        yield type(thing).__name__
        for each in fields(thing):
            yield from self.pieces(getattr(thing, each.name))


_READERS: dict[type, Callable[[_Reader, Any], Iterator[str]]] = {
    tuple: _Reader.sequence,
    list: _Reader.sequence,
    Value: _Reader.numbered,
    Function: _Reader.numbered,
    Op: _Reader.data,
    Region: _Reader.data,
    Span: _Reader.data,
    frozenset: _Reader.values,
    slice: _Reader.slice,
}

__all__ = ["fingerprint"]
