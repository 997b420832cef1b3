"""Merges of two compile-time values at the end of a branch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from autodiff_compiler.frontend.abstract import optional
from autodiff_compiler.frontend.abstract.heap import HeapOwnership, detach
from autodiff_compiler.frontend.abstract.join import conform, join_structure, join_types, leaf_type
from autodiff_compiler.frontend.abstract.path_dtypes import compute_alike
from autodiff_compiler.frontend.abstract.values import (
    NUMBERS,
    CallableChoice,
    Closure,
    DetachedContainer,
    Frame,
    HeapRef,
    IteratorPosition,
    LazyIterable,
    MaybeNone,
    MaybeUnset,
    Poison,
    Unset,
    components,
    has_same_structure,
    is_same,
    leaves,
    map_components,
    rebuild,
)
from autodiff_compiler.frontend.core.guards import MISSING
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.ir.nodes import AnyOperand, Value
from autodiff_compiler.ir.types import ArrayType, Type
from autodiff_compiler.operators.core.control import undefined


@dataclass(frozen=True)
class _Phi:
    """A leaf of a merged value, before the ``if`` that makes it exists."""

    number: int


class Merger:
    """Merges the values of two branches; ``pairs`` are the leaves that differ.

    ``ownership`` says of each branch who refers to its lists and dicts. Two of them without other
    references merge into a new one. ``branch_values`` are the values that each branch made. Outside
    of it they are read only as results of the ``if``.
    """

    def __init__(
        self,
        low: Lowering,
        where: str,
        ownership: tuple[HeapOwnership, HeapOwnership],
        branch_values: tuple[set[Value], set[Value]],
    ):
        self.low, self.where, self.ownership, self.branch_values = (
            low,
            where,
            ownership,
            branch_values,
        )
        self.pairs: list[tuple[AnyOperand, AnyOperand, Type, str]] = []
        #: The frames of functions that ended in one branch, as closures see them later.
        self.frames: dict[Frame, Frame] = {}

    def merge(self, left: Any, right: Any, name: str) -> Any:
        """Returns the merged value, with ``_Phi`` leaves; ``Unset`` if the two do not fit."""
        if is_same(left, right):
            return self._export(left)
        for case in self._CASES:
            merged = case(self, left, right, name)
            if merged is not NotImplemented:
                return merged
        return self._different(name, self._describe(left), self._describe(right))

    # ---- cases: each returns NotImplemented for values of other kinds

    def _merge_unset(self, left: Any, right: Any, name: str) -> Any:
        if isinstance(left, Poison) or isinstance(right, Poison):
            return Poison()
        if isinstance(left, Unset) or isinstance(right, Unset):
            return left if isinstance(left, Unset) else right
        maybe = isinstance(left, MaybeUnset) or isinstance(right, MaybeUnset)
        if maybe or left is MISSING or right is MISSING:
            return self._merge_partly_set(left, right, name)
        return NotImplemented

    def _merge_optional(self, left: Any, right: Any, name: str) -> Any:
        pair = optional.optional_pair(left, right)
        if pair is None:
            return NotImplemented
        merged = self.merge(*pair, name)
        return merged if isinstance(merged, Unset) else MaybeNone(merged)

    def _merge_leaves(self, left: Any, right: Any, name: str) -> Any:
        if isinstance(left, (Value, *NUMBERS)) and isinstance(right, (Value, *NUMBERS)):
            return self._leaf(left, right, name)
        return NotImplemented

    def _merge_tuples(self, left: Any, right: Any, name: str) -> Any:
        if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
            pairs = enumerate(zip(left, right))
            return tuple(self.merge(a, b, f"{name}_{k}") for k, (a, b) in pairs)
        return NotImplemented

    def _merge_dicts(self, left: Any, right: Any, name: str) -> Any:
        if isinstance(left, dict) and isinstance(right, dict) and list(left) == list(right):
            return {k: self.merge(left[k], right[k], f"{name}_{k}") for k in left}
        return NotImplemented

    def _merge_heap_objects(self, left: Any, right: Any, name: str) -> Any:
        heap_objects = isinstance(left, HeapRef) and isinstance(right, HeapRef)
        if not heap_objects or left.kind != right.kind:
            return NotImplemented
        sides = [*zip(self.ownership, (left, right))]
        if not all(owned.is_unique(ref) for owned, ref in sides):
            return self._different_objects(name, left.kind)
        one, other = (owned.state.heap.get(ref) for owned, ref in sides)
        return DetachedContainer(left.kind, self.contents(left.kind, one, other, name))

    def _merge_detached(self, left: Any, right: Any, name: str) -> Any:
        detached = isinstance(left, DetachedContainer) and isinstance(right, DetachedContainer)
        if not detached or left.kind != right.kind:
            return NotImplemented
        merged = self.contents(left.kind, left.contents, right.contents, name)
        return DetachedContainer(left.kind, merged)

    def _merge_callables(self, left: Any, right: Any, name: str) -> Any:
        if not (_is_callable(left) and _is_callable(right)):
            return NotImplemented
        sides = self._export(left), self._export(right)
        return CallableChoice(self._leaf(True, False, ""), *sides)

    _CASES: ClassVar[Sequence[Callable[[Merger, Any, Any, str], Any]]] = (
        _merge_unset,
        _merge_optional,
        _merge_leaves,
        _merge_tuples,
        _merge_dicts,
        _merge_heap_objects,
        _merge_detached,
        _merge_callables,
    )

    # ---- variables that one branch sets

    def _merge_partly_set(self, left: Any, right: Any, name: str) -> Any:
        """Merges a variable that may be unset in a branch: it is checked where it is read."""
        unset = Unset(
            f"'{name}' may be unassigned here: {self.where} assigns it in one branch only",
            f"assign '{name}' before it, or in both branches",
        )
        inner = [
            self._detached_value(side, owned) for side, owned in zip((left, right), self.ownership)
        ]
        like = inner[1] if inner[0] is MISSING else inner[0]
        if isinstance(like, MaybeNone):
            return unset
        if not any(True for _ in leaves(like)):
            return self._merge_flags(left, right, inner, like, unset, name)
        sides = [rebuild(like, self._undefined()) if s is MISSING else s for s in inner]
        merged = self.merge(sides[0], sides[1], name)
        return merged if isinstance(merged, (Unset, Poison)) else MaybeUnset(merged, unset)

    def _detached_value(self, side: Any, owned: HeapOwnership) -> Any:
        """Returns the value of a variable if it is set; for a list or dict of its own, the
        contents.
        """
        value = side.value if isinstance(side, MaybeUnset) else side
        unique = value is not MISSING and owned.is_unique(value)
        return detach(value, owned.state) if unique else value

    def _merge_flags(
        self, left: Any, right: Any, inner: Sequence[Any], like: Any, unset: Unset, name: str
    ) -> Any:
        """Merges a variable without leaves: a flag says whether it is set."""
        if any(side is not MISSING and not is_same(side, like) for side in inner):
            return self._different(name, *map(self._describe, inner))
        one, other = _set_flag(left), _set_flag(right)
        if one is None or other is None:
            return unset  # a list or dict with a second name: nothing tells whether it is set
        return MaybeUnset(self._export(like), unset, self._leaf(one, other, ""))

    # ---- lists and dicts

    def contents(self, kind: str, left: Any, right: Any, name: str) -> Any:
        """Merges the contents of two lists, which may differ in length, or of two dicts."""
        if kind == "list" and not has_same_structure(left, right):
            like = join_structure(left, right, True)
            if isinstance(like, Value):
                return self._leaf(conform(left, like), conform(right, like), name)
        return self.merge(left, right, name)

    def contents_of_one_branch(self, ref: HeapRef, name: str) -> Any:
        """Merges the contents of a list or dict that one branch made and still holds."""
        place = ref in self.ownership[1].state.heap
        contents = self.ownership[place].state.heap.get(ref)
        undefined_leaves = self._undefined()
        parts = [next(undefined_leaves) if isinstance(x, Value) else x for x in leaves(contents)]
        other = rebuild(contents, iter(parts))
        return self.merge(other, contents, name) if place else self.merge(contents, other, name)

    # ---- leaves

    def _leaf(self, left: Any, right: Any, name: str) -> Any:
        """Returns the result of the ``if`` for two leaves; two names of one tensor stay that."""
        left_type, right_type = leaf_type(left), leaf_type(right)
        # Values that the other branch made do not exist in this one.
        left = next(self._undefined()) if left in self.branch_values[1] else left
        right = next(self._undefined()) if right in self.branch_values[0] else right
        type_ = None
        if left_type is not None and right_type is not None:
            type_ = join_types(left_type, right_type)
        if type_ is None or not self._compute_alike(left_type, right_type):
            return self._different(name, str(left_type), str(right_type))
        if isinstance(type_, ArrayType):
            for number, (one, other, *_) in enumerate(self.pairs):
                if one is left and other is right:
                    return _Phi(number)
        self.pairs.append((left, right, type_, name))
        return _Phi(len(self.pairs) - 1)

    def _compute_alike(self, left: Type | None, right: Type | None) -> bool:
        """True if the numbers of both branches may be held in one dtype."""
        return not self.low.compilation.numpy or compute_alike(left, right)

    def _undefined(self) -> Iterator[Any]:
        """Yields undefined values without end."""
        while True:
            yield self.low.builder.make(undefined, (), {})

    # ---- values of one branch that outlive it

    def _export(self, value: Any) -> Any:
        """Returns a value that both branches hold; what one of them made becomes a result."""
        if isinstance(value, Value):
            inside = value in self.branch_values[0] or value in self.branch_values[1]
            return self._leaf(value, value, value.name) if inside else value
        if isinstance(value, Frame):
            return self._export_frame(value)
        return map_components(value, self._export)

    def _export_frame(self, frame: Frame) -> Frame:
        """Returns a frame that closures see. A frame whose function still runs sees the results
        anyway."""
        if frame not in self.frames and self._holds_made(frame, set()):
            self.frames[frame] = copy = replace(frame)
            copy.outer = frame.outer and self._export_frame(frame.outer)
            copy.names = {name: self._export(value) for name, value in frame.names.items()}
        return self.frames.get(frame, frame)

    def _holds_made(self, value: Any, seen: set[Frame]) -> bool:
        """True if a value that a branch made is anywhere in ``value``."""
        if isinstance(value, Value):
            return value in self.branch_values[0] or value in self.branch_values[1]
        if isinstance(value, Frame):
            if not value.ended or value in seen:
                return False
            seen.add(value)
            value = (value.outer, *value.names.values())
        return any(self._holds_made(part, seen) for part in components(value))

    # ---- the outcome

    def settle(self, merged: Any, results: tuple[Value, ...]) -> Any:
        """Returns ``merged`` with the results of the ``if`` in place of its phis."""
        if isinstance(merged, _Phi):
            return results[merged.number]
        return map_components(merged, lambda part: self.settle(part, results))

    def settle_frames(self, results: tuple[Value, ...]) -> None:
        """Puts the results into the frames that closures see."""
        for frame in self.frames.values():
            frame.names = self.settle(frame.names, results)

    # ---- messages

    def _different(self, name: str, left: str, right: str) -> Unset:
        if left == right:
            right = f"another {right.removeprefix('an ').removeprefix('a ')}"
        assign = f"assign '{name}'" if name.isidentifier() else "use"
        return Unset(
            f"{_subject(name)} is {left} in one branch of {self.where} and {right} in the other",
            f"{assign} a value of the same type and structure in both branches",
        )

    def _different_objects(self, name: str, kind: str) -> Unset:
        cure = "use a different variable in each branch"
        return Unset(
            f"{_subject(name)} is a different {kind} in each branch of {self.where}, and another "
            "variable refers to one of them",
            cure if kind == "object" else f"copy it in the branch: {kind}({name})",
        )

    def _describe(self, value: Any) -> str:
        """Returns the words of a message for a compile-time value."""
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


def _subject(name: str) -> str:
    """Returns a variable in quotes, and any other description as it is."""
    return f"'{name}'" if name.isidentifier() else name


def _is_callable(value: Any) -> bool:
    """True for a function or Cell, which may be chosen at run time."""
    compile_time = isinstance(value, (Closure, CallableChoice))
    return compile_time or callable(value) and not isinstance(value, Value)


def _set_flag(variable: Any) -> Any:
    """Returns the flag of a variable without leaves, True if it is set: a bool, a run-time value,
    or None.
    """
    return variable.flag if isinstance(variable, MaybeUnset) else variable is not MISSING
