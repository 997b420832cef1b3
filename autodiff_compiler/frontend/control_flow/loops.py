"""Loops: rolled where they can be, so that the length of the source never depends on a trip count.

A rolled loop is lowered again and again until its carried variables are known, a fixed point. A
variable that the body changes is carried. Its type holds its value before and after every
iteration. A loop over known objects of different kinds, such as the Cells of a CellList, is
unrolled. A counted loop is unrolled if its index must be known in the body.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import gast

from autodiff_compiler.common.cells.containers import CellList, SequentialCell
from autodiff_compiler.cost_model import costs
from autodiff_compiler.errors import DTypeError, UnsupportedSyntax
from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.frontend.abstract.iterators import (
    drain,
    drain_at_once,
    is_consumed_by_iteration,
    items_of,
    refuse_consuming,
)
from autodiff_compiler.frontend.abstract.join import list_type
from autodiff_compiler.frontend.abstract.outcomes import Diverged
from autodiff_compiler.frontend.abstract.runtime_lists import (
    RESIZING_METHODS,
    is_runtime_list,
    item_as_value,
    length_of,
    new_runtime_list,
    reversed_list,
)
from autodiff_compiler.frontend.abstract.values import (
    Checkpointed,
    HeapRef,
    LazyIterable,
    LoopNotRollable,
    LoopSourceChanges,
    NeedsKnownValue,
    RuntimeRange,
    State,
    internal_name,
    is_same,
)
from autodiff_compiler.frontend.control_flow.carries import (
    Carry,
    IterationSpace,
    Key,
    RowsWritten,
    exit_condition,
    watched,
)
from autodiff_compiler.frontend.control_flow.learned_carries import LoopEntry
from autodiff_compiler.frontend.control_flow.rolled_loop import LoopHypothesis
from autodiff_compiler.frontend.core.dependencies import parameters_behind
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.unwinding import assume_not_thrown
from autodiff_compiler.frontend.syntax import builders
from autodiff_compiler.frontend.syntax.nodes import AugmentedBinOp, exit_flags
from autodiff_compiler.interface.compiled import count_of
from autodiff_compiler.ir.builder import Unreached
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType, ListType
from autodiff_compiler.operators.core import containers
from autodiff_compiler.operators.indexing import indexing
from autodiff_compiler.operators.lists import loop_tapes

#: The ``while`` that a ``for`` over a growing list becomes, with its own variables. A loop keeps
#: its node over several attempts to compile a function.
_LOOPS_BY_POSITION: WeakKeyDictionary[Any, tuple[tuple[str, str, str], Any]] = WeakKeyDictionary()


def execute_for(low: Lowering, node: Any) -> None:
    span = low.span(node)
    iterable = _iterator_of(low, low.evaluate(node.iter))
    if not exit_flags(node):
        iterable = drain(low, iterable)
    if isinstance(iterable, LazyIterable) and iterable.kind == "generator":
        iterable = low.handlers.evaluate_generator(low, iterable.function, iterable.sources[0])
    if is_consumed_by_iteration(iterable):
        _unroll(low, node, items_of(low, iterable))
        return
    space = iteration_space(low, iterable)
    if isinstance(space, list):
        _unroll(low, node, items_of(low, iterable))
        return
    reason = _try_to_roll(low, node, space)
    if isinstance(reason, RowsWritten):
        reason = _try_to_roll(low, node, space.by_names(low, _stored(node)))
    if isinstance(reason, LoopSourceChanges):
        _roll_by_position(low, node, iterable, reason)
    elif reason is not None:
        items = space.items
        if items is None and space.reads and 0 < (space.size or 0) <= costs().unrolled_rows:
            items = low.sequence(low.evaluate(node.iter))
        if items is None:
            raise _unrollable(reason, span)
        _unroll(low, node, items_of(low, tuple(items)))


def _try_to_roll(low: Lowering, node: Any, space: IterationSpace | None) -> Exception | None:
    """Rolls a loop, or returns why it cannot be rolled; then nothing has changed. Lists that seem
    to grow are first assumed to have a run-time length."""
    if node in low.compilation.unrolled_loops:
        return LoopNotRollable("this loop cannot be unrolled")
    grown = _lists_that_grow(low, node)
    reason = _try(low, node, space, grown)
    if reason is None or not grown:
        return reason
    other = _try(low, node, space, {})
    return other and (reason if isinstance(reason, LoopNotRollable) and reason.problems else other)


def _lists_that_grow(low: Lowering, node: Any) -> dict[Key, Carry]:
    """Returns the lists whose length the body changes, as far as its source shows."""
    carries: dict[Key, Carry] = {}
    for part in nodes_in(node):
        name = ""
        if isinstance(part, gast.Attribute) and part.attr in RESIZING_METHODS:
            name = getattr(part.value, "id", "")
        elif isinstance(part, AugmentedBinOp):
            name = getattr(part.left, "id", "")
        ref = low.state.names.get(name)
        if isinstance(ref, HeapRef) and ref.kind == "list":
            type_ = list_type(low.state.heap[ref])
            if type_ is not None:
                carries[ref] = Carry(Value(type_), [type_], False)
    return carries


def _try(
    low: Lowering, node: Any, space: IterationSpace | None, grown: dict[Key, Carry]
) -> Exception | None:
    base, problems_before = low.state.fork(), len(low.compilation.problems)
    around, awaited, countable = set(low.loop_params), low.frame.may_be_set, low.unrollable_indices
    low.frame.may_be_set |= set(_stored(node))
    try:
        with low.builder.at(low.span(node)), low.builder.block() as ops:
            with watched(low, space, _stored(node)):
                _roll(low, node, space, grown)
            if grown and len(low.compilation.problems) > problems_before:
                raise LoopNotRollable(problems=low.compilation.problems[problems_before:])
            lists = () if space is None else space.lists
            if any(base.heap[ref] is not low.state.heap[ref] for ref in lists):
                raise LoopSourceChanges(
                    "the body of this loop changes the list that the loop iterates over",
                    cure="loop over a copy: for item in list(items)",
                )
    except (NeedsKnownValue, LoopNotRollable, RowsWritten) as reason:
        del low.compilation.problems[problems_before:]
        low.state = base
        loop_params = low.loop_params - around
        if (
            isinstance(reason, NeedsKnownValue)
            and not parameters_behind(low, reason.value) & loop_params
        ):
            raise
        return reason
    finally:
        low.loop_params, low.frame.may_be_set, low.unrollable_indices = around, awaited, countable
    low.builder.ops.extend(ops)
    return None


def _roll_by_position(low: Lowering, node: Any, iterable: Any, reason: Exception) -> None:
    """Lowers a ``for`` over a list that its body changes as a ``while`` over positions."""
    counts = isinstance(iterable, LazyIterable) and iterable.kind == "enumerate"
    source = iterable.sources[0] if counts else iterable
    if not _is_long(low, source):
        raise _unrollable(reason, low.span(node))
    if node not in _LOOPS_BY_POSITION:
        number = next(low.compilation.refs)
        names = (
            internal_name("items", number),
            internal_name("at", number),
            internal_name("first", number),
        )
        _LOOPS_BY_POSITION[node] = names, builders.index_loop(node, *names, counts)
    names, loop = _LOOPS_BY_POSITION[node]
    low.state.names |= dict(zip(names, (source, 0, iterable.start if counts else 0)))
    execute_while(low, loop)
    for name in names:
        low.state.names.pop(name, None)


def _unrollable(reason: Exception, span: Any) -> Exception:
    if isinstance(reason, NeedsKnownValue):
        cause = f"{reason.purpose} must be a compile-time constant, but it changes in this loop"
        return reason.refusal(cause, "compute it without the variables that the loop assigns")
    if isinstance(reason, LoopNotRollable) and reason.problems:
        return reason.problems[0].kind(problems=reason.problems)
    assert isinstance(reason, LoopNotRollable)
    return DTypeError(str(reason), reason.cure, span)


def execute_while(low: Lowering, node: Any) -> None:
    reason = _try_to_roll(low, node, None)
    if reason is not None:
        _unroll_while(low, node, reason)


def iteration_space(low: Lowering, iterable: Any) -> IterationSpace | list[Any]:
    """Returns how to iterate over something: an iteration space to roll, or its items."""
    if isinstance(iterable, range):
        known = (iterable.start, iterable.stop, iterable.step)
        return IterationSpace(known, [], lambda index, reads: index, iterable)
    if isinstance(iterable, RuntimeRange):
        bounds = (iterable.start, iterable.stop, iterable.step)
        return IterationSpace(bounds, [], lambda index, reads: index)
    if isinstance(iterable, Value) and isinstance(iterable.type, (ArrayType, ListType)):
        size = length_of(low, iterable)
        return IterationSpace(
            (0, size, 1), [iterable], lambda index, reads: item_as_value(low, reads[0], iterable)
        )
    if isinstance(iterable, Checkpointed):
        return _checkpointed(low, iterable)
    if isinstance(iterable, LazyIterable) and iterable.kind in ("enumerate", "zip"):
        return _zipped(low, iterable)
    backward = isinstance(iterable, LazyIterable) and iterable.kind == "reversed"
    if backward and _is_long(low, iterable.sources[0]):
        if iterable.start is not low.state.heap[iterable.sources[0]]:
            raise low.fail(
                UnsupportedSyntax,
                "the list has changed since reversed() was called on it",
                "call reversed() in the 'for' statement: for item in reversed(items)",
            )
        return low.handlers.iteration_space(
            low, reversed_list(low, low.state.heap[iterable.sources[0]])
        )
    if _is_long(low, iterable):
        through = iteration_space(low, low.state.heap[iterable])
        assert isinstance(through, IterationSpace)
        return replace(through, lists=(iterable,))
    return low.sequence(iterable)


def becomes_loop(low: Lowering, iterable: Any) -> bool:
    if is_consumed_by_iteration(iterable):
        return False
    with low.builder.block():  # what it computes is thrown away
        space = iteration_space(low, iterable)
    most = costs().unrolled_comprehension_items
    return isinstance(space, IterationSpace) and (space.size is None or space.size > most)


def _is_long(low: Lowering, value: Any) -> bool:
    return isinstance(value, HeapRef) and is_runtime_list(low.state.heap[value])


def _checkpointed(low: Lowering, given: Checkpointed) -> IterationSpace:
    space = iteration_space(low, drain(low, given.iterable))
    if isinstance(space, list):
        raise low.fail(
            DTypeError,
            "this loop is unrolled, so its iterations cannot be checkpointed",
            "remove checkpointed(), or loop over a range or along an axis of a Tensor",
        )
    return replace(space, items=None, checkpoint=given.checkpoint)


def _zipped(low: Lowering, iterable: LazyIterable) -> IterationSpace | list[Any]:
    """Returns how to go through ``zip`` or ``enumerate``: rolled, or item by item."""
    sources = [iteration_space(low, source) for source in iterable.sources]
    spaces = [space for space in sources if isinstance(space, IterationSpace)]
    if not spaces or len(spaces) < len(sources):
        return low.sequence(iterable)
    bounds = spaces[0].bounds
    lists = tuple(ref for space in spaces for ref in space.lists)
    if any(not is_same(space.bounds, bounds) for space in spaces):
        cut = _of_one_length(low, spaces)
        return replace(cut, lists=lists) if cut is not None else low.sequence(iterable)
    if iterable.kind == "enumerate" and not is_same(bounds[0], 0):
        return low.sequence(iterable)
    items = None if any(space.items is None for space in spaces) else low.sequence(iterable)
    reads = [read for space in spaces for read in space.reads]
    return IterationSpace(bounds, reads, _zipped_item(low, iterable, spaces), items, lists=lists)


def _zipped_item(
    low: Lowering, iterable: LazyIterable, spaces: Sequence[IterationSpace]
) -> Callable[[Value, Sequence[Value]], Any]:
    """Returns the function that makes an item of ``zip`` or ``enumerate``."""

    def item(index: Value, values: Sequence[Value]) -> Any:
        parts, at = [], 0
        for space in spaces:
            count = len(space.reads)
            parts.append(space.item(index, values[at : at + count]))
            at += count
        if iterable.kind == "zip":
            return tuple(parts)
        start = iterable.start
        return (index if start == 0 else low.binary("Add", index, start), parts[0])

    return item


def _of_one_length(low: Lowering, spaces: Sequence[Any]) -> IterationSpace | None:
    """Returns the space of a ``zip`` of lists of run-time length, each cut to the shortest; None if
    one is no list."""
    sources: list[Any] = [space.reads[0] if len(space.reads) == 1 else None for space in spaces]
    if not all(isinstance(s, Value) and isinstance(s.type, ListType) for s in sources):
        return None
    for other in sources[1:]:
        sources[0] = new_runtime_list(low, loop_tapes.list_trim(sources[0], other), sources[0])

    def item(index: Value, values: Sequence[Value]) -> Any:
        return tuple(item_as_value(low, value, source) for value, source in zip(values, sources))

    return IterationSpace((0, containers.list_length(sources[0]), 1), sources, item)


def sequence(low: Lowering, value: Any) -> list[Any]:
    """Returns everything an iterable yields, which must be known at compile time."""
    value = drain_at_once(low, _iterator_of(low, value))
    if is_consumed_by_iteration(value) or isinstance(value, LazyIterable):
        return list(items_of(low, value))
    if isinstance(value, RuntimeRange):
        first = next(b for b in (value.stop, value.start, value.step) if isinstance(b, Value))
        raise NeedsKnownValue(first, low.builder.span, "a bound of this range")
    if isinstance(value, Value):
        size = length_of(low, value)
        count = low.static(size, "the number of items")
        return [indexing.index(value, index=(k,)) for k in range(count)]
    if isinstance(value, (SequentialCell, CellList)):
        value = low.attribute(value, "cell_list")
    if not isinstance(value, HeapRef):
        path = low.compilation.path(value)
        low.compilation.guard_length(value) if hasattr(value, "__len__") else None
        if isinstance(value, (list, tuple)) and path is not None:
            return [low.lifted(low.compilation.item(value, k)) for k in range(count_of(value))]
    contents = low.contents(value)
    try:
        return [low.lifted(item) for item in contents]
    except TypeError as error:
        raise low.translate(error, "this cannot be iterated over") from None


def _iterator_of(low: Lowering, value: Any) -> Any:
    """Returns the iterator of an object with an ``__iter__``; other values as they are."""
    method = low.special(value, "__iter__")
    if method is not None:
        return low.call(method, (), {})
    return refuse_consuming(low, value) if isinstance(value, Iterator) else value


def _unroll(low: Lowering, node: Any, items: Iterable[Any]) -> None:
    assume_not_thrown(low)
    for count, item in enumerate(items):
        _limit(low, count, node)
        low.assign(node.target, item)
        _once_through(low, node.body)
        ended = exit_condition(low, node)
        if ended is True:
            return
        if isinstance(ended, Value):
            low.choose(ended, lambda: None, functools.partial(partial(_unroll, low), node, items))
            return


def _unroll_while(low: Lowering, node: Any, reason: Exception) -> None:
    for count in range(costs().unrolled_iterations + 1):
        _limit(low, count, node)
        test = low.truth(low.evaluate(node.test))
        if not isinstance(test, bool):
            raise _unrollable(reason, low.span(node))
        if not test:
            return
        _once_through(low, node.body)
        ended = exit_condition(low, node)
        if ended is True:
            return
        if isinstance(ended, Value):
            raise _unrollable(reason, low.span(node))


def _once_through(low: Lowering, body: Sequence[Any]) -> None:
    if isinstance(low.block(body), Diverged):
        raise Unreached


def _limit(low: Lowering, count: int, node: Any) -> None:
    most = costs().unrolled_iterations
    if count >= most:
        raise UnsupportedSyntax(
            f"this loop has to be unrolled, and has more than {most} iterations",
            LoopNotRollable.cure,
            low.span(node),
        )


def _roll(low: Lowering, node: Any, space: IterationSpace | None, grown: dict[Key, Carry]) -> None:
    form = bool(grown), space is None, space is not None and space.by_position
    entry = LoopEntry(low.compilation.learned_loops, node, low.state, form)
    known = entry.outcome(low.compilation.aliases)
    if known is not None:
        base, problems_before = low.state, len(low.compilation.problems)
        try:
            _settle(low, node, space, entry, *known)
            return
        except (NeedsKnownValue, LoopNotRollable, RowsWritten):
            del low.compilation.problems[problems_before:]
            low.state = base
    _settle(low, node, space, entry, _first_carries(low.state, node, grown), set())


def _settle(
    low: Lowering,
    node: Any,
    space: IterationSpace | None,
    entry: LoopEntry,
    carried: dict[Key, Carry],
    together: set[frozenset[Any]],
) -> None:
    """Lowers a loop until its carried variables are known, beginning with ``carried``."""
    base = low.state
    for _ in range(costs().loop_trials):
        problems_before = len(low.compilation.problems)
        trial = LoopHypothesis(low, node, space, base, carried, together)
        if trial.run():
            entry.learn(carried, together)
            trial.finish()
            return
        del low.compilation.problems[problems_before:]
        low.state = base
    raise LoopNotRollable("each iteration of this loop gives its variables other types")


def _first_carries(base: State, node: Any, grown: dict[Key, Carry]) -> dict[Key, Carry]:
    """Returns the variables that a loop is first assumed to carry."""
    carried = dict(grown)
    for target in _stored(node):
        value = base.names.get(target)
        if isinstance(value, Value):
            carried[target] = Carry(value, [value.type], False)
    return carried


def _stored(node: Any) -> list[str]:
    names: dict[str, None] = {}
    for part in nodes_in(node):
        if isinstance(part, gast.Name) and isinstance(part.ctx, gast.Store):
            names[part.id] = None
    return list(names)
