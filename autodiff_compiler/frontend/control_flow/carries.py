"""Iteration spaces of loops, and the variables that a loop carries between iterations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FunctionType, ModuleType
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.errors import UnsupportedSyntax
from autodiff_compiler.frontend.abstract.heap import detach, is_detached
from autodiff_compiler.frontend.abstract.join import conform, join_structure, join_types, leaf_type
from autodiff_compiler.frontend.abstract.path_dtypes import compute_alike
from autodiff_compiler.frontend.abstract.values import (
    Closure,
    HeapRef,
    LoopNotRollable,
    MaybeUnset,
    State,
    Unset,
    leaves,
)
from autodiff_compiler.frontend.core.guards import MISSING
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.unwinding import has_thrown
from autodiff_compiler.frontend.syntax.nodes import exit_flags
from autodiff_compiler.ir.nodes import AnyOperand, Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType, Type
from autodiff_compiler.operators.elementwise import comparisons
from autodiff_compiler.operators.indexing import indexing

Key = Any  # a variable's name, or a heap object's reference


@dataclass
class IterationSpace:
    """The iterations of a ``for``: its index and the item of each.

    ``bounds`` is the range of the index. ``reads`` are the values that are read item by item.
    ``item`` makes the user's item from the index and these. ``items`` are all items, if they are
    known at compile time. ``checkpoint`` says what backward saves of the iterations, if not all.
    ``lists`` are the lists of run-time length that are iterated over, which the body must leave as
    they are.
    """

    bounds: tuple[AnyOperand, AnyOperand, AnyOperand]
    reads: list[Value]
    item: Callable[[Value, Sequence[Value]], Any]
    items: Sequence[Any] | None = None
    checkpoint: tuple[str, int] | None = None
    lists: tuple[HeapRef, ...] = ()
    #: Whether the items are rows that are read by their positions.
    by_position: bool = False

    @property
    def size(self) -> int | None:
        """The number of iterations, if it is known."""
        known = [bound for bound in self.bounds if isinstance(bound, int)]
        return len(range(*known)) if len(known) == 3 else None

    @property
    def runs(self) -> bool:
        """True if there certainly is an iteration."""
        return bool(self.size)

    def by_names(self, low: Any, stored: Collection[str]) -> IterationSpace:
        """Returns a space that reads rows of arrays by their positions, as the rows are then.

        Each array must have a name that the body, which assigns ``stored``, does not assign.
        Otherwise returns this space.
        """
        names: list[str] = []
        for array in self.reads:
            named = (
                n for n, value in low.state.names.items() if value is array and n not in stored
            )
            names += [next(named, "")]
        if not names or "" in names or not all(isinstance(r.type, ArrayType) for r in self.reads):
            return self

        def item(index: Value, reads: Sequence[Value]) -> Any:
            rows = [
                indexing.index(low.certainly(low.state.names[name]), index, index=(("op", 0),))
                for name in names
            ]
            return self.item(index, rows)

        return replace(self, reads=[], item=item, by_position=True)


class RowsWritten(Exception):
    """Raised if the body of a loop writes to the array whose rows the loop iterates over."""


@contextmanager
def watched(low: Any, space: IterationSpace | None, stored: Collection[str]) -> Iterator[None]:
    """Refuses writes inside to the array that a loop iterates over: each row is read as it was
    before the loop. Raises ``RowsWritten`` if the rows may be read by their positions instead."""
    reads, writes = () if space is None else space.reads, low.compilation.aliases.writes
    mark, memory = len(writes), low.compilation.aliases.of_all(reads)
    named = low.compilation.numpy and space and space.by_names(low, stored) is not space
    try:
        yield
    except Exception as error:
        if named and any(memory & write for write in writes[mark:]):
            raise RowsWritten from error
        raise
    if any(memory & write for write in writes[mark:]):
        if named:
            raise RowsWritten
        raise low.fail(
            UnsupportedSyntax,
            "the body of this loop writes in place to the array that the loop iterates over",
            "loop over a copy: for row in x.copy(); or use range(len(x)) and x[i]",
        )


@dataclass
class Carry:
    """A carried variable: the types of its leaves, and a value that shows its structure.

    ``fresh``: it may be unset before the loop. ``summed``: it begins as the number 0 and is only
    added to. If the loop runs at all, it may begin as zeros of the sum's shape.
    """

    like: Any
    types: list[Type]
    fresh: bool
    summed: bool = False
    #: The possible origins of its leaves when an iteration begins, by place.
    memory: dict[int, set[Any]] = field(default_factory=dict)
    #: The dtypes that an iteration leaves in its leaves, by place.
    dtypes: dict[int, frozenset[str]] = field(default_factory=dict)


def get(state: State, key: Key) -> Any:
    """Returns what a variable or heap object holds; MISSING if there is none."""
    place: dict[Any, Any] = state.names if isinstance(key, str) else state.heap
    return place.get(key, MISSING)


def carried_by(carry: Carry, key: Key, state: State) -> Any:
    """Returns the value of ``carry`` in a state, in the structure that it shows."""
    value = get(state, key)
    value = value.value if isinstance(value, MaybeUnset) else value
    return conform(detach(value, state) if is_detached(carry.like) else value, carry.like)


def is_constant(value: Any) -> bool:
    """True if every iteration assigns this very value."""
    if isinstance(value, Closure):
        return not value.defaults and not value.frame.ended
    return isinstance(value, (str, type(None), type, Cell, ModuleType, FunctionType, OpDef))


def name_of(key: Key) -> str:
    return key if isinstance(key, str) else f"this {key.kind}"


def common_structure(key: Key, before: Any, after: Any) -> Any:
    """Returns a value with the structure that a variable has before and after an iteration."""
    is_list = isinstance(key, HeapRef) and key.kind == "list"
    like = None if isinstance(before, Unset) else join_structure(before, after, is_list)
    if like is None:
        raise LoopNotRollable(
            f"the structure of '{name_of(key)}' changes from one iteration of the loop to the next"
        )
    return like


def joined_types(low: Lowering, key: Key, have: Iterable[Type | None], after: Any) -> list[Type]:
    """Returns the types that hold values of these types and the leaves of ``after``."""
    types = []
    for a, b in zip(have, map(leaf_type, leaves(after))):
        type_ = None if a is None or b is None else join_types(a, b)
        if type_ is None or low.compilation.numpy and not compute_alike(a, b):
            raise LoopNotRollable(
                f"'{name_of(key)}' is {a} before an iteration of the loop and {b} after it"
            )
        types.append(type_)
    return types


def exit_condition(low: Lowering, node: Any) -> Any:
    """Returns the state of the loop's exit flags: False, True, or a run-time value."""
    ended: Any = has_thrown(low)
    if ended is True:
        return True
    for flag in exit_flags(node):
        value = low.truth(low.state.names[flag])
        if value is True:
            return True
        if isinstance(value, Value):
            ended = value if ended is False else comparisons.logical_or(ended, value)
    return ended
