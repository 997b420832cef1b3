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
    CallableChoice,
    Closure,
    ContainerMethod,
    DetachedContainer,
    DictView,
    Frame,
    HeapRef,
    IteratorPosition,
    LazyIterable,
    MaybeUnset,
    ObjectDict,
    Partial,
    State,
    Unset,
    map_components,
)
from autodiff_compiler.ir.nodes import Value


def detach(value: Any, state: State) -> Any:
    """``value`` with every list and dict in it replaced by its contents."""
    if isinstance(value, HeapRef):
        return DetachedContainer(value.kind, detach(state.heap.get(value), state))
    if isinstance(value, (MaybeUnset, tuple, dict)):
        return map_components(value, lambda item: detach(item, state))
    return value


def reattach(value: Any, allocate: Callable[[str, Any], HeapRef]) -> Any:
    """``value`` with a new list or dict for each that was frozen."""
    if isinstance(value, DetachedContainer):
        return allocate(value.kind, reattach(value.contents, allocate))
    if isinstance(value, (MaybeUnset, tuple, dict)):
        return map_components(value, lambda item: reattach(item, allocate))
    return value


def holds_refs(value: Any) -> bool:
    """Whether a list or dict of the heap is in ``value``."""
    return any(True for _ in _direct_refs(value, set()))


def is_detached(value: Any) -> bool:
    """Finds out if ``detach`` took a list or dict out of ``value``."""
    if isinstance(value, (tuple, dict)):
        return any(map(is_detached, value.values() if isinstance(value, dict) else value))
    return isinstance(value, DetachedContainer)


def is_plain(value: Any) -> bool:
    """Decide whether ``value`` stays as it is where both ways through a branch leave it to its
    name: a function may see a frame that one of them changed."""
    if isinstance(value, MaybeUnset):
        value = value.value
    if type(value) is tuple:
        return all(map(is_plain, value))
    return value is None or isinstance(value, (Value, HeapRef, Unset, str, *NUMBERS))


def holder_of(ref: HeapRef, names: Mapping[str, Any]) -> str:
    """Return the variable that holds a list or dict, for names and messages."""
    return next((name for name, value in names.items() if value is ref), ref.kind)


class HeapOwnership:
    """How many variables and containers hold each list and dict, at the end of one way."""

    def __init__(self, state: State, roots: Iterable[Any], frames: Iterable[Frame]):
        self.state, self.roots = state, tuple(roots)
        self.seen: set[int] = {id(frame) for frame in frames}

    @cached_property
    def count(self) -> Counter[HeapRef]:
        """Count the references to each list and dict, on first use."""
        found: Counter[HeapRef] = Counter()

        def visit(value: Any) -> None:
            for ref in _direct_refs(value, self.seen):
                found[ref] += 1
                if found[ref] == 1:
                    visit(self.state.heap.get(ref))

        for root in self.roots:
            visit(root)
        return found

    def is_unique(self, value: Any) -> bool:
        """Whether nothing else holds any list or dict that is in ``value``, at any depth."""
        return all(
            self.count[ref] <= 1 and self.is_unique(self.state.heap.get(ref))
            for ref in _direct_refs(value, set())
        )


def _direct_refs(value: Any, seen: set[int]) -> Iterator[HeapRef]:
    """The lists and dicts that ``value`` holds directly; frames in ``seen`` are left out."""
    if isinstance(value, HeapRef):
        yield value
        return
    parts: Iterable[Any] = ()
    if isinstance(value, (tuple, list)):
        parts = value
    elif isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, MaybeUnset):
        parts = (value.value,)
    elif isinstance(value, (ContainerMethod, ObjectDict, DictView)):
        parts = (value.ref,)
    elif isinstance(value, IteratorPosition):
        parts = (value.source,)
    elif isinstance(value, Partial):
        parts = (value.func, value.args, value.keywords)
    elif isinstance(value, Closure):
        parts = (value.defaults, *_enclosing_names(value.frame, seen))
    elif isinstance(value, CallableChoice):
        parts = (value.left, value.right)
    elif isinstance(value, LazyIterable):
        parts = (*value.sources, value.start, value.function)
    elif isinstance(value, MethodType):
        parts = (value.__self__,)
    for part in parts:
        yield from _direct_refs(part, seen)


def _enclosing_names(frame: Frame | None, seen: set[int]) -> Iterator[Any]:
    while frame is not None:
        if id(frame) not in seen:
            seen.add(id(frame))
            yield frame.names
        frame = frame.outer


def dict_of(low: Any, value: Any) -> Any:
    """What is in a dict now, or in that which a view shows."""
    return low.state.heap[value.ref if isinstance(value, DictView) else value]
