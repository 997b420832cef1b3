"""What a loop goes through, and what it carries from one iteration to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

from autodiff_compiler.common.cell import Cell
from autodiff_compiler.frontend.heap import frozen, is_frozen
from autodiff_compiler.frontend.resolve import MISSING
from autodiff_compiler.frontend.values import Closure, Maybe, State
from autodiff_compiler.ir.nodes import AnyOperand, Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import Type

Key = Any  # a variable's name, or a cell of the heap


@dataclass
class Walk:
    """How a ``for`` goes through an iterable.

    bounds   the range of its index; reads  what is read item by item; item  the user's item from
    index and reads; items  all of them, if known while compiling.
    """

    bounds: tuple[AnyOperand, AnyOperand, AnyOperand]
    reads: list[Value]
    item: Callable[[Value, Sequence[Value]], Any]
    items: Sequence[Any] | None = None

    @property
    def runs(self) -> bool:
        """Whether it certainly makes an iteration."""
        known = [bound for bound in self.bounds if isinstance(bound, int)]
        return len(known) == 3 and len(range(*known)) > 0


@dataclass
class Carried:
    """A carried variable: the types of its leaves, and a value that shows its structure.

    ``fresh`` may be unset before the loop. ``summed`` begins as the number 0 and is only added to:
    it may as well begin as zeros of the sum's shape, if the loop runs at all.
    """

    like: Any
    types: list[Type]
    fresh: bool
    summed: bool = False
    #: What its leaves may be when an iteration begins, by place.
    memory: dict[int, set[Any]] = field(default_factory=dict)


def get(state: State, key: Key) -> Any:
    place: dict[Any, Any] = state.names if isinstance(key, str) else state.heap
    return place.get(key, MISSING)


def carried_by(carry: Carried, key: Key, state: State) -> Any:
    """What ``carry`` takes from a state, in the structure that it shows."""
    value = get(state, key)
    value = value.value if isinstance(value, Maybe) else value
    return frozen(value, state) if is_frozen(carry.like) else value


def is_constant(value: Any) -> bool:
    """Whether every iteration sets just this."""
    if isinstance(value, Closure):
        return not value.defaults
    return isinstance(value, (str, type(None), type, Cell, ModuleType, FunctionType, OpDef))


def name_of(key: Key) -> str:
    return key if isinstance(key, str) else f"this {key.kind}"
