"""Detaching lists and dicts from the heap, and ownership: how branches and loops carry containers.

Two paths may each make a list of their own under one name. After the join, one list stands for
both. This is right as long as nothing else refers to either of them. A change through this name
would not be visible under another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import MethodType
from typing import Any

from autodiff_compiler.frontend.abstract.evaluator import Evaluator
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
    """Returns ``value`` with every list and dict in it replaced by its contents."""
    if isinstance(value, HeapRef):
        return DetachedContainer(value.kind, detach(state.heap.get(value), state))
    if isinstance(value, (MaybeUnset, tuple, dict)):
        return map_components(value, lambda item: detach(item, state))
    return value


def reattach(value: Any, allocate: Callable[[str, Any], HeapRef]) -> Any:
    """Returns ``value`` with a new list or dict for each that was detached."""
    if isinstance(value, DetachedContainer):
        return allocate(value.kind, reattach(value.contents, allocate))
    if isinstance(value, (MaybeUnset, tuple, dict)):
        return map_components(value, lambda item: reattach(item, allocate))
    return value


def holds_refs(value: Any) -> bool:
    """True if a list or dict of the heap is in ``value``."""
    return any(True for _ in _direct_refs(value, set()))


def is_detached(value: Any) -> bool:
    """True if ``detach`` replaced a list or dict in ``value``."""
    if isinstance(value, (tuple, dict)):
        return any(map(is_detached, value.values() if isinstance(value, dict) else value))
    return isinstance(value, DetachedContainer)


#: The exact types of most values that are plain, so that the common case is quick.
PLAIN_TYPES = frozenset((Value, HeapRef, Unset, str, bool, int, float, complex, type(None)))


def is_plain(value: Any) -> bool:
    """True if ``value`` is unchanged by a branch whose two sides leave it to its name.

    A function is not: it may read a frame that one side changed.
    """
    if type(value) in PLAIN_TYPES:
        return True
    if isinstance(value, MaybeUnset):
        value = value.value
    if type(value) is tuple:
        return all(map(is_plain, value))
    return value is None or isinstance(value, (Value, HeapRef, Unset, str, *NUMBERS))


def holder_of(ref: HeapRef, names: Mapping[str, Any]) -> str:
    """Returns the variable that holds a list or dict, for names and messages."""
    return next((name for name, value in names.items() if value is ref), ref.kind)


class HeapOwnership:
    """The references to each list and dict by variables and containers, at the end of a path."""

    def __init__(self, state: State, roots: Iterable[Any], frames: Iterable[Frame]):
        self.state, self.roots = state, tuple(roots)
        self.seen: set[int] = {id(frame) for frame in frames}

    @cached_property
    def count(self) -> Counter[HeapRef]:
        """The number of references to each list and dict."""
        references: Counter[HeapRef] = Counter()

        def visit(value: Any) -> None:
            for ref in _direct_refs(value, self.seen):
                references[ref] += 1
                if references[ref] == 1:
                    visit(self.state.heap.get(ref))

        for root in self.roots:
            visit(root)
        return references

    def is_unique(self, value: Any) -> bool:
        """True if nothing else holds any list or dict in ``value``, at any depth."""
        return all(
            self.count[ref] <= 1 and self.is_unique(self.state.heap.get(ref))
            for ref in _direct_refs(value, set())
        )


def _direct_refs(value: Any, seen: set[int]) -> Iterator[HeapRef]:
    """Yields the lists and dicts that ``value`` holds directly, except through ``seen`` frames."""
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


def dict_of(low: Evaluator, value: Any) -> Any:
    """Returns the present contents of a dict, or of the dict behind a view."""
    return low.state.heap[value.ref if isinstance(value, DictView) else value]
