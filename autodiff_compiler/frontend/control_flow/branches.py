"""Branches on a run-time test: both sides are lowered, and their states merged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.frontend.abstract import optional
from autodiff_compiler.frontend.abstract.heap import (
    HeapOwnership,
    detach,
    holder_of,
    is_plain,
    reattach,
)
from autodiff_compiler.frontend.abstract.join import (
    cast_to,
    conform,
    join_structure,
    join_types,
    leaf_type,
)
from autodiff_compiler.frontend.abstract.outcomes import Diverged, Returned, Unwinding
from autodiff_compiler.frontend.abstract.values import (
    NUMBERS,
    CallableChoice,
    Closure,
    DetachedContainer,
    Frame,
    Heap,
    HeapRef,
    IteratorPosition,
    LazyIterable,
    MaybeNone,
    MaybeUnset,
    Poison,
    State,
    Unset,
    components,
    has_same_structure,
    is_same,
    leaves,
    map_components,
    rebuild,
)
from autodiff_compiler.frontend.core.assumptions import MISSING
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.unwinding import resumable
from autodiff_compiler.ir.builder import Unreached
from autodiff_compiler.ir.nodes import AnyOperand, Op, Region, Value
from autodiff_compiler.ir.types import ArrayType, Type
from autodiff_compiler.operators.core.control import undefined


@dataclass(frozen=True)
class _Phi:
    """A leaf of a merged value, before the ``if`` that makes it exists."""

    number: int


class Merger:
    """Merges two compile-time values leaf by leaf; ``pairs`` are the leaves that differ.

    ``holders`` tells of both sides who holds their lists and dicts: two that nobody else holds
    merge into a new one. ``made`` are the values that each way made: outside of it they are read as
    results of the ``if`` only, by whatever remembers them.
    """

    def __init__(
        self,
        low: Lowering,
        where: str,
        holders: tuple[HeapOwnership, HeapOwnership],
        made: tuple[set[Value], set[Value]],
    ):
        self.low, self.where, self.holders, self.made = low, where, holders, made
        self.pairs: list[tuple[AnyOperand, AnyOperand, Type, str]] = []
        #: The frames of texts that came to their end on one way, as functions see them later.
        self.frames: dict[Frame, Frame] = {}

    def merge(self, left: Any, right: Any, name: str) -> Any:
        """The merged value, with ``_Phi`` leaves."""
        if is_same(left, right):
            return self._carried_out(left)
        if isinstance(left, Poison) or isinstance(right, Poison):
            return Poison()
        if isinstance(left, Unset) or isinstance(right, Unset):
            return left if isinstance(left, Unset) else right
        if (
            MISSING in (left, right)
            or isinstance(left, MaybeUnset)
            or isinstance(right, MaybeUnset)
        ):
            return self._partly(left, right, name)
        bare = optional.optional_pair(left, right)
        if bare is not None:
            merged = self.merge(*bare, name)
            return merged if isinstance(merged, Unset) else MaybeNone(merged)
        if isinstance(left, (Value, *NUMBERS)) and isinstance(right, (Value, *NUMBERS)):
            return self._leaf(left, right, name)
        if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
            return tuple(
                self.merge(a, b, f"{name}_{k}") for k, (a, b) in enumerate(zip(left, right))
            )
        if isinstance(left, dict) and isinstance(right, dict) and list(left) == list(right):
            return {k: self.merge(left[k], right[k], f"{name}_{k}") for k in left}
        if isinstance(left, HeapRef) and isinstance(right, HeapRef) and left.kind == right.kind:
            if all(held.is_unique(ref) for held, ref in zip(self.holders, (left, right))):
                inner = [held.state.heap.get(ref)
                         for held, ref in zip(self.holders, (left, right))]  # fmt: skip
                return DetachedContainer(
                    left.kind, self.contents(left.kind, inner[0], inner[1], name)
                )
            return self._two_of_them(name, left.kind)
        if (
            isinstance(left, DetachedContainer)
            and isinstance(right, DetachedContainer)
            and left.kind == right.kind
        ):
            return DetachedContainer(
                left.kind, self.contents(left.kind, left.contents, right.contents, name)
            )
        if _is_called(left) and _is_called(right):
            sides = self._carried_out(left), self._carried_out(right)
            return CallableChoice(self._leaf(True, False, ""), *sides)
        return self._apart(name, self._kind(left), self._kind(right))

    def _carried_out(self, value: Any) -> Any:
        """What one way leaves, with a result of the ``if`` for each value in it of that way."""
        if isinstance(value, Value):
            inside = value in self.made[0] or value in self.made[1]
            return self._leaf(value, value, value.name) if inside else value
        if isinstance(value, Frame):
            return self._carried_frame(value)
        return map_components(value, self._carried_out)

    def _carried_frame(self, frame: Frame) -> Frame:
        """A frame that closures see. One that still has a text to run sees the results anyway."""
        if frame not in self.frames and self._sees_inside(frame, set()):
            self.frames[frame] = copy = replace(frame)
            copy.outer = frame.outer and self._carried_frame(frame.outer)
            copy.names = {name: self._carried_out(value) for name, value in frame.names.items()}
        return self.frames.get(frame, frame)

    def _sees_inside(self, value: Any, seen: set[Frame]) -> bool:
        """Whether a value of one of the ways is anywhere in ``value``."""
        if isinstance(value, Value):
            return value in self.made[0] or value in self.made[1]
        if isinstance(value, Frame):
            if not value.ended or value in seen:
                return False
            seen.add(value)
            value = (value.outer, *value.names.values())
        return any(self._sees_inside(part, seen) for part in components(value))

    def contents(self, kind: str, left: Any, right: Any, name: str) -> Any:
        """As ``merge`` for the contents of two lists, which may differ in length, or dicts."""
        if kind == "list" and not has_same_structure(left, right):
            like = join_structure(left, right, True)
            if isinstance(like, Value):
                return self._leaf(conform(left, like), conform(right, like), name)
        return self.merge(left, right, name)

    def made_on_one_way(self, ref: HeapRef, name: str) -> Any:
        """The contents of a list or dict that exists if one way was taken, and is held there."""
        place = ref in self.holders[1].state.heap
        made = self.holders[place].state.heap.get(ref)
        leaf = iter(self._nothing())
        other = rebuild(made, iter([next(leaf) if isinstance(one, Value) else one
                                    for one in leaves(made)]))  # fmt: skip
        return self.merge(other, made, name) if place else self.merge(made, other, name)

    def _kind(self, value: Any) -> str:
        """A compile-time value in the words of a message."""
        if isinstance(value, dict) and "__class__" in value:
            return f"an object '{value['__class__'].__name__}'"
        if isinstance(value, dict):
            return f"a dict of {', '.join(map(repr, value)) or 'nothing'}"
        if isinstance(value, tuple):
            return f"{len(value)} item{'' if len(value) == 1 else 's'}"
        if isinstance(value, (HeapRef, DetachedContainer)):
            return f"a {value.kind}"
        if isinstance(value, str):
            return f"the string {value!r}"
        if isinstance(value, (IteratorPosition, LazyIterable)):
            return "an iterator"
        return "a function" if isinstance(value, Closure) else self.low.described(value)

    def _two_of_them(self, name: str, kind: str) -> Unset:
        return Unset(
            f"'{name}' is a different {kind} in each branch of {self.where}, and another "
            "variable refers to one of them",
            "use a different variable in each branch"
            if kind == "object"
            else f"copy it in the branch: {kind}({name})",
        )

    def _leaf(self, left: Any, right: Any, name: str) -> Any:
        types = leaf_type(left), leaf_type(right)
        # What the other way made is not there on this one.
        left = next(self._nothing()) if left in self.made[1] else left
        right = next(self._nothing()) if right in self.made[0] else right
        type_ = None if None in types else join_types(*types)  # type: ignore[arg-type]
        if type_ is None:
            return self._apart(name, *map(str, types))
        if isinstance(type_, ArrayType):
            for number, (one, other, *_) in enumerate(self.pairs):
                if one is left and other is right:  # two names of one tensor stay that
                    return _Phi(number)
        self.pairs.append((left, right, type_, name))
        return _Phi(len(self.pairs) - 1)

    def _partly(self, left: Any, right: Any, name: str) -> Any:
        unset = Unset(
            f"'{name}' may be unassigned here: {self.where} assigns it in one branch only",
            f"assign '{name}' before it, or in both branches",
        )
        one, other = (_flag(side) for side in (left, right))
        inner = [side.value if isinstance(side, MaybeUnset) else side for side in (left, right)]
        for place, held in enumerate(self.holders):
            if inner[place] is not MISSING and held.is_unique(inner[place]):
                inner[place] = detach(inner[place], held.state)
        like = inner[1] if inner[0] is MISSING else inner[0]
        if isinstance(like, MaybeNone):
            return unset
        if not any(True for _ in leaves(like)):
            if any(side is not MISSING and not is_same(side, like) for side in inner):
                return self._apart(name, *map(self._kind, inner))
            if one is None or other is None:
                return unset  # a list or dict with a second name: nothing tells whether it is set
            return MaybeUnset(self._carried_out(like), unset, self._leaf(one, other, ""))
        sides = [rebuild(like, self._nothing()) if s is MISSING else s for s in inner]
        merged = self.merge(sides[0], sides[1], name)
        return merged if isinstance(merged, (Unset, Poison)) else MaybeUnset(merged, unset)

    def _nothing(self) -> Any:
        while True:
            yield self.low.builder.make(undefined, (), {})

    def _apart(self, name: str, left: str, right: str) -> Unset:
        if left == right:
            right = f"another {right.removeprefix('an ').removeprefix('a ')}"
        return Unset(
            f"'{name}' is {left} in one branch of {self.where} and {right} in the other",
            f"assign '{name}' a value of the same type and structure in both branches",
        )

    def settle(self, merged: Any, results: tuple[Value, ...]) -> Any:
        """``merged`` with the results of the ``if`` in place of its phis."""
        if isinstance(merged, _Phi):
            return results[merged.number]
        return map_components(merged, lambda part: self.settle(part, results))

    def settle_frames(self, results: tuple[Value, ...]) -> None:
        """As ``settle`` for what functions see of texts that came to their end."""
        for frame in self.frames.values():
            frame.names = self.settle(frame.names, results)


def holders(low: Lowering, state: State, outcome: Any = None) -> HeapOwnership:
    """Who holds the lists and dicts of ``state``, when ``outcome`` was just computed."""
    names = () if isinstance(outcome, Returned) else (state.names,)
    given = outcome.value if isinstance(outcome, Returned) else outcome
    frames = [low.frame, *low.waiting_frames]
    outside = (*low.pinned, *low.compilation.heap_objects.values())
    roots = (given, *names, *(frame.names for frame in low.waiting_frames), *outside)
    return HeapOwnership(state, roots, frames)


def choose(low: Lowering, test: Value, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:  # noqa: C901
    """The value of ``then()`` or ``orelse()`` by a run-time test; their states are merged."""
    base = low.state
    sides: list[tuple[State, list[Op], Any]] = []
    for place, side in enumerate((then, orelse)):
        low.state = base.fork()
        known = optional.narrowed_by(low, test, place == 0)
        low.state.names |= {name: value for name, (_, value) in known.items()}
        low.depth += 1
        with low.builder.block() as ops:
            try:
                value = resumable(low, side)
            except Unreached:
                value = Diverged()
            finally:
                low.depth -= 1
        for name, (held, narrow) in known.items():
            if low.state.names.get(name, MISSING) is narrow:
                low.state.names[name] = held
        sides.append((low.state, ops, value))
    low.state = base
    if all(isinstance(value, Diverged) for _, _, value in sides):
        regions = [Region((), tuple(ops), ()) for _, ops, _ in sides]
        low.builder.branch(test, regions[0], regions[1])
        return Diverged()
    for place, (_, ops, value) in enumerate(sides):
        if isinstance(value, Diverged):
            other, _, returned = sides[1 - place]
            with low.builder.block(ops):
                sides[place] = (_unreached(low, other, base), ops, _undefined(low, returned))
    _catch_up(low, sides)
    (left, left_ops, left_value), (right, right_ops, right_value) = sides
    where = f"the 'if' on line {low.builder.span.line}"
    held = low.heap_ownership(left, left_value), low.heap_ownership(right, right_value)
    made = [{result for op in ops for result in op.results} for _, ops, _ in sides]
    merger = Merger(low, where, held, (made[0], made[1]))
    outcome = _merge_outcomes(merger, left_value, right_value)
    names: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    heap: dict[HeapRef, Any] = {}
    if not isinstance(outcome, Returned):
        both = {**left.names, **right.names}
        read = [map(each.names.get, both, repeat(MISSING)) for each in (left, right, base)]
        for name, one, other, old in zip(both, *read):
            kept[name] = one
            if one is not other or one is not old or not (type(one) is Value or is_plain(one)):
                names[name] = merger.merge(one, other, name)
    known_names = {**right.names, **left.names}
    changed: list[HeapRef] = []
    for ref in {**left.heap, **right.heap}:
        old = base.heap.get(ref)
        untouched = left.heap.get(ref) is old is right.heap.get(ref)
        if untouched and (old is MISSING or old is not None and is_plain(old)):
            heap[ref] = old
            continue
        changed.append(ref)
        name = holder_of(ref, known_names)
        if ref in left.heap and ref in right.heap:
            contents = left.heap.get(ref), right.heap.get(ref)
            heap[ref] = merger.contents(ref.kind, *contents, name)
        elif held[ref in right.heap].count[ref]:
            heap[ref] = merger.made_on_one_way(ref, name)
    results = _add_if(low, test, merger, left_ops, right_ops)
    merger.settle_frames(results)

    def settled(merged: Any) -> Any:
        return reattach(merger.settle(merged, results), low.allocate)

    low.state = State()
    low.state.names = kept | {name: settled(value) for name, value in names.items()}
    low.state.heap.update(heap | {ref: settled(heap[ref]) for ref in changed if ref in heap})
    value = settled(outcome.value if isinstance(outcome, Returned) else outcome)
    if isinstance(value, Unset):
        raise low.fail(DTypeError, value.cause, value.cure)
    return Returned(value) if isinstance(outcome, Returned) else value


def _catch_up(low: Lowering, sides: list[tuple[State, list[Op], Any]]) -> None:
    """A way that was left by what is thrown gives what the other one gives, undefined."""
    for place, (state, ops, value) in enumerate(sides):
        other, _, given = sides[1 - place]
        if isinstance(value, Unwinding) and not isinstance(given, Unwinding):
            with low.builder.block(ops):
                for ref, contents in other.heap.items():
                    if ref not in state.heap:
                        state.heap[ref] = _undefined(low, contents)
                sides[place] = state, ops, _undefined(low, given)


def _unreached(low: Lowering, other: State, base: State) -> State:
    """The state that nothing leaves: whatever ``other`` changed is undefined."""
    names, heap = base.names, base.heap
    return State(
        {n: v if is_same(v, names.get(n, MISSING)) else _undefined(low, v)
         for n, v in other.names.items()},
        Heap({r: v if is_same(v, heap.get(r, MISSING)) else _undefined(low, v)
         for r, v in other.heap.items()}),
    )  # fmt: skip


def _undefined(low: Lowering, value: Any) -> Any:
    """``value`` with undefined leaves."""
    if isinstance(value, Returned):
        return Returned(_undefined(low, value.value))
    if isinstance(value, MaybeUnset):
        return replace(value, value=_undefined(low, value.value))
    count = sum(1 for _ in leaves(value))
    return rebuild(value, iter([low.builder.make(undefined, (), {}) for _ in range(count)]))


def _merge_outcomes(merger: Merger, left: Any, right: Any) -> Any:
    if isinstance(left, Unwinding):
        return left  # and so is the other
    if isinstance(left, Returned) and isinstance(right, Returned):
        return Returned(merger.merge(left.value, right.value, "result"))
    if (
        isinstance(left, Returned) != isinstance(right, Returned)
        and merger.low.compilation.problems
    ):
        return Returned(Poison())  # one way ends in a statement that was refused
    return merger.merge(left, right, "the value")


def _add_if(
    low: Lowering, test: Value, merger: Merger, left: list[Op], right: list[Op]
) -> tuple[Value, ...]:
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
    return results


def _is_called(value: Any) -> bool:
    """Whether ``value`` is a function or Cell, which may be chosen at run time."""
    return (
        isinstance(value, (Closure, CallableChoice))
        or callable(value)
        and not isinstance(value, Value)
    )


def _flag(held: Any) -> Any:
    """Whether a variable without leaves is set."""
    return held.flag if isinstance(held, MaybeUnset) else held is not MISSING
