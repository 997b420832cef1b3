"""Plain records between the compiler and the run time: what is asked for, and what comes back.

A call ``f(a, b, k=c)`` is a row of *slots*: the positional arguments, then the keyword arguments in
the order of the call. A slot is *dynamic* (an array, a number, a container of these: an input of
the generated function) or *static* (a string, None, a bool, any other object: part of the key).
"""

from __future__ import annotations

import copy
import keyword
import re
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
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

#: What may hold other things later.
CONTAINERS = (list, dict, set, deque)


@dataclass(frozen=True)
class StaticSlot:
    """A slot whose value is known while compiling."""

    value: Any


@dataclass(frozen=True)
class HookedSlot:
    """A dynamic slot whose Tensor has hooks on its gradient."""

    type: Type
    hooks: tuple[Any, ...]

    def __str__(self) -> str:
        return str(self.type)


@dataclass(frozen=True)
class Laid:
    """A dynamic slot of an array that is given: 'C', 'F', or its strides in bytes. The compiler
    assumes this layout where it must know what is a view; None is none that it can use."""

    type: ArrayType
    order: str | tuple[int, ...] | None

    def __str__(self) -> str:
        return str(self.type)


#: What the compiler is told of an argument.
Slot: TypeAlias = Type | StaticSlot | HookedSlot | Laid


class NeedValues(Exception):
    """The compiler must know the values of the slots ``positions``: call it again with
    ``StaticSlot(value)`` in their places. ``cause`` says why, in the user's terms."""

    def __init__(self, positions: tuple[int, ...], cause: str):
        super().__init__(cause)
        self.positions, self.cause = positions, cause


@dataclass(frozen=True)
class Request:
    """What to compile.

    positions   slots whose cotangent is wanted, in the order wanted; () for none.
    weights     Parameters whose cotangent is wanted; None for every trainable one that takes part.
    sens        'ones', 'given' (last input) or 'none' (forward only: no backward at all).
    tangent     whether forward takes the tangents of ``positions`` and ``weights`` after all else,
                and returns the tangent of the value last: forward mode. There is no backward then.
    value       whether forward returns the function's value.
    aux         whether only the first of several outputs is differentiated.
    numpy       whether dtypes promote as NumPy's do: a plain function of arrays and floats.
    double      whether float32 means float64 throughout, as ``check_grads`` wants it.
    opt_level   which passes run: ``passes/registry.py`` says at which level each does.
    stabilise   whether formulas that overflow or cancel are replaced:
    ``passes/simplify/stabilise.py``. connections whether it shall be told what the output does not
    depend on.
    """

    positions: tuple[int, ...] = ()
    weights: tuple[Any, ...] | None = ()
    sens: str = "none"
    tangent: bool = False
    value: bool = True
    aux: bool = False
    numpy: bool = False
    double: bool = False
    opt_level: int = 1
    stabilise: bool = True
    connections: bool = False

    @cached_property
    def key(self) -> tuple[Hashable, ...]:
        """Every field, for the key of a cache. Parameters stand in it by identity."""
        return tuple(_by_identity(getattr(self, each.name)) for each in fields(self))

    @property
    def differentiates(self) -> bool:
        """Whether there is a backward half."""
        return self.sens != "none"

    @property
    def returns_value(self) -> bool:
        """Whether forward returns the value: it is wanted, or a sensitivity is held against it."""
        return self.value or self.sens == "given"


def _by_identity(value: Any) -> Hashable:
    """Returns a value of a Request as it stands in a key."""
    if isinstance(value, tuple):
        return tuple(map(_by_identity, value))
    plain = value is None or isinstance(value, (str, int, float))
    return value if plain else (type(value), id(value))


@dataclass(frozen=True)
class Assumption:
    """Something read while compiling that must still hold when the compiled pair is used.

    path   a Python expression over ``fn`` (the function or Cell) and ``slots``.
    test   'is' (same object), 'equal' (same type and equal), 'type' (same type), 'length',
           'absent' (reading it still raises an exception), 'without' (a dict that has not this
           key), 'without attribute' (an object that has none of this name), 'the same' (the
           object at another path), 'special' (a class, and a pair: the name of a method, and what
           ``special`` found for it), 'like' (an array of this dtype and shape), 'another' (not the
           object at another path), 'apart' (of a tuple of arrays, with a pair of numbers: none of
           those before the second shares memory with any other from the first on), 'whole' (an
           array no two elements of which share memory).
    span   the place in the user's text that asks for it, where the failure is told there.
    """

    path: str
    test: str
    value: Any
    span: Span | None = None


def special(kind: type, name: str) -> Any:
    """What a class has for a method that Python looks for in the class alone; None for none."""
    for each in kind.__mro__:
        if name in each.__dict__:
            return each.__dict__[name]
    return None


def count_of(thing: Any) -> int:
    """Return how many items a sequence has, whatever ``__len__`` a class of the user's gives it."""
    base = next((kind for kind in (list, tuple) if isinstance(thing, kind)), type(thing))
    return int(base.__len__(thing))


def frozen(value: Any) -> Any:
    """A copy that later changes of a container do not reach."""
    if type(value) in (tuple, list):
        return type(value)(map(frozen, value))
    if type(value) is dict:
        return {key: frozen(item) for key, item in value.items()}
    return copy.copy(value) if isinstance(value, (*CONTAINERS, np.ndarray)) else value


