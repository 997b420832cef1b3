"""Containers of arrays: their leaves, their skeletons, and their reconstruction from both.

Tuples, lists and dicts are containers, and so are named tuples, dataclasses that hold arrays, and
the classes of ``register_container``. Leaves are arrays, Tensors, floats, and values of a function
that is being compiled. A *skeleton* is the rest of a container: a pytree definition with the
constants in it.
"""

from __future__ import annotations

__macro__ = True

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_compiler.common.mutable import Mutable, plain_kind
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ir.nodes import Value

#: ``flatten`` and ``unflatten`` of each registered class: ``flatten(object)`` is (parts, rest),
#: and ``unflatten(rest, parts)`` is an object.
_REGISTERED: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {}

_LEAVES = (Tensor, np.ndarray, np.generic, float, complex, Value)
_PLAIN = (int, bool, str, bytes, type(None))
_BUILTIN = (tuple, list, dict)


def register_container(
    cls: type,
    flatten: Callable[[Any], tuple[Sequence[Any], Any]],
    unflatten: Callable[[Any, Sequence[Any]], Any],
) -> type:
    """Registers a class whose objects are containers: arguments and results like tuples and dicts.

    flatten     ``flatten(object)`` returns a tuple of the object's parts, and the rest of it: a
                hashable value that has no gradient.
    unflatten   ``unflatten(rest, parts)`` returns an object.

    Both are compiled where a compiled function takes or returns such an object. Dataclasses and
    named tuples need no registration. Returns the class. Raises TypeError for anything but a class
    and two functions.
    """
    if not isinstance(cls, type):
        raise TypeError(f"register_container takes a class, but got {cls!r}")
    for function in (flatten, unflatten):
        if not callable(function):
            raise TypeError(f"flatten and unflatten should be callable, but got {function!r}")
    _REGISTERED[cls] = flatten, unflatten
    return cls


def registered(cls: Any) -> tuple[Callable[[Any], Any], Callable[[Any, Any], Any]] | None:
    """Returns ``flatten`` and ``unflatten`` of a registered class."""
    return _REGISTERED.get(cls) if isinstance(cls, type) else None


def is_named_tuple(cls: Any) -> bool:
    """True if a class is a named tuple."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_record(cls: Any) -> bool:
    """True if objects of a class are containers other than tuples, lists and dicts."""
    if cls in _REGISTERED or is_named_tuple(cls):
        return True
    plain = isinstance(cls, type) and not hasattr(cls, "construct")
    return plain and dataclasses.is_dataclass(cls)


@dataclass(frozen=True)
class Leaf:
    """The place of a leaf in a skeleton."""


@dataclass(frozen=True, eq=False)
class Known:
    """A constant part of a skeleton: it is no leaf and has none."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and self._name == other._name

    def __hash__(self) -> int:
        return hash(self._name)

    @property
    def _name(self) -> tuple[Any, ...]:
        if type(self.value) in _PLAIN:
            return type(self.value), self.value
        return type(self.value), id(self.value)


@dataclass(frozen=True)
class Node:
    """A container: its class, the names of its parts or None, the parts, and the rest of it."""

    kind: type
    keys: tuple[Any, ...] | None
    parts: tuple[Any, ...]
    rest: Any = None
    #: Makes 1 differ from True among the names and the rest, and 0.0 from -0.0.
    kinds: Any = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", _kinds((self.keys, self.rest)))


def _kinds(thing: Any) -> Any:
    if type(thing) is tuple:
        return tuple(map(_kinds, thing))
    return type(thing), repr(thing) if type(thing) is float else None


LEAF = Leaf()


def skeleton_of(value: Any, leaves: list[Any]) -> Any:
    """Returns the skeleton of a value, and appends its leaves to ``leaves``, left to right."""
    if isinstance(value, _LEAVES):
        leaves.append(value)
        return LEAF
    if not _is_container(value):
        return Known(value)
    kind, keys, parts, rest = _taken_apart(value)
    return Node(kind, keys, tuple(skeleton_of(part, leaves) for part in parts), rest)


def fill_skeleton(
    skeleton: Any, leaves: Iterator[Any], known: Callable[[Any], Any] | None = None
) -> Any:
    """Returns a container of a skeleton and leaves; ``known`` maps its constant parts."""
    if isinstance(skeleton, Leaf):
        return next(leaves)
    if isinstance(skeleton, Known):
        return skeleton.value if known is None else known(skeleton.value)
    return rebuild(skeleton, [fill_skeleton(part, leaves, known) for part in skeleton.parts])


def rebuild(node: Node, parts: Sequence[Any]) -> Any:
    """Returns a container like ``node`` with the given parts."""
    kind = node.kind
    if kind in _REGISTERED:
        return _REGISTERED[kind][1](node.rest, tuple(parts))
    if kind is dict:
        return dict(zip(node.keys or (), parts))
    if is_named_tuple(kind):
        return kind(*parts)
    if kind in (tuple, list):
        return kind(parts)
    thing: Any = object.__new__(kind)
    for name, part in zip(node.keys or (), parts):
        object.__setattr__(thing, name, part)
    return thing


def holds_records(value: Any) -> bool:
    """True if the value holds a container with leaves that is no tuple, list or dict."""
    kind = plain_kind(value)
    if kind in _BUILTIN:
        items = value.values() if kind is dict else value
        return any(type(item) not in _LEAVES and holds_records(item) for item in items)
    return is_record(kind) and bool(leaves_of(value))


def leaves_of(value: Any) -> list[Any]:
    """Returns the leaves of a value, left to right."""
    leaves: list[Any] = []
    skeleton_of(value, leaves)
    return leaves


def children(skeleton: Any) -> Iterator[tuple[str, Any]]:
    """Yields the parts of a skeleton, each with its accessor: ``.w``, ``[0]``, ``['b']``."""
    if not isinstance(skeleton, Node):
        return
    record = is_record(skeleton.kind) and skeleton.keys is not None
    for number, part in enumerate(skeleton.parts):
        key = number if skeleton.keys is None else skeleton.keys[number]
        yield (f".{key}" if record else f"[{key!r}]"), part


def _is_container(value: Any) -> bool:
    kind = plain_kind(value)
    return kind in _BUILTIN or is_record(kind)


def _taken_apart(value: Any) -> tuple[type, tuple[Any, ...] | None, Sequence[Any], Any]:
    kind = value.kind if isinstance(value, Mutable) else type(value)
    if kind in _REGISTERED:
        parts, rest = _REGISTERED[kind][0](value)
        return kind, None, tuple(parts), rest
    if kind is dict:
        return kind, tuple(value), tuple(value.values()), None
    if is_named_tuple(kind):
        return kind, tuple(value._fields), tuple(value), None
    if kind in (tuple, list):
        return kind, None, tuple(value), None
    names = tuple(f.name for f in dataclasses.fields(kind) if hasattr(value, f.name))
    state = getattr(value, "__dict__", None)
    if isinstance(state, Mapping):  # attributes that __post_init__ has stored
        names = (*names, *(name for name in state if name not in names))
    return kind, names, tuple(getattr(value, name) for name in names), None


__all__ = [
    "LEAF",
    "Known",
    "Leaf",
    "Node",
    "children",
    "fill_skeleton",
    "holds_records",
    "is_named_tuple",
    "is_record",
    "leaves_of",
    "rebuild",
    "register_container",
    "registered",
    "skeleton_of",
]
