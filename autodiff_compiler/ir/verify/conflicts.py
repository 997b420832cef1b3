"""Conflicts that the proof of memory safety (``memory_safety.py``) reports about writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autodiff_compiler.ir.nodes import Loop, Op, Value
from autodiff_compiler.ir.types import ArrayType, Type


@dataclass(frozen=True)
class Placement:
    """The allocations of the workspace in which a residual may lie, and its ``rows`` (see
    ``row_types``)."""

    allocations: frozenset[int]
    rows: Type | None


@dataclass(frozen=True)
class Conflict:
    """A write in place that is not safe.

    why      the reason, for a message.
    writer   the operation that writes.
    victim   a value that is read after it was overwritten, if that is the reason.
    reader   the operation that reads it; None if a region yields it.
    entries  the loops around the writer, outermost first, whose carries brought the memory in: by
             position, with the numbers of these carries.
    """

    why: str
    writer: Op | None = None
    victim: Value | None = None
    reader: Op | None = None
    entries: tuple[tuple[Value, tuple[int, ...]], ...] = ()


def entries_of(
    loops: Iterable[tuple[Loop, Sequence[frozenset[int]]]], locations: frozenset[int]
) -> tuple[tuple[Value, tuple[int, ...]], ...]:
    """Lists the loops whose carries brought ``locations`` in, with the numbers of these carries."""
    entries = []
    for loop, inits in loops:
        numbers = tuple(number for number, lies in enumerate(inits) if lies & locations)
        if numbers:
            entries.append((loop.position, numbers))
    return tuple(entries)


def in_step(a: Type | None, b: Type | None) -> bool:
    """True if equal rows of two arrays that begin at one place lie at the same places."""
    if not isinstance(a, ArrayType) or not isinstance(b, ArrayType):
        return False
    return a.is_static and b.is_static and a.dtype == b.dtype and a.dims[1:] == b.dims[1:]


def common_rows(a: Type | None, b: Type | None, param: Value) -> Type | None:
    """Joins the rows ``a`` and ``b`` of two arrays that ``param`` may be."""
    if a is None or b is None:
        return None
    return a if a == b else param.type