@dataclass(frozen=True)
class Hoisted:
    """A tensor, parameter or ndarray that the text reads and the generated function is given.

    text   how it is made, where the text makes it while it is compiled and that can be written.
    path   where it is found in the user's program; None for what the text makes.
    read   whether it is read there at each call: it need not be the very ``source`` then.
    """

    name: str
    source: Any
    type: Type
    text: str | None = None
    path: str | None = None
    read: bool = False


@dataclass(frozen=True, eq=False)
class AttributeInput:
    """An attribute that the text writes: read at every call, not assumed to stay as it was.
    ``get`` reads it below the class's own ``__getattribute__``, if it has one."""

    owner: Any
    name: str | Item
    get: Callable[[Any, Any], Any] = getattr

    @property
    def _data(self) -> Any:
        value = self.get(self.owner, self.name)
        return getattr(value, "_data", value)


@dataclass(frozen=True, eq=False)
class PythonFunction:
    """A Python function that generated code is given, as an input, and calls: a hook that cannot
    be compiled. ``call`` takes arrays and gives arrays."""

    name: str
    call: Callable[..., Any]

    @property
    def _data(self) -> Any:
        return self.call


@dataclass(frozen=True)
class Item:
    """The item of a dict with this key, where the name of an attribute may stand."""

    key: Any

    def __str__(self) -> str:
        name = re.sub(r"\W", "_", str(self.key))
        return name if name.isidentifier() and not keyword.iskeyword(name) else f"item_{name}"


def put_item(owner: Any, item: Item, value: Any) -> None:
    """Set an item of a dict, below the methods of its class."""
    dict.__setitem__(owner, item.key, value)


def get_item(owner: Any, item: Item) -> Any:
    """Return an item of a dict, read below the methods of its class."""
    return dict.__getitem__(owner, item.key)


@dataclass(frozen=True)
class Write:
    """A write to an outside object, carried out after forward: to a Parameter, an attribute or an
    item of a dict. ``put`` and ``get`` bypass the methods of the class that were inlined.
    """

    target: Any
    name: str | Item | None = None
    put: Callable[[Any, Any, Any], None] = setattr
    get: Callable[[Any, Any], Any] = getattr
    #: As that of ``Compiled``, of what is written.
    structure: Any = None

    def held(self, absent: Any) -> Any:
        """Return what the attribute is now, or ``absent``, also where a method of the user's that
        looks for it fails."""
        try:
            return self.get(self.target, self.name)
        except Exception:
            return absent


@dataclass(frozen=True)
class GeneratedText:
    """A finished piece of source, with what must be known of it to run it.

    forward    name of the function that takes the dynamic slots and then the hoisted arrays.
    backward   name of the function that takes the residuals (and the sensitivity), or None.
    output     the type of the value.
    apart      whether forward makes the value in memory of its own: it is no argument, nor a view
               of one, and may be written to.
    unconnected   which of the gradients, by place, are zero because the output does not depend
               on what they are of; told where the request asks for it.
    line_map   the place in the user's text that each line is about.
    work       the bytes of each block of memory that a caller may lend.
    given      which of them go to the caller with a result: they are made for each call.
    lent       the types of the arrays that each half takes as a tuple, last, with their blocks.
    from_disk  whether another process printed it.
    """

    source: str
    forward: str
    backward: str | None
    output: Type
    apart: bool = False
    unconnected: tuple[int, ...] = ()
    line_map: Mapping[int, Any] = field(default_factory=dict)
    work: tuple[int, ...] = ()
    given: frozenset[int] = frozenset()
    lent: tuple[tuple[tuple[int, Any], ...], ...] = ((), ())
    from_disk: bool = False


@dataclass(frozen=True, kw_only=True)
class Compiled(GeneratedText):
    """A finished piece of source and how to call it.

    Where the request returns the value, forward returns ``(out, residuals)``, else ``residuals``;
    a forward-only unit returns ``out``, in forward mode ``(out, dot_out)``. Backward
    returns the cotangents of ``positions`` and then of ``weights``, a bare one if there is one.
    structure  which tuples in the value are the user's lists, named tuples and objects: a tree of
               lists, tuples, dicts and nodes, None where nothing is to be done.
    writes     forward returns one more value for each, right before the residuals.
    """

    dynamic_slots: tuple[int, ...]
    hoisted: tuple[Hoisted, ...]
    assumptions: tuple[Assumption, ...]
    positions: tuple[int, ...] = ()
    weights: tuple[Any, ...] = ()
    structure: Any = None
    writes: tuple[Write, ...] = ()
    title: str = ""


__all__ = [
    "COMPLEX", "FLOAT", "ArrayType", "Assumption", "AttributeInput", "Compiled", "DictType",
    "GeneratedText", "Hoisted", "HookedSlot", "Item", "Laid", "ListType", "NeedValues",
    "PythonFunction", "Request", "ScalarType", "Slot", "StaticSlot", "TupleType", "Type", "Write",
    "get_item", "holds_arrays", "parse_type", "put_item", "special",
]  # fmt: skip
