"""``fingerprint``: a number for what a function says, which is another where anything else is said.

    >>> from autodiff_compiler.ir.parser import parse_function
    >>> text = "func @f(%x: f32[2]) -> (f32[2]) {{\\n  %y: f32[2] = {} %x\\n  return %y\\n}}\\n"
    >>> sin, again, cos = (parse_function(text.format(name)) for name in ("sin", "sin", "cos"))
    >>> fingerprint(sin) == fingerprint(again), fingerprint(sin) == fingerprint(cos)
    (True, False)

Unlike the printed text, it takes in everything that the source may be made from: names, places in
the user's file, and the user's lines. What holds anything that is not plain data has no digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from autodiff_compiler.ir import types
from autodiff_compiler.ir.nodes import Function, Op, Region, Value
from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.span import Span

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))


def fingerprint(*things: Any) -> str | None:
    """The digest of functions and plain data, as hexadecimal digits; None where there is none."""
    made = hashlib.sha256()
    try:
        for piece in _Reader().pieces(things):
            made.update(piece.encode("utf-8", "surrogatepass") + b"\0")
    except _Opaque:
        return None
    return made.hexdigest()


class _Opaque(Exception):
    """Something is known by its identity only."""


class _Reader:
    def __init__(self) -> None:
        #: Values and functions by the order in which they are met.
        self.met: dict[int, int] = {}

    def pieces(self, thing: Any) -> Iterator[str]:
        kind = type(thing)
        if kind in _PLAIN:
            yield f"{kind.__name__} {thing!r}"
        elif kind in (tuple, list):
            yield f"{kind.__name__} {len(thing)}"
            for item in thing:
                yield from self.pieces(item)
        elif isinstance(thing, Mapping):
            yield f"mapping {len(thing)}"
            for key, item in thing.items():
                yield from self.pieces(key)
                yield from self.pieces(item)
        elif kind in (Value, Function):
            known = id(thing) in self.met
            number = self.met.setdefault(id(thing), len(self.met))
            yield f"{kind.__name__} {number}"
            if not known:
                yield from self.value(thing) if kind is Value else self.data(thing)
        elif kind in (Op, Region, Span) or kind.__module__ == types.__name__:
            yield from self.data(thing)
        elif isinstance(thing, OpDef) and OPERATORS.get(thing.name) is thing:
            yield f"operator {thing.name}"
        elif kind is frozenset and all(id(item) in self.met for item in thing):
            yield from self.pieces(("set", *sorted([self.met[id(item)] for item in thing])))
        elif kind is slice:
            yield from self.pieces(("slice", thing.start, thing.stop, thing.step))
        elif isinstance(thing, np.dtype):
            yield f"dtype {thing.str}"
        else:
            raise _Opaque

    def value(self, value: Value) -> Iterator[str]:
        yield from self.pieces((value.type, value.name, value.has_user_name))

    def data(self, thing: Any) -> Iterator[str]:
        """The fields of a dataclass, one after the other."""
        if not is_dataclass(thing):
            raise _Opaque
        yield type(thing).__name__
        for each in fields(thing):
            yield from self.pieces(getattr(thing, each.name))


__all__ = ["fingerprint"]
