"""Lists and dicts taken out of the heap and put back: how branches and loops carry them.

Two ways through a text may each make a list of their own under one name. Afterwards one list stands
for both, which is right as long as nobody else holds either of them: a change made through the name
could not be seen under another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import MethodType
from typing import Any

from autodiff_compiler.frontend.abstract.values import (
    NUMBERS,
    Along,
    Closure,
    Either,
    Frame,
    Fresh,
    HeapMethod,
    Iteration,
    Maybe,
    Own,
    Partial,
    Ref,
    State,
    Unset,
    View,
    mapped,
)
from autodiff_compiler.ir.nodes import Value


def frozen(value: Any, state: State) -> Any:
    """``value`` with every list and dict in it replaced by its contents."""
    if isinstance(value, Ref):
        return Fresh(value.kind, frozen(state.heap.get(value), state))
    if isinstance(value, (Maybe, tuple, dict)):
        return mapped(value, lambda item: frozen(item, state))
    return value


def thawed(value: Any, allocate: Callable[[str, Any], Ref]) -> Any:
    """``value`` with a new list or dict for each that was frozen."""
    if isinstance(value, Fresh):
        return allocate(value.kind, thawed(value.contents, allocate))
    if isinstance(value, (Maybe, tuple, dict)):
        return mapped(value, lambda item: thawed(item, allocate))
    return value


def holds_refs(value: Any) -> bool:
    """Whether a list or dict of the heap is in ``value``."""
    return any(True for _ in _refs(value, set()))


def is_frozen(value: Any) -> bool:
    """Whether ``frozen`` took a list or dict out of ``value``."""
    if isinstance(value, (tuple, dict)):
        return any(map(is_frozen, value.values() if isinstance(value, dict) else value))
    return isinstance(value, Fresh)


def is_plain(value: Any) -> bool:
    """Decide whether ``value`` stays as it is where both ways through a branch leave it to its
    name: a function may see a frame that one of them changed."""
    if isinstance(value, Maybe):
        value = value.value
    if type(value) is tuple:
        return all(map(is_plain, value))
    return value is None or isinstance(value, (Value, Ref, Unset, str, *NUMBERS))


def held_by(ref: Ref, names: Mapping[str, Any]) -> str:
    """Return the variable that holds a list or dict, for names and messages."""
    return next((name for name, value in names.items() if value is ref), ref.kind)


class Holders:
    """How many variables and containers hold each list and dict, at the end of one way."""

    def __init__(self, state: State, roots: Iterable[Any], frames: Iterable[Frame]):
        self.state, self.roots = state, tuple(roots)
        self.seen: set[int] = {id(frame) for frame in frames}

    @cached_property
    def count(self) -> Counter[Ref]:
        """Count the references to each list and dict, on first use."""
        found: Counter[Ref] = Counter()

        def visit(value: Any) -> None:
            for ref in _refs(value, self.seen):
                found[ref] += 1
                if found[ref] == 1:
                    visit(self.state.heap.get(ref))

        for root in self.roots:
            visit(root)
        return found

    def sole(self, value: Any) -> bool:
        """Whether nothing else holds any list or dict that is in ``value``, at any depth."""
        return all(
            self.count[ref] <= 1 and self.sole(self.state.heap.get(ref))
            for ref in _refs(value, set())
        )


def _refs(value: Any, seen: set[int]) -> Iterator[Ref]:
    """The lists and dicts that ``value`` holds directly; frames in ``seen`` are left out."""
    if isinstance(value, Ref):
        yield value
        return
    parts: Iterable[Any] = ()
    if isinstance(value, (tuple, list)):
        parts = value
    elif isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, Maybe):
        parts = (value.value,)
    elif isinstance(value, (HeapMethod, Own, View)):
        parts = (value.ref,)
    elif isinstance(value, Along):
        parts = (value.source,)
    elif isinstance(value, Partial):
        parts = (value.func, value.args, value.keywords)
    elif isinstance(value, Closure):
        parts = (value.defaults, *_around(value.frame, seen))
    elif isinstance(value, Either):
        parts = (value.left, value.right)
    elif isinstance(value, Iteration):
        parts = (*value.sources, value.start, value.function)
    elif isinstance(value, MethodType):
        parts = (value.__self__,)
    for part in parts:
        yield from _refs(part, seen)


def _around(frame: Frame | None, seen: set[int]) -> Iterator[Any]:
    while frame is not None:
        if id(frame) not in seen:
            seen.add(id(frame))
            yield frame.names
        frame = frame.outer
