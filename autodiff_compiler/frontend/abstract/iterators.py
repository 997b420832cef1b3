"""Iterators: what can be gone through once. One that the text makes is a cell of the heap, of the
kind ``iterator``; so all its names see how far it has gone.

Each item is made when it is asked for, as in Python: what a list holds by then, and what the
variables are by then that a function or a generator expression reads.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.frontend.abstract.heap import dict_of
from autodiff_compiler.frontend.abstract.runtime_lists import check_lengths, is_long, length_of
from autodiff_compiler.frontend.abstract.values import (
    DictView,
    HeapRef,
    IteratorPosition,
    LazyIterable,
)
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.indexing import indexing

KIND = "iterator"
#: What goes on for ever.
ENDLESS = (itertools.count, itertools.cycle)


class End:
    """What is taken of an iterator that has no more items."""


def is_iterator(value: Any) -> bool:
    return isinstance(value, HeapRef) and value.kind == KIND


def flows(value: Any) -> bool:
    """Whether going through ``value`` uses up an iterator, or calls something for each item."""
    by_item = isinstance(value, LazyIterable) and value.kind not in ("enumerate", "zip", "reversed")
    return by_item or is_iterator(value) or (
        isinstance(value, LazyIterable) and any(map(flows, value.sources))
    )  # fmt: skip


def made(low: Any, items: Iterable[Any]) -> HeapRef:
    """A new iterator over these items."""
    found: HeapRef = low.allocate(KIND, tuple(items))
    return found


def begun(low: Any, source: Any) -> HeapRef:
    """The iterator over ``source``, as ``iter`` gives it."""
    if is_iterator(source):
        return source
    found: HeapRef = low.allocate(KIND, _begin(low, source))
    return found


def _begin(low: Any, source: Any) -> Any:
    """The contents of an iterator of which nothing was taken yet."""
    if isinstance(source, LazyIterable) and source.kind == "reversed":
        (inner,) = source.sources
        first = _begin(low, inner)
        if isinstance(first, IteratorPosition):
            return replace(first, at=_count(low, first) - 1, step=-1)
        return tuple(reversed(low.sequence(inner)))
    if isinstance(source, LazyIterable):
        return replace(source, sources=tuple(begun(low, each) for each in source.sources))
    if isinstance(source, DictView) or isinstance(source, HeapRef) and source.kind == "dict":
        return IteratorPosition(source, keys=tuple(dict_of(low, source)))
    if (
        isinstance(source, HeapRef)
        and source.kind == "list"
        and not is_long(low.state.heap[source])
    ):
        return IteratorPosition(source)
    if isinstance(source, Value) and isinstance(source.type, ArrayType):
        return IteratorPosition(source)
    return tuple(low.sequence(source))


def named(low: Any, value: Any) -> Any:
    """``value`` as a variable holds it: what is gone through once is an iterator, though one of
    which nothing was taken yet may still be gone through by a loop."""
    if not isinstance(value, LazyIterable):
        return value
    return low.allocate(KIND, value) if low.handlers.becomes_loop(low, value) else begun(low, value)


def whole(low: Any, value: Any) -> Any:
    """What a loop that goes to the end goes through; the iterator is at its end then."""
    if not is_iterator(value) or not _is_new(low.state.heap[value]):
        return value
    source = low.state.heap[value]
    low.state.heap[value] = ()
    return source


def all_of(low: Any, value: Any) -> Any:
    """What is left of an iterator that is gone through at once: what a generator expression would
    give may be a list that a loop makes."""
    source = whole(low, value)
    if isinstance(source, LazyIterable) and source.kind == "generator":
        return low.handlers.evaluate_generator(low, source.function, source.sources[0])
    return source


def _is_new(contents: Any) -> bool:
    """Whether it is not even begun."""
    return isinstance(contents, LazyIterable) and not all(map(is_iterator, contents.sources))


def taken(low: Any, ref: HeapRef) -> Iterator[Any]:
    """The items that are left, each at the moment at which it is asked for."""
    while (item := _take(low, ref)) is not End:
        yield item


def gone_through(low: Any, value: Any) -> Iterator[Any]:
    """As ``taken``, of a value that may be gone through."""
    ref = begun(low, value)
    yield from taken(low, ref)
    if ref is not value:
        low.state.heap.pop(ref, None)


def _take(low: Any, ref: HeapRef) -> Any:
    """The next item, or ``End``."""
    heap, contents = low.state.heap, low.state.heap[ref]
    if _is_new(contents):
        contents = heap[ref] = _begin(low, contents)
    if isinstance(contents, tuple):
        first, *rest = contents or (End,)
        heap[ref] = tuple(rest)
        return first
    if isinstance(contents, IteratorPosition):
        if not 0 <= contents.at < _count(low, contents):
            heap[ref] = ()
            return End
        heap[ref] = replace(contents, at=contents.at + contents.step)
        if isinstance(contents.source, Value):
            return indexing.index(contents.source, index=(contents.at,))
        return low.lifted(_present(low, contents)[contents.at])
    if contents.kind == "generator":
        return _generate(low, contents)
    if contents.kind in STEPS:
        return STEPS[contents.kind](low, ref, contents)
    row = []
    for source in contents.sources:
        row.append(_take(low, source))
        if row[-1] is End:
            return End
    if contents.kind == "enumerate":
        heap[ref] = replace(contents, start=low.binary("Add", contents.start, 1))
        return (contents.start, *row)
    if contents.kind == "map":
        return low.call(contents.function, row, {})
    if contents.kind == "starmap":
        return low.call(contents.function, low.sequence(row[0]), {})
    return tuple(row) if row else End


def _generate(low: Any, generator: LazyIterable) -> Any:
    """The next item of a generator expression: its second source has what was made of the present
    item of its first."""
    source, ready = generator.sources
    while (item := _take(low, ready)) is End:
        if (first := _take(low, source)) is End:
            return End
        low.state.heap[ready] = tuple(low.handlers.generate_items(low, generator.function, first))
    return item


def _filtered(low: Any, ref: HeapRef, part: LazyIterable) -> Any:
    (source,) = part.sources
    while (item := _take(low, source)) is not End:
        found = item if part.function is None else low.call(part.function, (item,), {})
        if low.static(low.truth(found), "the condition of filter()"):
            break
    return item


def _chain(low: Any, ref: HeapRef, chain: LazyIterable) -> Any:
    """The first source has what is chained, of which the second is the present one."""
    rest, present = chain.sources
    while (item := _take(low, present)) is End:
        if (following := _take(low, rest)) is End:
            low.state.heap[ref] = ()
            return End
        present = begun(low, following)
        low.state.heap[ref] = replace(chain, sources=(rest, present))
    return item


def _zip_longest(low: Any, ref: HeapRef, rows: LazyIterable) -> Any:
    """A source at its end is not asked again."""
    row = [_take(low, source) for source in rows.sources]
    if all(item is End for item in row):
        low.state.heap[ref] = ()
        return End
    left = (made(low, ()) if item is End else source for item, source in zip(row, rows.sources))
    low.state.heap[ref] = replace(rows, sources=tuple(left))
    return tuple(rows.start if item is End else item for item in row)


def _pairwise(low: Any, ref: HeapRef, pairs: LazyIterable) -> Any:
    """The second source has the item before, if there is one."""
    source, last = pairs.sources
    before, item = _last(low, source, last), End
    if before is not End and (item := _take(low, source)) is not End:
        low.state.heap[last] = (item,)
        return (before, item)
    low.state.heap[ref] = ()
    return End


def _last(low: Any, source: HeapRef, last: HeapRef) -> Any:
    """What ``last`` has, or where that is nothing the next item of ``source``."""
    before = _take(low, last)
    return _take(low, source) if before is End else before


def _running(low: Any, ref: HeapRef, sums: LazyIterable) -> Any:
    """The second source has what was made of the items before, if there were any."""
    source, last = sums.sources
    before, item = _take(low, last), _take(low, source)
    if item is End:
        low.state.heap[ref] = ()
        return End
    if before is not End and sums.function is None:
        item = low.binary("Add", before, item)
    elif before is not End:
        item = low.call(sums.function, (before, item), {})
    low.state.heap[last] = (item,)
    return item


def _sliced(low: Any, ref: HeapRef, part: LazyIterable) -> Any:
    """At the start of ``part``: how many items were asked for, the place of the next that is
    wanted, where it ends, and the step."""
    (source,), (at, wanted, stop, step) = part.sources, part.start
    while at != stop and (item := _take(low, source)) is not End:
        at += 1
        if at > wanted:
            low.state.heap[ref] = replace(part, start=(at, wanted + step, stop, step))
            return item
    low.state.heap[ref] = ()
    return End


#: How those take an item that do not simply ask each source for one.
STEPS: dict[str, Callable[[Any, HeapRef, LazyIterable], Any]] = {
    "filter": _filtered,
    "chain": _chain,
    "zip_longest": _zip_longest,
    "pairwise": _pairwise,
    "accumulate": _running,
    "islice": _sliced,
}


def _count(low: Any, along: IteratorPosition) -> int:
    """How many items there are to go along now."""
    if not isinstance(along.source, Value):
        return len(_present(low, along))
    found: int = low.static(length_of(low, along.source), "the number of items")
    return found


def _present(low: Any, along: IteratorPosition) -> Sequence[Any]:
    """What there is to go along now; a dict must have the keys that it had."""
    if along.keys is not None:
        keys = tuple(dict_of(low, along.source))
        if keys != along.keys:
            what = "size" if len(keys) != len(along.keys) else "keys"
            told = f"dictionary {'changed size' if what == 'size' else 'keys changed'}"
            raise low.fail(
                DTypeError, f"{told} during iteration",
                "loop over a copy of the keys: for k in list(d)",
            ).meaning(RuntimeError(f"{told} during iteration"))  # fmt: skip
    found: Sequence[Any] = tuple(low.contents(along.source))
    return found


def _next(low: Any, iterator: Any, *default: Any) -> Any:
    iterator = named(low, iterator)
    if not is_iterator(iterator):
        kind = "list" if isinstance(iterator, HeapRef) else low.described(iterator)
        raise low.fail(
            DTypeError,
            f"next() takes an iterator, and a {kind} is not one",
            "make an iterator first: next(iter(items))",
        ).meaning(TypeError(f"'{kind}' object is not an iterator"))
    item = _take(low, iterator)
    if item is not End:
        return item
    if default:
        return default[0]
    raise low.fail(
        DTypeError,
        "next() is called on an exhausted iterator",
        "pass a default: next(iterator, None)",
    ).meaning(StopIteration())


def _reduce(low: Any, function: Any, source: Any, *initial: Any) -> Any:
    items = itertools.chain(initial, gone_through(low, source))
    found = next(items, End)
    if found is End:
        raise TypeError("reduce() of empty iterable with no initial value")
    return functools.reduce(lambda found, item: low.call(function, (found, item), {}), items, found)


def _now(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of ``itertools`` on the items that its arguments have now."""

    def apply(low: Any, *sources: Any, **settings: Any) -> HeapRef:
        return made(low, function(*map(low.sequence, sources), **settings))

    return apply


