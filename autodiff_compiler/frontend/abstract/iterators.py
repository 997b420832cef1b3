"""Iterators: iterables that can be consumed once.

An iterator that the source function makes is a heap object of the kind ``iterator``. All its names
therefore see its position. Each item is computed when it is requested, as in Python. It then sees
the current items of a list, and the current variables of a function or generator expression.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.frontend.abstract.evaluator import Evaluator
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
#: Classes of iterators without an end.
ENDLESS = (itertools.count, itertools.cycle)
_NUMBERS_AND_TEXT = (int, float, complex, bool, str, bytes, type(None))


class End:
    """The outcome of asking an iterator without further items for the next one."""


def is_iterator(value: Any) -> TypeGuard[HeapRef]:
    return isinstance(value, HeapRef) and value.kind == KIND


def is_consumed_by_iteration(value: Any) -> bool:
    """True if a loop over ``value`` consumes an iterator, or calls a function for each item."""
    if not isinstance(value, LazyIterable):
        return is_iterator(value)
    calls = value.kind not in ("enumerate", "zip", "reversed")
    return calls or any(map(is_consumed_by_iteration, value.sources))


def new_iterator(low: Evaluator, items: Iterable[Any]) -> HeapRef:
    """Returns a new iterator over these items."""
    return low.allocate(KIND, tuple(items))


def iterator_over(low: Evaluator, source: Any) -> HeapRef:
    """Returns ``iter(source)``."""
    return source if is_iterator(source) else low.allocate(KIND, _initial_position(low, source))


def _initial_position(low: Evaluator, source: Any) -> Any:
    """Returns the contents of an iterator that has not started."""
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


def as_variable(low: Evaluator, value: Any) -> Any:
    """Returns ``value`` as a variable holds it: a lazy iterable becomes an iterator. An iterator
    that may become a loop is not started: a loop can still read its sources.
    """
    if not isinstance(value, LazyIterable):
        return value
    return (
        low.allocate(KIND, value)
        if low.handlers.becomes_loop(low, value)
        else iterator_over(low, value)
    )


def drain(low: Evaluator, value: Any) -> Any:
    """Returns the iterable for a loop that runs to its end. An iterator that has not started is
    replaced by its lazy iterable, and is then exhausted."""
    if not is_iterator(value) or not _is_unstarted(low.state.heap[value]):
        return value
    source = low.state.heap[value]
    low.state.heap[value] = ()
    return source


def drain_at_once(low: Evaluator, value: Any) -> Any:
    """Returns the iterable as ``drain`` does, for a caller that needs all items at once. A
    generator expression may then become the list that a loop makes."""
    source = drain(low, value)
    if isinstance(source, LazyIterable) and source.kind == "generator":
        return low.handlers.evaluate_generator(low, source.function, source.sources[0])
    return source


def _is_unstarted(contents: Any) -> bool:
    """True if these contents of an iterator have not been started."""
    return isinstance(contents, LazyIterable) and not all(map(is_iterator, contents.sources))


def remaining_items(low: Evaluator, ref: HeapRef) -> Iterator[Any]:
    """Yields the remaining items, each computed when it is asked for."""
    while (item := _next_item(low, ref)) is not End:
        yield item


def items_of(low: Evaluator, value: Any) -> Iterator[Any]:
    """Yields the items of any iterable as ``remaining_items`` does."""
    if isinstance(value, (tuple, range)) and all(type(item) in _NUMBERS_AND_TEXT for item in value):
        # No write changes them, so they need no place in the heap, which each write goes through.
        yield from value
        return
    ref = iterator_over(low, value)
    yield from remaining_items(low, ref)
    if ref is not value:
        low.state.heap.pop(ref, None)


def _next_item(low: Evaluator, ref: HeapRef) -> Any:
    """Returns the next item, or ``End``."""
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


def _next_of_generator(low: Evaluator, generator: LazyIterable) -> Any:
    """Returns the next item of a generator expression. Its second source has the items that the
    current item of its first source produced."""
    source, ready = generator.sources
    while (item := _next_item(low, ready)) is End:
        if (first := _next_item(low, source)) is End:
            return End
        low.state.heap[ready] = tuple(low.handlers.generate_items(low, generator.function, first))
    return item


def _next_of_filter(low: Evaluator, ref: HeapRef, part: LazyIterable) -> Any:
    (source,) = part.sources
    while (item := _next_item(low, source)) is not End:
        condition = item if part.function is None else low.call(part.function, (item,), {})
        if low.static(low.truth(condition), "the condition of filter()"):
            break
    return item


def _next_of_chain(low: Evaluator, ref: HeapRef, chain: LazyIterable) -> Any:
    """Returns the next item of the second source, the current iterable. The first source yields the
    iterables behind it."""
    rest, present = chain.sources
    while (item := _next_item(low, present)) is End:
        if (following := _next_item(low, rest)) is End:
            low.state.heap[ref] = ()
            return End
        present = iterator_over(low, following)
        low.state.heap[ref] = replace(chain, sources=(rest, present))
    return item


def _next_of_zip_longest(low: Evaluator, ref: HeapRef, rows: LazyIterable) -> Any:
    """Returns the next row. A source at its end becomes an empty iterator: it is not read again."""
    row = [_next_item(low, source) for source in rows.sources]
    if all(item is End for item in row):
        low.state.heap[ref] = ()
        return End
    left = (
        new_iterator(low, ()) if item is End else source for item, source in zip(row, rows.sources)
    )
    low.state.heap[ref] = replace(rows, sources=tuple(left))
    return tuple(rows.start if item is End else item for item in row)


def _next_of_pairwise(low: Evaluator, ref: HeapRef, pairs: LazyIterable) -> Any:
    """Returns the next pair. The second source has the previous item, if there is one."""
    source, last = pairs.sources
    before, item = _last_or_next(low, source, last), End
    if before is not End and (item := _next_item(low, source)) is not End:
        low.state.heap[last] = (item,)
        return (before, item)
    low.state.heap[ref] = ()
    return End


def _last_or_next(low: Evaluator, source: HeapRef, last: HeapRef) -> Any:
    """Returns the item in ``last``, or the next item of ``source`` if there is none."""
    before = _next_item(low, last)
    return _next_item(low, source) if before is End else before


def _next_of_accumulate(low: Evaluator, ref: HeapRef, sums: LazyIterable) -> Any:
    """Returns the next result. The second source has the previous one, if there is one."""
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


def _next_of_islice(low: Evaluator, ref: HeapRef, part: LazyIterable) -> Any:
    """Returns the next wanted item. ``part.start`` has the number of items read, the position of
    the next wanted one, the end, and the step."""
    (source,), (at, wanted, stop, step) = part.sources, part.start
    while at != stop and (item := _next_item(low, source)) is not End:
        at += 1
        if at > wanted:
            low.state.heap[ref] = replace(part, start=(at, wanted + step, stop, step))
            return item
    low.state.heap[ref] = ()
    return End


#: The next item of an iterable that does not simply ask each source for one.
NEXT_ITEM: dict[str, Callable[[Any, HeapRef, LazyIterable], Any]] = {
    "filter": _next_of_filter,
    "chain": _next_of_chain,
    "zip_longest": _next_of_zip_longest,
    "pairwise": _next_of_pairwise,
    "accumulate": _next_of_accumulate,
    "islice": _next_of_islice,
}


def _item_count(low: Evaluator, along: IteratorPosition) -> int:
    """Returns the number of items that the source has now."""
    if not isinstance(along.source, Value):
        return len(_current_items(low, along))
    count: int = low.static(length_of(low, along.source), "the number of items")
    return count


def _current_items(low: Evaluator, along: IteratorPosition) -> Sequence[Any]:
    """Returns the items that the source has now. A dict must have the keys that it had."""
    if along.keys is not None:
        keys = tuple(dict_of(low, along.source))
        if keys != along.keys:
            change = "changed size" if len(keys) != len(along.keys) else "keys changed"
            cause = f"dictionary {change} during iteration"
            cure = "loop over a copy of the keys: for k in list(d)"
            raise low.fail(DTypeError, cause, cure).meaning(RuntimeError(cause))
    items: Sequence[Any] = tuple(low.contents(along.source))
    return items


def _call_next(low: Evaluator, iterator: Any, *default: Any) -> Any:
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


def _call_reduce(low: Evaluator, function: Any, source: Any, *initial: Any) -> Any:
    items = itertools.chain(initial, items_of(low, source))
    accumulated = next(items, End)
    if accumulated is End:
        raise TypeError("reduce() of empty iterable with no initial value")
    return functools.reduce(
        lambda accumulated, item: low.call(function, (accumulated, item), {}), items, accumulated
    )


def _eagerly(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of ``itertools`` on the items that its arguments have now."""

    def apply(low: Evaluator, *sources: Any, **settings: Any) -> HeapRef:
        return new_iterator(low, function(*map(low.sequence, sources), **settings))

    return apply


