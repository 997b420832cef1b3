"""Iterators: what can be gone through once. One that the text makes is a cell of the heap, of the
kind ``iterator``, with the items that are left; so all its names see how far it has gone.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import gast

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.frontend.values import Iteration, Ref

KIND = "iterator"
#: What goes on for ever.
ENDLESS = (itertools.count, itertools.cycle)


def is_iterator(value: Any) -> bool:
    return isinstance(value, Ref) and value.kind == KIND


def flows(value: Any) -> bool:
    """Whether going through ``value`` uses up an iterator."""
    return is_iterator(value) or isinstance(value, Iteration) and any(map(flows, value.sources))


def made(low: Any, items: Iterable[Any]) -> Ref:
    """A new iterator over these items."""
    found: Ref = low.allocate(KIND, tuple(items))
    return found


def named(low: Any, value: Any, text: Any) -> Any:
    """``value`` as a variable holds it: what is gone through once is an iterator, though one of
    which nothing was taken yet may still be gone through by a loop."""
    if isinstance(value, Iteration):
        return low.allocate(KIND, value)
    is_generator = isinstance(text, gast.GeneratorExp) and isinstance(value, tuple)
    return made(low, value) if is_generator else value


def whole(low: Any, value: Any) -> Any:
    """What a loop that goes to the end goes through; the iterator is at its end then."""
    if not is_iterator(value) or not isinstance(low.state.heap[value], Iteration):
        return value
    source = low.state.heap[value]
    low.state.heap[value] = ()
    return source


def taken(low: Any, ref: Ref) -> Iterator[Any]:
    """The items that are left, each at the moment at which it is asked for."""
    if isinstance(low.state.heap[ref], Iteration):
        low.state.heap[ref] = tuple(low.sequence(low.state.heap[ref]))
    while low.state.heap[ref]:
        first, *rest = low.state.heap[ref]
        low.state.heap[ref] = tuple(rest)
        yield first


def _iter(low: Any, source: Any) -> Any:
    return source if is_iterator(source) else made(low, low.sequence(source))


def _next(low: Any, iterator: Any, *default: Any) -> Any:
    if not is_iterator(iterator):
        if not isinstance(iterator, (tuple, Iteration)):
            raise TypeError(f"'{low.described(iterator)}' object is not an iterator")
        iterator = made(low, low.sequence(iterator))  # nothing else holds it
    for item in taken(low, iterator):
        return item
    if default:
        return default[0]
    raise low.fail(DTypeError, "this iterator is at its end", "give next() a default").meaning(
        StopIteration()
    )


def _reduce(low: Any, function: Any, source: Any, *initial: Any) -> Any:
    items = [*initial, *low.sequence(source)]
    if not items:
        raise TypeError("reduce() of empty iterable with no initial value")
    return functools.reduce(lambda found, item: low.call(function, (found, item), {}), items)


def _lazily(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of ``itertools`` on the items of its arguments."""

    def apply(low: Any, *sources: Any, **settings: Any) -> Ref:
        return made(low, function(*map(low.sequence, sources), **settings))

    return apply


def _counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """As ``_lazily``, where only the first argument has items."""

    def apply(low: Any, source: Any, *counts: Any) -> Ref:
        known = [low.static(count, "how many items are taken") for count in counts]
        return made(low, function(low.sequence(source), *known))

    return apply


def _accumulate(low: Any, source: Any, function: Any = None, *, initial: Any = None) -> Ref:
    def join(found: Any, item: Any) -> Any:
        if function is None:
            return low.binary("Add", found, item)
        return low.call(function, (found, item), {})

    return made(low, itertools.accumulate(low.sequence(source), join, initial=initial))


def _starmap(low: Any, function: Any, source: Any) -> Ref:
    return made(low, [low.call(function, low.sequence(row), {}) for row in low.sequence(source)])


def _from_iterable(low: Any, sources: Any) -> Ref:
    return made(low, itertools.chain(*map(low.sequence, low.sequence(sources))))


def _repeat(low: Any, thing: Any, times: Any) -> Ref:
    return made(low, [thing] * low.static(times, "how often something is repeated"))


#: Functions that make iterators, or go through what they are given.
ITERATORS: dict[Any, Callable[..., Any]] = {
    iter: _iter,
    next: _next,
    functools.reduce: _reduce,
    itertools.chain: _lazily(itertools.chain),
    itertools.chain.from_iterable: _from_iterable,
    itertools.product: _lazily(itertools.product),
    itertools.zip_longest: _lazily(itertools.zip_longest),
    itertools.pairwise: _lazily(itertools.pairwise),
    itertools.combinations: _counted(itertools.combinations),
    itertools.permutations: _counted(itertools.permutations),
    itertools.islice: _counted(itertools.islice),
    itertools.accumulate: _accumulate,
    itertools.starmap: _starmap,
    itertools.repeat: _repeat,
}


def used_up(low: Any, value: Any) -> Sequence[Any]:
    """Refuses an iterator from outside: going through it now would leave nothing for the call."""
    raise low.fail(
        DTypeError,
        f"a {type(value).__name__} from outside can be gone through once, which compiling would do",
        "make a list of it outside, and go through that",
    )