def _counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """As ``_now``, where only the first argument has items."""

    def apply(low: Any, source: Any, *counts: Any) -> HeapRef:
        known = [low.static(count, "the number of items to take") for count in counts]
        return made(low, function(low.sequence(source), *known))

    return apply


def _slice(low: Any, source: Any, *ends: Any) -> LazyIterable:
    known = [low.static(end, "the number of items to take") for end in ends]
    itertools.islice((), *known)  # says what is wrong with them
    part = slice(*known)
    first = part.start or 0
    stop = None if part.stop is None else max(first, part.stop)
    return LazyIterable("islice", (source,), start=(0, first, stop, part.step or 1))


def _accumulate(low: Any, source: Any, func: Any = None, *, initial: Any = None) -> LazyIterable:
    if initial is None:
        return LazyIterable("accumulate", (source, ()), function=func)
    return _chained(
        low, (initial,), LazyIterable("accumulate", (source, (initial,)), function=func)
    )


def _chained(low: Any, *sources: Any) -> LazyIterable:
    return LazyIterable("chain", (sources, ()))


def _zipped(low: Any, *sources: Any, strict: Any = False) -> LazyIterable:
    if low.static(strict, "the argument 'strict' of zip()"):
        check_lengths(low, sources, known=not any(map(flows, sources)))
    return LazyIterable("zip", sources)


