"""Containers as arguments: functions of them become functions of their leaves, and results are put
back.

``Flat`` is a function called with the leaves of its arguments. A transform that takes arrays and
numbers therefore takes containers of them, of every kind in ``common/structures.py``.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Container, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from autodiff_compiler.common.mutable import Mutable
from autodiff_compiler.common.structures import (
    LEAF,
    Known,
    Leaf,
    Node,
    children,
    fill_skeleton,
    holds_records,
    is_named_tuple,
    is_record,
    leaves_of,
    skeleton_of,
)
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import CallError
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import is_floating
from autodiff_compiler.ops.transforms.transformed import Transformed, caller, unwrapped

_BUILTIN = (tuple, list, dict)


class Flat(Transformed):
    """``fn`` as a function of the leaves of its arguments.

    skeletons   one for each argument, those by keyword last; ``keywords`` are their names.
    """

    suffix, phrase = "", ""
    takes_its_arguments = False

    def __init__(self, fn: Any, skeletons: Sequence[Any], keywords: Sequence[str] = ()):
        self.fn, self.skeletons = unwrapped(fn), tuple(skeletons)
        self.keywords = tuple(keywords)
        self.double = bool(getattr(fn, "double", False)) if isinstance(fn, Transformed) else False
        #: The values that are no leaves, in order.
        self.known = tuple(_known(self.skeletons))

    @property
    def key(self) -> tuple[Any, ...]:
        """Returns the settings that decide the code, besides ``fn`` and the arguments."""
        return self.skeletons, self.keywords, self.double

    def held_objects(self) -> Sequence[Any]:
        return self.known

    def names(self, inner: Sequence[str]) -> list[str]:
        """Returns the names of leaves, made of their paths: ``p_w``, ``p_0``."""
        return [_identifier(path) for path in self.paths(inner)]

    def paths(self, inner: Sequence[str]) -> list[str]:
        """Returns the paths of the leaves, where the arguments are called ``inner``."""
        count = len(self.skeletons) - len(self.keywords)
        row = [*inner[:count], *(f"arg{n}" for n in range(len(inner), count)), *self.keywords]
        return [path for name, each in zip(row, self.skeletons) for path in paths(name, each)]

    def arguments(self, leaves: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Returns the arguments of ``fn`` that have these leaves."""
        row = iter(leaves)
        arguments = [fill_skeleton(skeleton, row) for skeleton in self.skeletons]
        count = len(arguments) - len(self.keywords)
        return arguments[:count], dict(zip(self.keywords, arguments[count:]))

    def called(self, leaves: Sequence[Any]) -> Any:
        """Runs ``fn`` itself, as Python."""
        args, kwargs = self.arguments(leaves)
        method = getattr(self.fn, "construct", self.fn)
        return method(*args, **kwargs)

    def is_leaf(self, slot: int) -> bool:
        """True if an argument was no container."""
        return isinstance(self.skeletons[slot], Leaf)

    def places(self, slot: int) -> range:
        """Returns the places of the leaves of an argument."""
        before = sum(_count(skeleton) for skeleton in self.skeletons[:slot])
        return range(before, before + _count(self.skeletons[slot]))

    def gradients(self, slots: Sequence[int], by_place: Mapping[int, Any]) -> list[Any]:
        """Returns containers like some arguments, of what was found at the places of leaves."""
        return [self.regrouped(n, [by_place.get(k, 0) for k in self.places(n)]) for n in slots]

    def grouped(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Returns containers like all arguments, of a value for each leaf."""
        return tuple(
            self.regrouped(slot, [leaves[place] for place in self.places(slot)])
            for slot in range(len(self.skeletons))
        )

    def regrouped(self, slot: int, leaves: Sequence[Any]) -> Any:
        """Returns a container like an argument of these leaves: of gradients. A whole number has
        none: 0; what is no number stays what it is."""
        return fill_skeleton(self.skeletons[slot], iter(leaves), _nothing)


def flattened(
    fn: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] = MappingProxyType({}),
    wanted: Container[int] = (),
) -> tuple[Flat, tuple[Any, ...]] | None:
    """Returns ``fn`` as a function of leaves, and the leaves of a call. Containers are taken apart
    in the ``wanted`` slots, and everywhere if Python does not have their kind itself. Returns None
    if there are none.
    """
    slots = (*args, *kwargs.values()) if kwargs else tuple(args)
    are_flattened = [_needs(slot) or n in wanted and _is_any(slot) for n, slot in enumerate(slots)]
    return _by_leaves(fn, slots, tuple(kwargs), are_flattened) if any(are_flattened) else None


def by_leaves(
    fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Flat, tuple[Any, ...]]:
    """Returns ``fn`` as a function of leaves, all given by position, and the leaves of a call."""
    slots = (*args, *kwargs.values())
    return _by_leaves(fn, slots, tuple(kwargs), [*map(_is_any, slots)])


def _by_leaves(
    fn: Any, slots: Sequence[Any], keywords: tuple[str, ...], are_flattened: Sequence[bool]
) -> tuple[Flat, tuple[Any, ...]]:
    leaves: list[Any] = []
    skeletons = []
    for slot, taken in zip(slots, are_flattened):
        if not taken:
            leaves.append(slot)
        skeletons.append(skeleton_of(slot, leaves) if taken else LEAF)
    return Flat(fn, skeletons, keywords), tuple(leaves)


def directions_like(like: Any, given: Any, place: str = "") -> list[Any]:
    """Returns the leaves of a tangent, which has the structure of its primal. Where the primal has
    no leaf, nothing is looked at."""
    skeleton = skeleton_of(like, [])
    if isinstance(skeleton, Leaf):
        return [given]
    if not isinstance(skeleton, Node):
        return []
    directions: list[Any] = []
    other = skeleton_of(given, [])
    same = isinstance(other, Node) and (other.kind, other.keys) == (skeleton.kind, skeleton.keys)
    if caller() is not None and isinstance(
        other, Node
    ):  # in compiled code a list from outside is a tuple
        same |= {other.kind, skeleton.kind} == {tuple, list}
    if not same or len(other.parts) != len(skeleton.parts):
        raise CallError(
            f"the tangent{place and f' for {place}'} should be a {skeleton.kind.__name__} like "
            f"its input, but got a {type(given).__name__}",
            "give one of the same class, with the same keys and the same number of items",
        )
    row, theirs = [*parts(like)], [*parts(given)]
    for (path, _), one, another in zip(children(skeleton), row, theirs):
        directions += directions_like(one, another, f"{place}{path}")
    return directions


def paths(name: str, skeleton: Any) -> Iterator[str]:
    """Returns the paths to the leaves of a skeleton: ``p.w``, ``p[0]``."""
    if isinstance(skeleton, Leaf):
        yield name
    for path, part in children(skeleton):
        yield from paths(f"{name}{path}", part)


def parts(value: Any) -> Iterator[Any]:
    """Yields the parts of a container, each a container or a leaf; nothing of any other value."""
    leaves: list[Any] = []
    skeleton = skeleton_of(value, leaves)
    row = iter(leaves)
    for part in skeleton.parts if isinstance(skeleton, Node) else ():
        yield fill_skeleton(part, row)


def _needs(slot: Any) -> bool:
    kind = type(slot)
    if kind in _BUILTIN or isinstance(slot, Mutable):
        return holds_records(slot)
    return is_record(kind) and holds_records(slot)


def _is_any(slot: Any) -> bool:
    kind = type(slot)
    container = kind in _BUILTIN or isinstance(slot, Mutable) or is_record(kind)
    return container and bool(leaves_of(slot))


def _known(skeletons: Sequence[Any]) -> Iterator[Any]:
    for skeleton in skeletons:
        if isinstance(skeleton, Known):
            yield skeleton.value
        elif isinstance(skeleton, Node):
            yield from _known(skeleton.parts)


def _count(skeleton: Any) -> int:
    if isinstance(skeleton, Node):
        return sum(map(_count, skeleton.parts))
    return int(isinstance(skeleton, Leaf))


def _nothing(value: Any) -> Any:
    return 0 if isinstance(value, int) and not isinstance(value, bool) else value


def _identifier(path: str) -> str:
    """Returns ``p['w'][0]`` as a name: ``p_w_0``."""
    words = "".join(char if char.isalnum() else " " for char in path).split()
    return "_".join(words)


def is_active(leaf: Any) -> bool:
    """True if there is a gradient in a leaf."""
    if isinstance(leaf, Value):
        return is_floating(leaf.type)
    array = leaf._data if isinstance(leaf, Tensor) else leaf
    if isinstance(array, (np.ndarray, np.generic)):
        return array.dtype.kind in "fcV"  # "V": bfloat16
    return isinstance(array, (float, complex))


def plain(value: Any) -> Any:
    """Returns a container as tuples, lists and dicts: as its type tells."""
    skeleton = skeleton_of(value, [])
    if not isinstance(skeleton, Node):
        return value
    items = [plain(part) for part in parts(value)]
    if skeleton.keys is None or is_named_tuple(skeleton.kind):
        return items if skeleton.kind is list else tuple(items)
    if skeleton.kind is not dict:  # only numbers are part of the type
        has_leaves = [bool(leaves_of(part)) for part in parts(value)]
        return {key: part for key, part, has in zip(skeleton.keys, items, has_leaves) if has}
    return dict(zip(skeleton.keys, items))


__all__ = [
    "Flat",
    "by_leaves",
    "directions_like",
    "flattened",
    "is_active",
    "leaves_of",
    "parts",
    "paths",
    "plain",
]
