"""In-place writes to tensors: every name of the written memory gets the new value, or is lost."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from autodiff_compiler.errors import UnsupportedSyntax
from autodiff_compiler.frontend.abstract.aliasing import map_values
from autodiff_compiler.frontend.abstract.evaluator import Evaluator
from autodiff_compiler.frontend.abstract.values import (
    INTERNAL_VARIABLES,
    Heap,
    HeapRef,
    Unset,
    internal_kind,
    leaves,
)
from autodiff_compiler.ir.nodes import Value


def copy_suffix(low: Evaluator) -> str:
    """Returns the text that makes a copy of an array when it follows its name, for a cure."""
    return ".copy()" if low.compilation.numpy else " * 1"


def refuse_overwritten(low: Evaluator, value: Any, mark: int) -> None:
    """Refuses ``value`` if a tensor in it was written to since there were ``mark`` writes: Python
    would use its present contents, and this value has the earlier ones."""
    aliases = low.compilation.aliases
    memory = aliases.of_all(leaves(value)) if aliases.writes[mark:] else frozenset()
    if any(memory & later for later in aliases.writes[mark:]):
        raise low.fail(
            UnsupportedSyntax,
            "this expression reads a tensor and also changes it in place",
            "move the in-place change to a statement of its own, before or after this one",
        )


def record_write(
    low: Evaluator, memory: frozenset[Hashable], changes: Mapping[Value, Value] | None = None
) -> None:
    """Records a write to the tensors of this memory.

    A value among ``changes`` becomes its new value under every name. A name of any other value
    that may lie in the memory is lost.
    """
    if not memory:
        return
    aliases, state = low.compilation.aliases, low.state
    aliases.writes.append(memory)
    _record_overwritten_arguments(low, memory)
    known = changes or {}

    def updated(name: str, thing: Any, certain: bool = True) -> Any:
        def change(one: Value) -> Any:
            if certain and one in known:
                return known[one]
            if memory.isdisjoint(aliases.of(one)):
                return one
            if any(frozenset((one, other)) in aliases.distinct for other in known):
                return one
            aliases.has_unknown_views = True
            return _lost_name(low, name)

        return map_values(thing, change)

    state.names = {name: updated(name, thing) for name, thing in state.names.items()}
    state.heap = Heap({ref: updated(ref.kind, thing) for ref, thing in state.heap.items()})
    for frame in low.waiting_frames:
        # Their variables are not part of the state that a branch or loop forks.
        certain = frame.depth == low.depth
        frame.names.update({n: updated(n, thing, certain) for n, thing in frame.names.items()})


def _record_overwritten_arguments(low: Evaluator, memory: frozenset[Hashable]) -> None:
    """Records the operations that stand before the first write to each argument in the memory."""
    overwritten, span = low.compilation.overwritten, low.builder.span
    for argument in low.compilation.arguments:
        if argument in memory:
            ops = low.builder.blocks[0]
            *_, count, first = overwritten.get(argument, (ops, len(ops), span))
            overwritten[argument] = ops, min(count, len(ops)), first


def _lost_name(low: Evaluator, name: str) -> Unset:
    """Returns the contents of a variable that may share memory with the array written to."""
    kind = internal_kind(name)
    thing = INTERNAL_VARIABLES[kind] if kind else f"'{name}'"
    if kind == "waiting":
        cure = "assign copies of the values to variables first"
    elif kind:
        cure = "loop over a copy of it"
    else:
        cure = f"make it a copy where it is assigned: {name}{copy_suffix(low)}"
    cause = (
        f"{thing} may share memory with the array that line {low.builder.span.line} writes to; "
        "whether it does is not known at compile time"
    )
    return Unset(cause, cure)


def write_heap_object(low: Evaluator, ref: HeapRef, new: Value) -> None:
    """Writes a new value to the heap object of a Parameter, under every name of the Parameter."""
    before = low.state.heap[ref]
    low.state.heap[ref] = new
    record_write(low, low.compilation.aliases.of(before), {before: new})


def is_reachable(low: Evaluator, value: Value) -> bool:
    """True if a variable, or an item of one, is this very value."""
    matches: list[Value] = []

    def look(one: Value) -> Value:
        matches.extend([one] if one is value else [])
        return one

    frames = (frame.names for frame in low.waiting_frames)
    for things in (low.state.names.values(), low.state.heap.values(), *map(dict.values, frames)):
        map_values(tuple(things), look)
    return bool(matches)
