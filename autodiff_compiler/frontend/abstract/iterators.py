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
from autodiff_compiler.frontend.abstract.runtime_lists import (
    check_zip_lengths,
    is_runtime_list,
    length_of,
)
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


def is_consumed_by_iteration(value: Any) -> bool:
    """Whether going through ``value`` uses up an iterator, or calls something for each item."""
    by_item = isinstance(value, LazyIterable) and value.kind not in ("enumerate", "zip", "reversed")
    return by_item or is_iterator(value) or (
        isinstance(value, LazyIterable) and any(map(is_consumed_by_iteration, value.sources))
    )  # fmt: skip


def new_iterator(low: Any, items: Iterable[Any]) -> HeapRef:
    """A new iterator over these items."""
    found: HeapRef = low.allocate(KIND, tuple(items))
    return found


def iterator_over(low: Any, source: Any) -> HeapRef:
    """The iterator over ``source``, as ``iter`` gives it."""
    if is_iterator(source):
        return source
    found: HeapRef = low.allocate(KIND, _initial_position(low, source))
    return found


def _initial_position(low: Any, source: Any) -> Any:
    """The contents of an iterator of which nothing was taken yet."""
    if isinstance(source, LazyIterable) and source.kind == "reversed":
        (inner,) = source.sources
        first = _initial_position(low, inner)
        if isinstance(first, IteratorPosition):
            return replace(first, at=_item_count(low, first) - 1, step=-1)
        return tuple(reversed(low.sequence(inner)))
    if isinstance(source, LazyIterable):
        return replace(source, sources=tuple(iterator_over(low, each) for each in source.sources))
    if isinstance(source, DictView) or isinstance(source, HeapRef) and source.kind == "dict":
        return IteratorPosition(source, keys=tuple(dict_of(low, source)))
    if (
        isinstance(source, HeapRef)
        and source.kind == "list"
        and not is_runtime_list(low.state.heap[source])
    ):
        return IteratorPosition(source)
    if isinstance(source, Value) and isinstance(source.type, ArrayType):
        return IteratorPosition(source)
    return tuple(low.sequence(source))


def as_variable(low: Any, value: Any) -> Any:
    """``value`` as a variable holds it: what is gone through once is an iterator, though one of
    which nothing was taken yet may still be gone through by a loop."""
    if not isinstance(value, LazyIterable):
        return value
    return (
        low.allocate(KIND, value)
        if low.handlers.becomes_loop(low, value)
        else iterator_over(low, value)
    )


def drain(low: Any, value: Any) -> Any:
    """What a loop that goes to the end goes through; the iterator is at its end then."""
    if not is_iterator(value) or not _is_unstarted(low.state.heap[value]):
        return value
    source = low.state.heap[value]
    low.state.heap[value] = ()
    return source


def drain_at_once(low: Any, value: Any) -> Any:
    """What is left of an iterator that is gone through at once: what a generator expression would
    give may be a list that a loop makes."""
    source = drain(low, value)
    if isinstance(source, LazyIterable) and source.kind == "generator":
        return low.handlers.evaluate_generator(low, source.function, source.sources[0])
    return source


def _is_unstarted(contents: Any) -> bool:
    """Whether it is not even begun."""
    return isinstance(contents, LazyIterable) and not all(map(is_iterator, contents.sources))


def remaining_items(low: Any, ref: HeapRef) -> Iterator[Any]:
    """The items that are left, each at the moment at which it is asked for."""
    while (item := _next_item(low, ref)) is not End:
        yield item


def items_of(low: Any, value: Any) -> Iterator[Any]:
    """As ``remaining_items``, of a value that may be gone through."""
    ref = iterator_over(low, value)
    yield from remaining_items(low, ref)
    if ref is not value:
        low.state.heap.pop(ref, None)


def _next_item(low: Any, ref: HeapRef) -> Any:
    """The next item, or ``End``."""
    heap, contents = low.state.heap, low.state.heap[ref]
    if _is_unstarted(contents):
        contents = heap[ref] = _initial_position(low, contents)
    if isinstance(contents, tuple):
        first, *rest = contents or (End,)
        heap[ref] = tuple(rest)
        return first
    if isinstance(contents, IteratorPosition):
        if not 0 <= contents.at < _item_count(low, contents):
            heap[ref] = ()
            return End
        heap[ref] = replace(contents, at=contents.at + contents.step)
        if isinstance(contents.source, Value):
            return indexing.index(contents.source, index=(contents.at,))
        return low.lifted(_current_items(low, contents)[contents.at])
    if contents.kind == "generator":
        return _next_of_generator(low, contents)
    if contents.kind in NEXT_ITEM:
        return NEXT_ITEM[contents.kind](low, ref, contents)
    row = []
    for source in contents.sources:
        row.append(_next_item(low, source))
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


