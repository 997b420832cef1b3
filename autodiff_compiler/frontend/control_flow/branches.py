"""Branches on a run-time test: both sides are lowered, and their states merged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.frontend.abstract import optional
from autodiff_compiler.frontend.abstract.heap import (
    PLAIN_TYPES,
    HeapOwnership,
    holder_of,
    is_plain,
    reattach,
)
from autodiff_compiler.frontend.abstract.join import cast_to
from autodiff_compiler.frontend.abstract.outcomes import Diverged, Returned, Unwinding
from autodiff_compiler.frontend.abstract.path_dtypes import join_path_dtypes
from autodiff_compiler.frontend.abstract.values import (
    Heap,
    HeapRef,
    MaybeUnset,
    Poison,
    State,
    Unset,
    is_same,
    leaves,
    rebuild,
)
from autodiff_compiler.frontend.control_flow.merge import Merger
from autodiff_compiler.frontend.core.guards import MISSING
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.unwinding import resumable
from autodiff_compiler.ir.builder import Unreached
from autodiff_compiler.ir.nodes import AnyOperand, Op, Region, Value
from autodiff_compiler.operators.core.control import undefined


@dataclass
class _Side:
    """A side of a branch: its operations, and its state and outcome at the end."""

    state: State
    ops: list[Op]
    outcome: Any

    @property
    def diverges(self) -> bool:
        """True if nothing after this side is reached from it."""
        return isinstance(self.outcome, Diverged)

    @property
    def new_values(self) -> set[Value]:
        """The values that this side made."""
        return {result for op in self.ops for result in op.results}


@dataclass
class _MergedState:
    """The state after a branch: all variables and heap objects, and which of them the branch
    changed; those have phis."""

    names: dict[str, Any]
    heap: dict[HeapRef, Any]
    changed_names: dict[str, Any]
    changed_refs: list[HeapRef]


def heap_ownership(low: Lowering, state: State, outcome: Any = None) -> HeapOwnership:
    """Returns who holds the lists and dicts of ``state`` when ``outcome`` was just computed."""
    names = () if isinstance(outcome, Returned) else (state.names,)
    given = outcome.value if isinstance(outcome, Returned) else outcome
    frames = [low.frame, *low.waiting_frames]
    outside = (*low.pinned, *low.compilation.heap_objects.values())
    roots = (given, *names, *(frame.names for frame in low.waiting_frames), *outside)
    return HeapOwnership(state, roots, frames)


def choose(low: Lowering, test: Value, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """Returns the value of ``then()`` or ``orelse()`` by a run-time test; merges their states."""
    base = low.state
    left = _lower_side(low, base, test, True, then)
    right = _lower_side(low, base, test, False, orelse)
    low.state = base
    if left.diverges and right.diverges:
        regions = [Region((), tuple(side.ops), ()) for side in (left, right)]
        low.builder.branch(test, regions[0], regions[1])
        return Diverged()
    for side, other in ((left, right), (right, left)):
        if side.diverges:
            _complete_diverged(low, side, other, base)
    for side, other in ((left, right), (right, left)):
        _complete_unwound(low, side, other)
    where = f"the 'if' on line {low.builder.span.line}"
    ownership = (
        low.heap_ownership(left.state, left.outcome),
        low.heap_ownership(right.state, right.outcome),
    )
    merger = Merger(low, where, ownership, (left.new_values, right.new_values))
    outcome = _merge_outcomes(merger, left.outcome, right.outcome)
    merged = _merge_states(merger, left.state, right.state, base, isinstance(outcome, Returned))
    results = _add_branch(low, test, merger, left.ops, right.ops)
    return _leave_branch(low, merger, merged, outcome, results)


# ---- the sides


def _lower_side(
    low: Lowering, base: State, test: Value, holds: bool, side: Callable[[], Any]
) -> _Side:
    """Lowers one side. Optional variables that the test is about are narrowed inside."""
    low.state = base.fork()
    narrowed = optional.narrowed_by(low, test, holds)
    low.state.names |= {name: value for name, (_, value) in narrowed.items()}
    low.depth += 1
    with low.builder.block() as ops:
        try:
            outcome = resumable(low, side)
        except Unreached:
            outcome = Diverged()
        finally:
            low.depth -= 1
    for name, (before, narrow) in narrowed.items():
        if low.state.names.get(name, MISSING) is narrow:
            low.state.names[name] = before
    return _Side(low.state, ops, outcome)


def _complete_diverged(low: Lowering, side: _Side, other: _Side, base: State) -> None:
    """Gives a side that nothing leaves the state of the other one, undefined where that changed
    anything."""
    with low.builder.block(side.ops):
        side.state = State(
            _undefined_where_changed(low, other.state.names, base.names),
            Heap(_undefined_where_changed(low, other.state.heap, base.heap)),
        )
        side.outcome = _undefined(low, other.outcome)


def _undefined_where_changed(low: Lowering, now: Any, before: Any) -> dict[Any, Any]:
    return {
        key: value if is_same(value, before.get(key, MISSING)) else _undefined(low, value)
        for key, value in now.items()
    }


def _complete_unwound(low: Lowering, side: _Side, other: _Side) -> None:
    """Gives a side that was left by an exception the results of the other side, undefined."""
    if isinstance(other.outcome, Unwinding) or not isinstance(side.outcome, Unwinding):
        return
    with low.builder.block(side.ops):
        for ref, contents in other.state.heap.items():
            if ref not in side.state.heap:
                side.state.heap[ref] = _undefined(low, contents)
        side.outcome = _undefined(low, other.outcome)


def _undefined(low: Lowering, value: Any) -> Any:
    """Returns ``value`` with undefined leaves."""
    if isinstance(value, Returned):
        return Returned(_undefined(low, value.value))
    if isinstance(value, MaybeUnset):
        return replace(value, value=_undefined(low, value.value))
    count = sum(1 for _ in leaves(value))
    return rebuild(value, iter([low.builder.make(undefined, (), {}) for _ in range(count)]))


# ---- the merge


def _merge_outcomes(merger: Merger, left: Any, right: Any) -> Any:
    if isinstance(left, Unwinding):
        return left  # and so is the other
    returned = [isinstance(side, Returned) for side in (left, right)]
    if all(returned):
        return Returned(merger.merge(left.value, right.value, "result"))
    if any(returned) and merger.low.compilation.problems:
        return Returned(Poison())  # one side ends in a statement that was refused
    return merger.merge(left, right, "the value")


def _merge_states(
    merger: Merger, left: State, right: State, base: State, returned: bool
) -> _MergedState:
    """Merges heap objects and variables. After a ``return``, variables are not read."""
    merged = _MergedState({}, {}, {}, [])
    if not returned:
        both = {**left.names, **right.names}
        read = [map(each.names.get, both, repeat(MISSING)) for each in (left, right, base)]
        for name, one, other, old in zip(both, *read):
            merged.names[name] = one
            if (
                one is not other
                or one is not old
                or not (type(one) in PLAIN_TYPES or is_plain(one))
            ):
                merged.changed_names[name] = merger.merge(one, other, name)
    known_names = {**right.names, **left.names}
    for ref in {**left.heap, **right.heap}:
        old = base.heap.get(ref)
        untouched = left.heap.get(ref) is old is right.heap.get(ref)
        if untouched and (old is MISSING or old is not None and is_plain(old)):
            merged.heap[ref] = old
            continue
        merged.changed_refs.append(ref)
        name = holder_of(ref, known_names)
        if ref in left.heap and ref in right.heap:
            contents = left.heap.get(ref), right.heap.get(ref)
            merged.heap[ref] = merger.contents(ref.kind, *contents, name)
        elif merger.ownership[ref in right.heap].count[ref]:
            merged.heap[ref] = merger.contents_of_one_branch(ref, name)
    return merged


def _add_branch(
    low: Lowering, test: Value, merger: Merger, left: list[Op], right: list[Op]
) -> tuple[Value, ...]:
    """Adds the ``if``, which yields the merged leaves; returns its results."""
    yields: list[list[AnyOperand]] = [[], []]
    for place, ops in enumerate((left, right)):
        with low.builder.block(ops):
            for left_leaf, right_leaf, type_, _ in merger.pairs:
                leaf = right_leaf if place else left_leaf
                yields[place].append(cast_to(leaf, type_))
    regions = [Region((), tuple(ops), tuple(y)) for ops, y in zip((left, right), yields)]
    names = [name if name.isidentifier() else "" for *_, name in merger.pairs]
    results = low.builder.branch(test, regions[0], regions[1], names)
    for result, (*sources, _, _) in zip(results, merger.pairs):
        result.has_user_name = bool(result.name)
        low.compilation.aliases.set_aliases(result, low.compilation.aliases.of_all(sources))
        low.compilation.aliases.join_ranks(result, sources)
        if low.compilation.numpy:
            join_path_dtypes(low.compilation.aliases, result, sources)
    return results


def _leave_branch(
    low: Lowering,
    merger: Merger,
    merged: _MergedState,
    outcome: Any,
    results: tuple[Value, ...],
) -> Any:
    """Sets the state after the branch; returns its outcome."""
    merger.settle_frames(results)

    def finished(value: Any) -> Any:
        return reattach(merger.settle(value, results), low.allocate)

    low.state = State()
    changed = {name: finished(value) for name, value in merged.changed_names.items()}
    low.state.names = merged.names | changed
    remaining = [ref for ref in merged.changed_refs if ref in merged.heap]
    low.state.heap.update(merged.heap | {ref: finished(merged.heap[ref]) for ref in remaining})
    value = finished(outcome.value if isinstance(outcome, Returned) else outcome)
    if isinstance(value, Unset):
        raise low.fail(DTypeError, value.cause, value.cure)
    return Returned(value) if isinstance(outcome, Returned) else value
