"""Alias analysis of carried variables: a hypothesis of which may be one tensor, and its check.

When an iteration begins, a carried variable may be its value before the loop, or that of another
one (``TensorAliases.through_iteration``). Variables that are different tensors before the loop are
assumed to differ in every iteration. This includes variables that change places. If the body leaves
one tensor in both, the assumption was wrong.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from autodiff_compiler.frontend.abstract.aliasing import ARRAY, SCALAR, TensorAliases, has_no_axes
from autodiff_compiler.frontend.control_flow.carries import Carry, Key
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType

#: A carried leaf, by its variable and its place in that.
Leaf = tuple[Key, int]


class CarryAliasing:
    """The assumption of one hypothesis; ``together`` are the pairs of leaves that may be one
    tensor, as all hypotheses found."""

    def __init__(
        self, memory: TensorAliases, carried: Mapping[Key, Carry], together: set[frozenset[Leaf]]
    ):
        self.memory, self.carried, self.together = memory, carried, together
        self.params: Mapping[Key, Sequence[Value]] = {}
        #: The memory that each leaf is assumed to have when an iteration begins.
        self.assumed: dict[Leaf, set[Any]] = {}

    def begin(self, before: Mapping[Leaf, Any], params: Mapping[Key, Sequence[Value]]) -> None:
        """Sets the tensors that the parameters may be when an iteration begins."""
        self.params = params
        for key, carry in self.carried.items():
            for place, param in enumerate(params[key]):
                first = before.get((key, place))
                known = (self.memory.of(first) or {SCALAR}) | carry.memory.get(place, set())
                self.memory.set_aliases(param, known)
                if first is not None:
                    dtypes = self.memory.dtypes_of(first) | carry.dtypes.get(place, frozenset())
                    self.memory.set_path_dtypes(param, dtypes)
                self.assumed[key, place] = {*known}
        for pair in self._apart():
            if self.memory.may_alias(*map(before.get, pair)):
                self.together.add(frozenset(pair))
            else:
                self.memory.distinct.add(frozenset(params[key][place] for key, place in pair))

    def holds(self, left: Mapping[Leaf, Any], around: frozenset[Hashable]) -> bool:
        """True if the body keeps to the assumption. ``around`` is what is held around the loop."""
        right = True
        for pair in self._apart():
            if self.memory.may_alias(*map(left.get, pair)):
                self.together.add(frozenset(pair))
                right = False
        for (key, place), aliases in self.memory.through_iteration(left, around).items():
            known = self.carried[key].memory.setdefault(place, set())
            is_array = self.memory.is_array(left[key, place])
            was_array = self.memory.is_array(self.params[key][place])
            if has_no_axes(left[key, place]) and is_array is not was_array:
                kinds = {ARRAY: True, SCALAR: False}
                aliases = aliases | {
                    kind for kind, holds in kinds.items() if is_array in (holds, None)
                }
            right &= aliases <= self.assumed[key, place]
            dtypes, has = self.memory.dtypes_of(left[key, place]), self.carried[key].dtypes
            right &= dtypes <= self.memory.dtypes_of(self.params[key][place])
            has[place] = has.get(place, frozenset()) | dtypes
            known |= aliases
        return right

    def end(self, results: Mapping[Leaf, Value]) -> None:
        """Sets the tensors that the results of the loop may be. A variable that a refused statement
        was to assign is no result."""
        pairs = (pair for pair in self._apart() if all(leaf in results for leaf in pair))
        self.memory.distinct |= {frozenset(map(results.__getitem__, pair)) for pair in pairs}

    def _apart(self) -> list[tuple[Leaf, Leaf]]:
        arrays = [
            (key, place)
            for key, carry in self.carried.items()
            for place, type_ in enumerate(carry.types)
            if isinstance(type_, ArrayType) and not carry.fresh
        ]
        pairs = itertools.combinations(arrays, 2)
        return [pair for pair in pairs if frozenset(pair) not in self.together]