def _next_of_generator(low: Any, generator: LazyIterable) -> Any:
    """The next item of a generator expression: its second source has what was made of the present
    item of its first."""
    source, ready = generator.sources
    while (item := _next_item(low, ready)) is End:
        if (first := _next_item(low, source)) is End:
            return End
        low.state.heap[ready] = tuple(low.handlers.generate_items(low, generator.function, first))
    return item


def _next_of_filter(low: Any, ref: HeapRef, part: LazyIterable) -> Any:
    (source,) = part.sources
    while (item := _next_item(low, source)) is not End:
        found = item if part.function is None else low.call(part.function, (item,), {})
        if low.static(low.truth(found), "the condition of filter()"):
            break
    return item


def _next_of_chain(low: Any, ref: HeapRef, chain: LazyIterable) -> Any:
    """The first source has what is chained, of which the second is the present one."""
    rest, present = chain.sources
    while (item := _next_item(low, present)) is End:
        if (following := _next_item(low, rest)) is End:
            low.state.heap[ref] = ()
            return End
        present = iterator_over(low, following)
        low.state.heap[ref] = replace(chain, sources=(rest, present))
    return item


def _next_of_zip_longest(low: Any, ref: HeapRef, rows: LazyIterable) -> Any:
    """A source at its end is not asked again."""
    row = [_next_item(low, source) for source in rows.sources]
    if all(item is End for item in row):
        low.state.heap[ref] = ()
        return End
    left = (
        new_iterator(low, ()) if item is End else source for item, source in zip(row, rows.sources)
    )
    low.state.heap[ref] = replace(rows, sources=tuple(left))
    return tuple(rows.start if item is End else item for item in row)


def _next_of_pairwise(low: Any, ref: HeapRef, pairs: LazyIterable) -> Any:
    """The second source has the item before, if there is one."""
    source, last = pairs.sources
    before, item = _last_or_next(low, source, last), End
    if before is not End and (item := _next_item(low, source)) is not End:
        low.state.heap[last] = (item,)
        return (before, item)
    low.state.heap[ref] = ()
    return End


def _last_or_next(low: Any, source: HeapRef, last: HeapRef) -> Any:
    """What ``last`` has, or where that is nothing the next item of ``source``."""
    before = _next_item(low, last)
    return _next_item(low, source) if before is End else before


def _next_of_accumulate(low: Any, ref: HeapRef, sums: LazyIterable) -> Any:
    """The second source has what was made of the items before, if there were any."""
    source, last = sums.sources
    before, item = _next_item(low, last), _next_item(low, source)
    if item is End:
        low.state.heap[ref] = ()
        return End
    if before is not End and sums.function is None:
        item = low.binary("Add", before, item)
    elif before is not End:
        item = low.call(sums.function, (before, item), {})
    low.state.heap[last] = (item,)
    return item


def _next_of_islice(low: Any, ref: HeapRef, part: LazyIterable) -> Any:
    """At the start of ``part``: how many items were asked for, the place of the next that is
    wanted, where it ends, and the step."""
    (source,), (at, wanted, stop, step) = part.sources, part.start
    while at != stop and (item := _next_item(low, source)) is not End:
        at += 1
        if at > wanted:
            low.state.heap[ref] = replace(part, start=(at, wanted + step, stop, step))
            return item
    low.state.heap[ref] = ()
    return End


#: How those take an item that do not simply ask each source for one.
NEXT_ITEM: dict[str, Callable[[Any, HeapRef, LazyIterable], Any]] = {
    "filter": _next_of_filter,
    "chain": _next_of_chain,
    "zip_longest": _next_of_zip_longest,
    "pairwise": _next_of_pairwise,
    "accumulate": _next_of_accumulate,
    "islice": _next_of_islice,
}


def _item_count(low: Any, along: IteratorPosition) -> int:
    """How many items there are to go along now."""
    if not isinstance(along.source, Value):
        return len(_current_items(low, along))
    found: int = low.static(length_of(low, along.source), "the number of items")
    return found


def _current_items(low: Any, along: IteratorPosition) -> Sequence[Any]:
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