def _eagerly_with_counts(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function as ``_eagerly`` does, if only the first argument has items."""

    def apply(low: Evaluator, source: Any, *counts: Any) -> HeapRef:
        known = [low.static(count, "the number of items to take") for count in counts]
        return new_iterator(low, function(low.sequence(source), *known))

    return apply


def _new_islice(low: Evaluator, source: Any, *ends: Any) -> LazyIterable:
    known = [low.static(end, "the number of items to take") for end in ends]
    itertools.islice((), *known)  # raises if they are wrong
    part = slice(*known)
    first = part.start or 0
    stop = None if part.stop is None else max(first, part.stop)
    return LazyIterable("islice", (source,), start=(0, first, stop, part.step or 1))


def _new_accumulate(
    low: Evaluator, source: Any, func: Any = None, *, initial: Any = None
) -> LazyIterable:
    if initial is None:
        return LazyIterable("accumulate", (source, ()), function=func)
    return _new_chain(
        low, (initial,), LazyIterable("accumulate", (source, (initial,)), function=func)
    )


def _new_chain(low: Evaluator, *sources: Any) -> LazyIterable:
    return LazyIterable("chain", (sources, ()))


def _new_zip(low: Evaluator, *sources: Any, strict: Any = False) -> LazyIterable:
    if low.static(strict, "the argument 'strict' of zip()"):
        check_zip_lengths(low, sources, known=not any(map(is_consumed_by_iteration, sources)))
    return LazyIterable("zip", sources)


def _new_zip_longest(low: Evaluator, *sources: Any, fillvalue: Any = None) -> LazyIterable:
    return LazyIterable("zip_longest", sources, fillvalue)


def _new_reversed(low: Evaluator, items: Any) -> LazyIterable:
    contents = low.state.heap.get(items) if isinstance(items, HeapRef) else None
    return LazyIterable("reversed", (items,), contents)


def _new_repeat(low: Evaluator, thing: Any, times: Any) -> HeapRef:
    return new_iterator(low, [thing] * low.static(times, "the number of repetitions"))


#: Functions that make iterators, or consume their arguments.
ITERATOR_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    enumerate: lambda low, items, start=0: LazyIterable("enumerate", (items,), start),
    zip: _new_zip,
    reversed: _new_reversed,
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


def refuse_consuming(low: Evaluator, value: Any) -> Sequence[Any]:
    """Refuses an iterator from outside: compiling would consume it before the call does."""
    raise low.fail(
        DTypeError,
        f"a {type(value).__name__} made outside of the function can be consumed once "
        "only, and compiling would consume it",
        "make it a list outside of the function: items = list(iterator)",
    )
