"""Which tensors may be one and the same: what an item assignment may change under another name.

Python's names share a tensor, so ``y = x`` and then ``y[0] = 1`` changes ``x``. Two names that hold
one ``Value`` are one tensor for certain. Where two ways meet, or a loop begins anew, they may be
one: a value's *memory* is the set of values that it may be at run time. Two tensors are different
if their memories have nothing in common.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

from autodiff_compiler.errors import UnsupportedSyntax
from autodiff_compiler.frontend.abstract.numpy_layouts import Layout, layout_of_array
from autodiff_compiler.frontend.abstract.values import (
    INTERNAL_VARIABLES,
    Heap,
    MaybeUnset,
    PendingRuntimeList,
    Unset,
    components,
    internal_kind,
    leaves,
    map_components,
)
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType, ListType

Place = TypeVar("Place", bound=Hashable)


#: What stands among memories for a value without axes that is an array, or a scalar.
ARRAY, SCALAR = "array", "scalar"
_KIND_OF: dict[Any, bool] = {ARRAY: True, SCALAR: False}


def has_no_axes(value: Any) -> bool:
    """Decide whether this is an array without axes or a NumPy scalar, at run time."""
    return isinstance(value, Value) and isinstance(value.type, ArrayType) and value.type.ndim == 0


class TensorAliases:
    """The memories of one compilation; a value that is not in the table is its own."""

    def __init__(self) -> None:
        self.table: dict[Value, frozenset[Hashable]] = {}
        #: The memories that were written to, in order.
        self.writes: list[frozenset[Hashable]] = []
        #: Pairs of values that are certainly different tensors, though their memories meet.
        self.distinct: set[frozenset[Any]] = set()
        #: The layouts of arrays of plain NumPy code, where they are known.
        self.layouts: dict[Value, Layout] = {}
        #: Reshaped arrays that are certainly views, and arrays that NumPy lets nobody write to.
        self.reshaped: set[Value] = set()
        self.read_only: set[Value] = set()
        #: Arrays without axes, which are written to where a number would be replaced; and values
        #: without axes of which it is not known whether they are arrays or NumPy's scalars.
        self.arrays: set[Value] = set()
        self.arrays_or_scalars: set[Value] = set()
        #: Whether a name was lost because it is not known what is a view.
        self.has_unknown_views = False

    def copy_facts(self, before: Value, after: Value) -> None:
        """``after`` lies where ``before`` lay."""
        self.layouts.pop(after, None)
        if before in self.layouts:
            self.layouts[after] = self.layouts[before]
        for kind in (self.reshaped, self.read_only, self.arrays, self.arrays_or_scalars):
            (kind.add if before in kind else kind.discard)(after)

    def is_array(self, value: Any) -> bool | None:
        """Decide whether a value without axes is an array, and no scalar; None if not known."""
        return None if value in self.arrays_or_scalars else value in self.arrays

    def set_is_array(self, value: Any, is_array: bool | None) -> None:
        """Keep whether ``value`` is an array, if it has no axes. A scalar shares no memory."""
        if not has_no_axes(value):
            return
        (self.arrays_or_scalars.add if is_array is None else self.arrays_or_scalars.discard)(value)
        if is_array is not None:
            (self.arrays.add if is_array else self.arrays.discard)(value)
        if is_array is False:
            self.table.pop(value, None)

    def register_array(self, value: Value, array: Layout) -> None:
        """``value`` is an array that was made while compiling."""
        self.layouts[value] = layout_of_array(array)
        if not array.ndim:
            self.arrays.add(value)

    def of(self, value: Any) -> frozenset[Hashable]:
        """What ``value`` may be; for a list or tuple, what its items may be."""
        if isinstance(value, PendingRuntimeList):
            return self.of_all(leaves(value.items))
        if isinstance(value, tuple):
            return self.of_all(leaves(value))
        if not isinstance(value, Value) or not isinstance(value.type, (ArrayType, ListType)):
            return frozenset()
        return self.table.get(value, frozenset((value,)))

    def of_all(self, values: Iterable[Any]) -> frozenset[Hashable]:
        """What one of ``values`` may be."""
        return frozenset().union(*map(self.of, values))

    def may_alias(self, one: Any, other: Any) -> bool:
        """Whether two values may be one tensor."""
        return bool(self.of(one) & self.of(other)) and frozenset((one, other)) not in self.distinct

    def set_aliases(self, value: Any, others: Iterable[Hashable]) -> None:
        """From now on ``value`` is itself or one of ``others``."""
        if not isinstance(value, Value) or not isinstance(value.type, (ArrayType, ListType)):
            return
        found = {value, *others}
        self.table[value] = frozenset(found - {ARRAY, SCALAR})
        if has_no_axes(value):
            kinds: set[bool | None] = {_KIND_OF[one] for one in found if one in _KIND_OF}
            kinds |= {self.is_array(one) for one in found if one is not value and has_no_axes(one)}
            if True in kinds or None in kinds and self.arrays & self.table[value]:
                self.arrays.add(value)
            if len(kinds) > 1 or None in kinds:
                self.arrays_or_scalars.add(value)

    def through_iteration(
        self, yields: Mapping[Place, Any], around: frozenset[Hashable]
    ) -> dict[Place, set[Hashable]]:
        """What carried variables may be in the next iteration, by what this one leaves them:
        values from around the loop, and marks for two that may be one."""
        left = {key: self.of(value) for key, value in yields.items()}
        found: dict[Place, set[Hashable]] = {}
        for key, memory in left.items():
            marks = {
                frozenset((key, other))
                for other, its in left.items()
                if other != key and (memory & its) - around
            }
            found[key] = {*(memory & around), *marks}
        return found


def copy_suffix(low: Any) -> str:
    """Return what makes a copy of an array when it follows its name, for a cure."""
    return ".copy()" if low.compilation.numpy else " * 1"


def refuse_overwritten(low: Any, value: Any, mark: int) -> None:
    """Refuses ``value`` if a tensor in it was written to since there were ``mark`` writes: Python
    would use what it holds now, and this is what it held before."""
    memory = low.compilation.aliases
    held = memory.of_all(leaves(value)) if memory.writes[mark:] else frozenset()
    if any(held & later for later in memory.writes[mark:]):
        raise low.fail(
            UnsupportedSyntax,
            "this expression reads a tensor and also changes it in place",
            "move the in-place change to a statement of its own, before or after this one",
        )


def record_write(
    low: Any, memory: frozenset[Hashable], changes: Mapping[Value, Value] | None = None
) -> None:
    """Tensors of this memory are written to: what is known of it ``changes`` under every name, and
    names of what else may lie in it are lost."""
    known = changes or {}
    line, state = low.builder.span.line, low.state

    def seen(name: str, thing: Any, certain: bool = True) -> Any:
        def change(one: Value) -> Any:
            if certain and one in known:
                return known[one]
            told = low.compilation.aliases
            if one not in memory and one not in told.table:
                return one
            if memory.isdisjoint(told.of(one)):
                return one
            if any(frozenset((one, other)) in told.distinct for other in known):
                return one
            told.has_unknown_views = True
            own = internal_kind(name)
            thing = INTERNAL_VARIABLES[own] if own else f"'{name}'"
            return Unset(
                f"{thing} may share memory with the array that line {line} writes to; whether it "
                "does is not known at compile time",
                "assign copies of the values to variables first"
                if own == "waiting"
                else "loop over a copy of it"
                if own
                else f"make it a copy where it is assigned: {name}{copy_suffix(low)}",
            )

        return map_values(thing, change)

    if not memory:
        return
    low.compilation.aliases.writes.append(memory)
    for argument in memory & low.compilation.arguments.keys():
        ops = low.builder.blocks[0]
        *_, count, span = low.compilation.overwritten.get(
            argument, (ops, len(ops), low.builder.span)
        )
        low.compilation.overwritten[argument] = ops, min(count, len(ops)), span
    state.names = {name: seen(name, thing) for name, thing in state.names.items()}
    state.heap = Heap({ref: seen(ref.kind, thing) for ref, thing in state.heap.items()})
    for frame in low.waiting_frames:
        # Their variables are not part of the state that a branch or loop forks.
        certain = frame.depth == low.depth
        frame.names.update({n: seen(n, thing, certain) for n, thing in frame.names.items()})


def write_cell(low: Any, cell: Any, new: Any) -> None:
    """The cell of a Parameter takes a new value, under every name that the Parameter has."""
    before = low.state.heap[cell]
    low.state.heap[cell] = new
    record_write(low, low.compilation.aliases.of(before), {before: new})


def is_reachable(low: Any, value: Value) -> bool:
    """Whether a variable, or an item of one, is this very value."""
    found: list[Value] = []

    def look(one: Value) -> Value:
        found.extend([one] if one is value else [])
        return one

    for names in (low.state.names, low.state.heap, *(frame.names for frame in low.waiting_frames)):
        map_values(dict(names), look)
    return bool(found)


def map_values(thing: Any, change: Callable[[Value], Any]) -> Any:
    """``thing`` with ``change`` made to every value in it. A container with an item that is lost
    is lost itself."""
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
