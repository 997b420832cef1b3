"""Alias analysis: the tensors that an item assignment may change under another name.

Python's names share a tensor, so ``y = x`` and then ``y[0] = 1`` changes ``x``. Two names that hold
one ``Value`` are one tensor for certain. Where two paths join, or an iteration begins, they may be
one. The *memory* of a value is the set of values that it may be at run time. Two tensors are
different if their memories have nothing in common.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

from autodiff_compiler.frontend.abstract.numpy_layouts import Layout, layout_of_array
from autodiff_compiler.frontend.abstract.values import (
    MaybeUnset,
    PendingRuntimeList,
    Unset,
    components,
    leaves,
    map_components,
)
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType, ListType

Place = TypeVar("Place", bound=Hashable)

#: Members of a memory that say what a value without axes may be: an array, or a scalar.
ARRAY, SCALAR = "array", "scalar"
_KIND_OF: dict[Any, bool] = {ARRAY: True, SCALAR: False}


def has_no_axes(value: Any) -> bool:
    """True if this is an array without axes or a NumPy scalar, at run time."""
    return isinstance(value, Value) and isinstance(value.type, ArrayType) and value.type.ndim == 0


class TensorAliases:
    """The memories of one compilation. A value that is not in the table has a memory of its own."""

    def __init__(self) -> None:
        self.table: dict[Value, frozenset[Hashable]] = {}
        #: The memories that were written to, in order.
        self.writes: list[frozenset[Hashable]] = []
        #: Pairs of values that are certainly different tensors, though their memories overlap.
        self.distinct: set[frozenset[Any]] = set()
        #: The layouts of arrays of plain NumPy code, where they are known.
        self.layouts: dict[Value, Layout] = {}
        #: Reshaped arrays that are certainly views, and arrays that NumPy makes read-only.
        self.reshaped: set[Value] = set()
        self.read_only: set[Value] = set()
        #: Base arrays after a write through a view: no views, whatever operation made them.
        self.bases: set[Value] = set()
        #: Arrays without axes: an augmented assignment writes to them, and replaces a number.
        #: Then the values without axes that may be such an array or a NumPy scalar.
        self.arrays: set[Value] = set()
        self.arrays_or_scalars: set[Value] = set()
        #: Values of unknown rank that have at least one axis on every path.
        self.with_axes: set[Value] = set()
        #: The dtypes of an array that has several, by path: see ``path_dtypes.py``.
        self.path_dtypes: dict[Value, frozenset[str]] = {}
        #: True if a name was lost because it is not known which arrays are views.
        self.has_unknown_views = False

    def copy_facts(self, before: Value, after: Value) -> None:
        """Gives ``after`` what is known of ``before``, whose place it takes."""
        self.layouts.pop(after, None)
        if before in self.layouts:
            self.layouts[after] = self.layouts[before]
        self.set_path_dtypes(after, self.dtypes_of(before))
        facts = (self.reshaped, self.read_only, self.arrays, self.arrays_or_scalars, self.with_axes)
        for kind in facts:
            (kind.add if before in kind else kind.discard)(after)

    def dtypes_of(self, value: Any) -> frozenset[str]:
        """Returns the dtypes that an array may have in NumPy; none if this is not known."""
        if value in self.path_dtypes:
            return self.path_dtypes[value]
        type_ = value.type if isinstance(value, Value) else None
        dtype = type_.dtype if isinstance(type_, ArrayType) else None
        return frozenset(() if dtype is None else (dtype,))

    def set_path_dtypes(self, value: Any, dtypes: frozenset[str]) -> None:
        """Records the dtypes that ``value`` may have in NumPy, if there are several."""
        if len(dtypes) > 1:
            self.path_dtypes[value] = dtypes

    def is_array(self, value: Any) -> bool | None:
        """True if ``value`` is an array, False for a scalar or a number, None if not known."""
        if not isinstance(value, Value) or not isinstance(value.type, ArrayType):
            return False
        if value in self.arrays_or_scalars:
            return None
        if value in self.arrays or self.has_axes(value):
            return True
        return None if value.type.ndim is None else False

    def has_axes(self, value: Any) -> bool:
        """True if ``value`` is an array with at least one axis on every path."""
        type_ = value.type if isinstance(value, Value) else None
        if not isinstance(type_, ArrayType):
            return False
        return value in self.with_axes if type_.ndim is None else type_.ndim > 0

    def join_ranks(self, value: Value, sources: Iterable[Any]) -> None:
        """Records if ``value`` of unknown rank, which is one of ``sources``, is an array."""
        if not isinstance(value.type, ArrayType) or value.type.ndim is not None:
            return
        sources = tuple(sources)
        if all(map(self.has_axes, sources)):
            self.with_axes.add(value)
        elif all(self.is_array(source) is True for source in sources):
            self.arrays.add(value)

    def set_is_array(self, value: Any, is_array: bool | None) -> None:
        """Records if ``value`` is an array, if it has no axes. A scalar shares no memory."""
        if not has_no_axes(value):
            return
        (self.arrays_or_scalars.add if is_array is None else self.arrays_or_scalars.discard)(value)
        if is_array is not None:
            (self.arrays.add if is_array else self.arrays.discard)(value)
        if is_array is False:
            self.table.pop(value, None)

    def register_array(self, value: Value, array: Layout) -> None:
        """Records the layout of a value that is an array made at compile time."""
        self.layouts[value] = layout_of_array(array)
        if not array.ndim:
            self.arrays.add(value)

    def of(self, value: Any) -> frozenset[Hashable]:
        """Returns the memory of ``value``; for a list or tuple, that of all its items."""
        if isinstance(value, PendingRuntimeList):
            return self.of_all(leaves(value.items))
        if isinstance(value, tuple):
            return self.of_all(leaves(value))
        if not isinstance(value, Value) or not isinstance(value.type, (ArrayType, ListType)):
            return frozenset()
        return self.table.get(value, frozenset((value,)))

    def of_all(self, values: Iterable[Any]) -> frozenset[Hashable]:
        """Returns the union of the memories of ``values``."""
        return frozenset().union(*map(self.of, values))

    def may_alias(self, one: Any, other: Any) -> bool:
        """True if two values may be one tensor."""
        return bool(self.of(one) & self.of(other)) and frozenset((one, other)) not in self.distinct

    def set_aliases(self, value: Any, others: Iterable[Hashable]) -> None:
        """Sets the memory of ``value``: itself or one of ``others``."""
        if not isinstance(value, Value) or not isinstance(value.type, (ArrayType, ListType)):
            return
        candidates = {value, *others}
        self.table[value] = frozenset(candidates - {ARRAY, SCALAR})
        if has_no_axes(value):
            kinds: set[bool | None] = {_KIND_OF[one] for one in candidates if one in _KIND_OF}
            kinds |= {
                self.is_array(one) for one in candidates if one is not value and has_no_axes(one)
            }
            if True in kinds or None in kinds and self.arrays & self.table[value]:
                self.arrays.add(value)
            if len(kinds) > 1 or None in kinds:
                self.arrays_or_scalars.add(value)

    def through_iteration(
        self, yields: Mapping[Place, Any], around: frozenset[Hashable]
    ) -> dict[Place, set[Hashable]]:
        """Returns the memories of carried variables in the next iteration, given the yields of this
        one. They are values from around the loop, and a mark for each pair that may be one tensor.
        """
        left = {key: self.of(value) for key, value in yields.items()}
        memories: dict[Place, set[Hashable]] = {}
        for key, memory in left.items():
            marks = {
                frozenset((key, other))
                for other, its in left.items()
                if other != key and (memory & its) - around
            }
            memories[key] = {*(memory & around), *marks}
        return memories


def map_values(thing: Any, change: Callable[[Value], Any]) -> Any:
    """Returns ``thing`` with every value in it changed. A container of a lost item is lost, too."""
    if isinstance(thing, Value):
        return change(thing)
    new = map_components(
        thing, lambda part: part if isinstance(part, Unset) else map_values(part, change)
    )
    if isinstance(new, MaybeUnset):
        return new.value if isinstance(new.value, Unset) else new
    if new is not thing:
        return next((part for part in components(new) if isinstance(part, Unset)), new)
    return new
