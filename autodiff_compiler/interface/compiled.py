"""Plain records between the compiler and the run time: slots, guards and compiled functions.

A call ``f(a, b, k=c)`` is a row of *slots*: the positional arguments, then the keyword arguments in
the order of the call. A slot is *dynamic* (an array, a number, a container of these: an input of
the generated function) or *static* (a string, None, a bool, any other object: part of the key).
"""

from __future__ import annotations

import copy
import keyword
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from autodiff_compiler.ir.types import (
    COMPLEX,
    FLOAT,
    ArrayType,
    DictType,
    ListType,
    ScalarType,
    TupleType,
    Type,
    holds_arrays,
    parse_type,
)
from autodiff_compiler.span import Span

#: Containers that may be changed.
CONTAINERS = (list, dict, set, deque)


@dataclass(frozen=True)
class StaticSlot:
    """A slot whose value is known at compile time."""

    value: Any


@dataclass(frozen=True)
class HookedSlot:
    """A dynamic slot whose Tensor has hooks on its gradient."""

    type: Type
    hooks: tuple[Any, ...]

    def __str__(self) -> str:
        return str(self.type)


@dataclass(frozen=True)
class ArraySlot:
    """A dynamic slot of an array with its memory layout: 'C', 'F', or its strides in bytes.

    The compiler assumes this layout if it must know which results are views. None is a layout that
    it cannot use.
    """

    type: ArrayType
    order: str | tuple[int, ...] | None

    def __str__(self) -> str:
        return str(self.type)


@dataclass(frozen=True)
class MutableSlot:
    """A dynamic slot of a value that ``mutable`` marks; the skeleton has its lists and tuples."""

    type: Type
    skeleton: Any

    def __str__(self) -> str:
        return str(self.type)


#: An argument as the compiler sees it.
Slot: TypeAlias = Type | StaticSlot | HookedSlot | ArraySlot | MutableSlot


class NeedValues(Exception):
    """Raised if the compiler must know the values of some slots.

    The caller compiles again with ``StaticSlot(value)`` at these positions. ``cause`` says why, in
    the user's terms.
    """

    def __init__(self, positions: tuple[int, ...], cause: str):
        super().__init__(cause)
        self.positions, self.cause = positions, cause


class NoNativeText(Exception):
    """Raised if a function cannot be printed as C; the message names the operator or type."""


@dataclass(frozen=True)
class Guard:
    """A fact read at compile time that must still hold when the compiled function is used.

    path   a Python expression over ``fn`` (the function or Cell) and ``slots``.
    test   the kind of the fact, see below.
    value  the value that the test compares with.
    span   the place in the source function that depends on it, if a failure is reported there.

    The tests:

    'is'         the same object.
    'equal'      the same type, and equal.
    'type'       the same type.
    'length'     the same length.
    'absent'     reading it still raises an exception.
    'without'    a dict without this key.
    'without attribute'  an object without an attribute of this name.
    'the same'   the object at another path.
    'another'    not the object at another path.
    'special'    a class, and a pair: the name of a method, and the result of ``special`` for it.
    'like'       an array of this dtype and shape.
    'not written'  no Parameter that is at one of the paths, or that is one of the objects.
    'whole'      an array without elements that share memory.
    'apart'      a tuple of arrays, and a pair of numbers. None of the arrays before the second
                 number shares memory with another one from the first number on.
    """

    path: str
    test: str
    value: Any
    span: Span | None = None


def special(kind: type, name: str) -> Any:
    """Returns the method that Python looks up in a class alone, or None."""
    for each in kind.__mro__:
        if name in each.__dict__:
            return each.__dict__[name]
    return None


def count_of(thing: Any) -> int:
    """Counts the items of a sequence, without a ``__len__`` that a user's class defines."""
    base = next((kind for kind in (list, tuple) if isinstance(thing, kind)), type(thing))
    return int(base.__len__(thing))


def frozen(value: Any) -> Any:
    """Returns a copy that later changes of a container do not reach."""
    if type(value) in (tuple, list):
        return type(value)(map(frozen, value))
    if type(value) is dict:
        return {key: frozen(item) for key, item in value.items()}
    return copy.copy(value) if isinstance(value, (*CONTAINERS, np.ndarray)) else value


@dataclass(frozen=True)
class Hoisted:
    """A tensor, Parameter or array that a source function reads, and that its generated function
    takes as an argument.

    text   the expression that makes it, if the source function makes it at compile time.
    path   the Python expression that finds it; None if the source function makes it.
    read   True if ``path`` is read at each call: the object may then change.
    """

    name: str
    source: Any
    type: Type
    text: str | None = None
    path: str | None = None
    read: bool = False


@dataclass(frozen=True, eq=False)
class AttributeInput:
    """An attribute that a source function writes, and that is therefore read at every call.

    ``get`` bypasses a ``__getattribute__`` of the class.
    """

    owner: Any
    name: str | Item
    get: Callable[[Any, Any], Any] = getattr

    @property
    def _data(self) -> Any:
        value = self.get(self.owner, self.name)
        return getattr(value, "_data", value)