def _call_next(low: Any, iterator: Any, *default: Any) -> Any:
    iterator = as_variable(low, iterator)
    if not is_iterator(iterator):
        kind = "list" if isinstance(iterator, HeapRef) else low.described(iterator)
        raise low.fail(
            DTypeError,
            f"next() takes an iterator, and a {kind} is not one",
            "make an iterator first: next(iter(items))",
        ).meaning(TypeError(f"'{kind}' object is not an iterator"))
    item = _next_item(low, iterator)
    if item is not End:
        return item
    if default:
        return default[0]
    raise low.fail(
        DTypeError,
        "next() is called on an exhausted iterator",
        "pass a default: next(iterator, None)",
    ).meaning(StopIteration())


def _call_reduce(low: Any, function: Any, source: Any, *initial: Any) -> Any:
    items = itertools.chain(initial, items_of(low, source))
    found = next(items, End)
    if found is End:
        raise TypeError("reduce() of empty iterable with no initial value")
    return functools.reduce(lambda found, item: low.call(function, (found, item), {}), items, found)


def _eagerly(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of ``itertools`` on the items that its arguments have now."""

    def apply(low: Any, *sources: Any, **settings: Any) -> HeapRef:
        return new_iterator(low, function(*map(low.sequence, sources), **settings))

    return apply


def _eagerly_with_counts(function: Callable[..., Any]) -> Callable[..., Any]:
    """As ``_eagerly``, where only the first argument has items."""

    def apply(low: Any, source: Any, *counts: Any) -> HeapRef:
        known = [low.static(count, "the number of items to take") for count in counts]
        return new_iterator(low, function(low.sequence(source), *known))

    return apply


def _new_islice(low: Any, source: Any, *ends: Any) -> LazyIterable:
    known = [low.static(end, "the number of items to take") for end in ends]
    itertools.islice((), *known)  # says what is wrong with them
    part = slice(*known)
    first = part.start or 0
    stop = None if part.stop is None else max(first, part.stop)
    return LazyIterable("islice", (source,), start=(0, first, stop, part.step or 1))


def _new_accumulate(
    low: Any, source: Any, func: Any = None, *, initial: Any = None
) -> LazyIterable:
    if initial is None:
        return LazyIterable("accumulate", (source, ()), function=func)
    return _new_chain(
        low, (initial,), LazyIterable("accumulate", (source, (initial,)), function=func)
    )


def _new_chain(low: Any, *sources: Any) -> LazyIterable:
    return LazyIterable("chain", (sources, ()))


def _new_zip(low: Any, *sources: Any, strict: Any = False) -> LazyIterable:
    if low.static(strict, "the argument 'strict' of zip()"):
        check_zip_lengths(low, sources, known=not any(map(is_consumed_by_iteration, sources)))
    return LazyIterable("zip", sources)


def _new_zip_longest(low: Any, *sources: Any, fillvalue: Any = None) -> LazyIterable:
    return LazyIterable("zip_longest", sources, fillvalue)


def _new_repeat(low: Any, thing: Any, times: Any) -> HeapRef:
    return new_iterator(low, [thing] * low.static(times, "the number of repetitions"))


#: Functions that make iterators, or go through what they are given.
ITERATOR_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    enumerate: lambda low, items, start=0: LazyIterable("enumerate", (items,), start),
    zip: _new_zip,
    reversed: lambda low, items: LazyIterable(
        "reversed", (items,), low.state.heap.get(items) if isinstance(items, HeapRef) else None
    ),  # fmt: skip
    map: lambda low, function, *items: LazyIterable("map", items, function=function),
    filter: lambda low, function, items: LazyIterable("filter", (items,), function=function),
    iter: iterator_over,
    next: _call_next,
    functools.reduce: _call_reduce,
    itertools.chain: _new_chain,
    itertools.chain.from_iterable: lambda low, sources: LazyIterable("chain", (sources, ())),
    itertools.product: _eagerly(itertools.product),
    itertools.zip_longest: _new_zip_longest,
    itertools.pairwise: lambda low, source: LazyIterable("pairwise", (source, ())),
    itertools.combinations: _eagerly_with_counts(itertools.combinations),
    itertools.permutations: _eagerly_with_counts(itertools.permutations),
    itertools.islice: _new_islice,
    itertools.accumulate: _new_accumulate,
    itertools.starmap: lambda low, f, rows: LazyIterable("starmap", (rows,), function=f),
    itertools.repeat: _new_repeat,
}


def refuse_consuming(low: Any, value: Any) -> Sequence[Any]:
    """Refuses an iterator from outside: going through it now would leave nothing for the call."""
    raise low.fail(
        DTypeError,
        f"a {type(value).__name__} made outside of the function can be consumed once "
        "only, and compiling would consume it",
        "make it a list outside of the function: items = list(iterator)",
    )
