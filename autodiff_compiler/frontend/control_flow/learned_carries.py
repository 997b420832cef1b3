"""The outcomes of earlier lowerings of a loop: the variables that it carries.

An outer loop lowers its body several times, until its own carried variables are known. An inner
loop that began from nothing each time would take as many trials again. The work would grow
exponentially with the nesting depth. An inner loop therefore begins with the outcome of an earlier
lowering. Its variables must have the same structure and types. A trial checks the outcome as it
checks any hypothesis.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from copy import copy
from dataclasses import dataclass, fields
from typing import Any
from weakref import WeakKeyDictionary

import gast

from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.frontend.abstract.aliasing import ARRAY, SCALAR, TensorAliases
from autodiff_compiler.frontend.abstract.heap import holds_refs
from autodiff_compiler.frontend.abstract.join import join_types, leaf_type
from autodiff_compiler.frontend.abstract.values import (
    COMPOUND_VALUES,
    NUMBERS,
    HeapRef,
    MaybeUnset,
    State,
    Unset,
    has_same_structure,
    leaves,
)
from autodiff_compiler.frontend.control_flow.carries import Carry, Key, carried_by, get
from autodiff_compiler.frontend.core.guards import MISSING
from autodiff_compiler.ir.nodes import Value

#: Pairs of leaves of carried variables that may be one tensor.
Pairs = set[frozenset[Any]]

_NAMES_IN: WeakKeyDictionary[Any, frozenset[str]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Outcome:
    """The outcome of a lowering, in terms of the values and references before the loop.

    objects  are compared by identity, so they must stay alive.
    """

    carried: Mapping[Key, Carry]
    together: Pairs
    things: tuple[Any, ...]
    objects: tuple[Any, ...]


class LoopEntry:
    """The variables that stand in a loop, as they are before it.

    outcomes  those of all loops, by the loop, the form of its lowering and its variables.
    """

    def __init__(self, outcomes: dict[Hashable, Outcome], node: Any, state: State, form: Hashable):
        self.outcomes, self.state = outcomes, state
        #: The values and references that are met, in order, with their numbers.
        self.numbers: dict[Any, int] = {}
        self.objects: list[Any] = []
        names = _names_in(node)
        described = (
            (name, self._described(value))
            for name, value in state.names.items()
            if name in names and not _may_be_unset(value)
        )
        self.key = (node, form, *described)

    def outcome(self, aliases: TensorAliases) -> tuple[dict[Key, Carry], Pairs] | None:
        """Returns the outcome of an earlier lowering from such a state, in terms of this state."""
        known = self.outcomes.get(self.key)
        if known is None:
            return None
        state, now = self.state, dict(zip(known.things, self.numbers))
        carried, together = _translated(known.carried, known.together, now)
        if not all(_holds(key, carry, state) for key, carry in carried.items()):
            return None
        around = aliases.of_all(leaf for each in state.names.values() for leaf in leaves(each))
        present = {ARRAY, SCALAR, *around}
        for carry in carried.values():
            for place, memory in carry.memory.items():
                carry.memory[place] = {m for m in memory if m in present or type(m) is frozenset}
        return carried, together

    def learn(self, carried: Mapping[Key, Carry], together: Pairs) -> None:
        """Records the outcome of a lowering."""
        if not any(holds_refs(carry.like) for carry in carried.values()):
            learned = _translated(carried, together, {})
            self.outcomes[self.key] = Outcome(*learned, tuple(self.numbers), tuple(self.objects))

    def _described(self, value: Any) -> Hashable:
        """Describes a compile-time value: its structure, types and constants, and which of its
        parts are the same value or reference."""
        if isinstance(value, (Value, HeapRef)):
            if value in self.numbers:
                return self.numbers[value]
            self.numbers[value] = number = len(self.numbers)
            if isinstance(value, Value):
                return number, value.type
            return number, value.kind, self._described(self.state.heap.get(value))
        if isinstance(value, tuple):
            return type(value), *map(self._described, value)
        if isinstance(value, dict):
            return dict, *((key, self._described(item)) for key, item in value.items())
        if isinstance(value, COMPOUND_VALUES):
            parts = (getattr(value, each.name) for each in fields(value))
            return type(value), *map(self._described, parts)
        if isinstance(value, (*NUMBERS, str)):
            return type(value), repr(value)
        self.objects.append(value)
        return type(value), id(value)


def _names_in(node: Any) -> frozenset[str]:
    """Returns the names that stand in a loop."""
    if node not in _NAMES_IN:
        names = (part.id for part in nodes_in(node) if isinstance(part, gast.Name))
        _NAMES_IN[node] = frozenset(names)
    return _NAMES_IN[node]


def _may_be_unset(value: Any) -> bool:
    """True if an outer loop may come to carry the variable, or has come to carry it."""
    return isinstance(value, Unset) or isinstance(value, MaybeUnset) and value.flag is None


def _holds(key: Key, carry: Carry, state: State) -> bool:
    """True if the type of a carried variable holds its value before the loop.

    The key of an outcome leaves out variables that an outer loop may carry by now. It also leaves
    out lists and objects to which no variable in the loop refers.
    """
    value = get(state, key)
    if value is MISSING or isinstance(value, Unset):
        return carry.fresh
    value = value.value if isinstance(value, MaybeUnset) else value
    if carry.summed:
        return isinstance(value, (int, float)) and value == 0
    before = carried_by(carry, key, state)
    if not has_same_structure(carry.like, before):
        return False
    types = zip(map(leaf_type, leaves(before)), carry.types, strict=True)
    return all(known is not None and join_types(known, type_) == type_ for known, type_ in types)


def _translated(
    carried: Mapping[Key, Carry], together: Pairs, now: Mapping[Any, Any]
) -> tuple[dict[Key, Carry], Pairs]:
    """Returns copies in which ``now`` gives the new values and references."""

    def pair(leaves_: frozenset[Any]) -> frozenset[Any]:
        return frozenset((now.get(key, key), place) for key, place in leaves_)

    def member(thing: Any) -> Any:
        return pair(thing) if type(thing) is frozenset else now.get(thing, thing)

    result: dict[Key, Carry] = {}
    for key, carry in carried.items():
        result[now.get(key, key)] = new = copy(carry)
        new.types = list(carry.types)
        new.memory = {place: set(map(member, its)) for place, its in carry.memory.items()}
    return result, set(map(pair, together))


__all__ = ["LoopEntry", "Outcome"]
