"""Conflicts: what the proof of memory safety (``memory_safety.py``) finds against a write, and what
resolves it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autodiff_compiler.ir.nodes import Loop, Op, Value
from autodiff_compiler.ir.types import ArrayType, Type


@dataclass(frozen=True)
class Placement:
    """In which lent blocks a residual may lie, and its ``rows`` (see ``writes.rows_of``)."""

    blocks: frozenset[int]
    rows: Type | None


@dataclass(frozen=True)
class Conflict:
    """Why a write may not be where it is: that of ``writer``, in place. Where something is read
    after it was overwritten, that is the ``victim``, and ``reader`` the operation that reads it
    (None: a region yields it). ``entries`` are the loops around the writer, outermost first, that
    brought the memory in, by position, with the numbers of the carries that did."""

    why: str
    writer: Op | None = None
    victim: Value | None = None
    reader: Op | None = None
    entries: tuple[tuple[Value, tuple[int, ...]], ...] = ()


def entries_of(
    around: Iterable[tuple[Loop, Sequence[frozenset[int]]]], pieces: frozenset[int]
) -> tuple[tuple[Value, tuple[int, ...]], ...]:
    """The loops that brought ``pieces`` in, with the numbers of the carries that did."""
    found = []
    for loop, begun in around:
        numbers = tuple(number for number, lies in enumerate(begun) if lies & pieces)
        if numbers:
            found.append((loop.position, numbers))
    return tuple(found)


def in_step(a: Type | None, b: Type | None) -> bool:
    """Whether the rows of two arrays that begin at one place lie at the same places."""
    if not isinstance(a, ArrayType) or not isinstance(b, ArrayType):
        return False
    return a.is_static and b.is_static and a.dtype == b.dtype and a.shape[1:] == b.shape[1:]  # type: ignore[index]


def common_rows(a: Type | None, b: Type | None, param: Value) -> Type | None:
    """The rows of ``param``, whose array is one with the rows ``a`` or one with ``b``."""
    if a is None or b is None:
        return None
    return a if a == b else param.type