@dataclass(frozen=True, eq=False)
class PythonFunction:
    """A Python function that generated code takes as an argument and calls: an uncompiled hook.

    ``call`` takes arrays and returns arrays.
    """

    name: str
    call: Callable[..., Any]

    @property
    def _data(self) -> Any:
        return self.call


@dataclass(frozen=True)
class Item:
    """An item of a dict, in the place of the name of an attribute."""

    key: Any

    def __str__(self) -> str:
        name = re.sub(r"\W", "_", str(self.key))
        return name if name.isidentifier() and not keyword.iskeyword(name) else f"item_{name}"


def put_item(owner: Any, item: Item, value: Any) -> None:
    """Sets an item of a dict. Methods of its class are bypassed."""
    dict.__setitem__(owner, item.key, value)


def get_item(owner: Any, item: Item) -> Any:
    """Returns an item of a dict. Methods of its class are bypassed."""
    return dict.__getitem__(owner, item.key)


@dataclass(frozen=True)
class Write:
    """A write to a Parameter, an attribute or an item of a dict, carried out after forward.

    ``put`` and ``get`` bypass methods of the class that were inlined.
    """

    target: Any
    name: str | Item | None = None
    put: Callable[[Any, Any, Any], None] = setattr
    get: Callable[[Any, Any], Any] = getattr
    #: The structure of the written value, as in ``Compiled``.
    structure: Any = None

    def present_value(self, absent: Any) -> Any:
        """Returns the present value of the attribute, or ``absent`` if reading it fails."""
        try:
            return self.get(self.target, self.name)
        except Exception:
            return absent


@dataclass(frozen=True)
class GeneratedText:
    """The source of a compiled function, and the facts that are needed to run it.

    forward       the name of the function that takes the dynamic slots and then the hoisted arrays.
    backward      the name of the function that takes the residuals (and the sensitivity), or None.
    output        the type of the value.
    owns_memory   True if the value owns its memory: it is no argument and no view of one.
    unconnected   the gradients, by position, that are zero because the output does not depend on
                  their values; empty unless the request asks for it.
    line_map      for each line the place in the source function that it computes.
    allocations   the bytes of each allocation of the workspace.
    donated       the allocations that go to the caller with a result: each call makes them anew.
    work_arrays   the types of the arrays that each function takes as a tuple, last, each with the
                  number of its allocation.
    from_disk     True if another process printed it.
    native        how Python calls each compiled function, if the source is C.
    fallback      why the source is NumPy though C was asked for.
    """

    source: str
    forward: str
    backward: str | None
    output: Type
    owns_memory: bool = False
    unconnected: tuple[int, ...] = ()
    line_map: Mapping[int, Any] = field(default_factory=dict)
    allocations: tuple[int, ...] = ()
    donated: frozenset[int] = frozenset()
    work_arrays: tuple[tuple[tuple[int, Any], ...], ...] = ((), ())
    from_disk: bool = False
    native: tuple[Any, ...] = ()
    fallback: str = ""

    @property
    def is_joint(self) -> bool:
        """True if one C function computes all that is asked for.

        A sensitivity that is given is its last argument.
        """
        return len(self.native) == 1


@dataclass(frozen=True, kw_only=True)
class Compiled(GeneratedText):
    """The source of a compiled function, and how to call it.

    If the request returns the value, forward returns ``(out, residuals)``, else ``residuals``.
    Without a backward function it returns ``out``, in forward mode ``(out, dot_out)``. Backward
    returns the cotangents of ``positions`` and then of ``weights``; a single one without a tuple.

    structure  the tuples in the value that are lists, named tuples and objects of the user: a tree
               of lists, tuples, dicts and nodes; None if the value needs no conversion.
    writes     forward returns a value for each of them, right before the residuals.
    undifferentiated  the program before it was differentiated, for another derivative of the same
               call. Only the compiler knows what it is.
    """

    dynamic_slots: tuple[int, ...]
    hoisted: tuple[Hoisted, ...]
    guards: tuple[Guard, ...]
    positions: tuple[int, ...] = ()
    weights: tuple[Any, ...] = ()
    structure: Any = None
    writes: tuple[Write, ...] = ()
    title: str = ""
    undifferentiated: Any = None


__all__ = [
    "ArraySlot",
    "ArrayType",
    "Guard",
    "AttributeInput",
    "COMPLEX",
    "Compiled",
    "DictType",
    "FLOAT",
    "GeneratedText",
    "Hoisted",
    "HookedSlot",
    "Item",
    "ListType",
    "NeedValues",
    "NoNativeText",
    "PythonFunction",
    "ScalarType",
    "Slot",
    "StaticSlot",
    "TupleType",
    "Type",
    "Write",
    "get_item",
    "holds_arrays",
    "parse_type",
    "put_item",
    "special",
]