def _zipped_longest(low: Any, *sources: Any, fillvalue: Any = None) -> LazyIterable:
    return LazyIterable("zip_longest", sources, fillvalue)


def _repeat(low: Any, thing: Any, times: Any) -> HeapRef:
    return made(low, [thing] * low.static(times, "the number of repetitions"))


#: Functions that make iterators, or go through what they are given.
ITERATORS: dict[Any, Callable[..., Any]] = {
    enumerate: lambda low, items, start=0: LazyIterable("enumerate", (items,), start),
    zip: _zipped,
    reversed: lambda low, items: LazyIterable(
        "reversed", (items,), low.state.heap.get(items) if isinstance(items, HeapRef) else None
    ),  # fmt: skip
    map: lambda low, function, *items: LazyIterable("map", items, function=function),
    filter: lambda low, function, items: LazyIterable("filter", (items,), function=function),
    iter: begun,
    next: _next,
    functools.reduce: _reduce,
    itertools.chain: _chained,
    itertools.chain.from_iterable: lambda low, sources: LazyIterable("chain", (sources, ())),
    itertools.product: _now(itertools.product),
    itertools.zip_longest: _zipped_longest,
    itertools.pairwise: lambda low, source: LazyIterable("pairwise", (source, ())),
    itertools.combinations: _counted(itertools.combinations),
    itertools.permutations: _counted(itertools.permutations),
    itertools.islice: _slice,
    itertools.accumulate: _accumulate,
    itertools.starmap: lambda low, f, rows: LazyIterable("starmap", (rows,), function=f),
    itertools.repeat: _repeat,
}


def used_up(low: Any, value: Any) -> Sequence[Any]:
    """Refuses an iterator from outside: going through it now would leave nothing for the call."""
    raise low.fail(
        DTypeError,
        f"a {type(value).__name__} made outside of the function can be consumed once "
        "only, and compiling would consume it",
        "make it a list outside of the function: items = list(iterator)",
    )
