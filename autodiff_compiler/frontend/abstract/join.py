"""Joins of two compile-time values where paths join: the structure and the types of both.

A list of known items may be joined with one of another length: both become run-time lists.
"""

from __future__ import annotations

from typing import Any

from autodiff_compiler.frontend.abstract import optional
from autodiff_compiler.frontend.abstract.packing import make_container
from autodiff_compiler.frontend.abstract.values import (
    NUMBERS,
    DetachedContainer,
    MaybeNone,
    PendingRuntimeList,
    has_same_structure,
)
from autodiff_compiler.ir.builder import current
from autodiff_compiler.ir.nodes import AnyOperand, Value, type_of
from autodiff_compiler.ir.types import (
    UNDEFINED,
    ArrayType,
    ListType,
    ScalarType,
    TupleType,
    Type,
    join,
)
from autodiff_compiler.operators.core.containers import make_list
from autodiff_compiler.operators.core.declare import arithmetic_dtype
from autodiff_compiler.operators.core.structure import cast, full
from autodiff_compiler.operators.lists.runtime_lists import list_as


def join_structure(left: Any, right: Any, is_list: bool = False) -> Any:
    """Returns a value with the structure of both, or None if there is none.

    Lists that differ in length become a run-time list. ``is_list``: the two are contents of lists.
    """
    if has_same_structure(left, right):
        return left
    if isinstance(left, DetachedContainer) and isinstance(right, DetachedContainer):
        return _join_containers(left, right)
    if is_list:
        return _join_lists(left, right)
    if any(side is None or isinstance(side, MaybeNone) for side in (left, right)):
        return _join_optional(left, right)
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        return _join_items(left, right)
    if isinstance(left, dict) and isinstance(right, dict) and list(left) == list(right):
        items = _join_items(tuple(left.values()), tuple(right.values()))
        return None if items is None else dict(zip(left, items))
    return None


def _join_containers(left: DetachedContainer, right: DetachedContainer) -> Any:
    if left.kind != right.kind:
        return None
    inner = join_structure(left.contents, right.contents, left.kind == "list")
    return None if inner is None else DetachedContainer(left.kind, inner)


def _join_lists(left: Any, right: Any) -> Value | None:
    """Returns a run-time list with the item type of both."""
    one, other = list_type(left), list_type(right)
    joined = None if one is None or other is None else join_types(one, other)
    return None if joined is None else Value(joined)


def _join_optional(left: Any, right: Any) -> MaybeNone | None:
    """Returns an optional value, where one of the two may be None."""
    one, other = (side.value if isinstance(side, MaybeNone) else side for side in (left, right))
    if one is None or other is None:
        inner = other if one is None else one
    else:
        inner = join_structure(one, other)
    return MaybeNone(inner) if optional.can_be_optional(inner) else None


def _join_items(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Returns the structures of pairs of items. An item is None only where both are None."""
    items = tuple(map(join_structure, left, right))
    if not items or any(item is None is not mine for item, mine in zip(items, left)):
        return None
    return items


def conform(value: Any, like: Any) -> Any:
    """Returns ``value`` with its lists ready to become run-time lists where ``like`` has them."""
    if isinstance(like, MaybeNone):
        bare = value.value if isinstance(value, MaybeNone) else value
        return MaybeNone(
            optional.none_like(like.value) if bare is None else conform(bare, like.value)
        )
    if isinstance(value, tuple):
        if isinstance(like, Value) and isinstance(like.type, ListType):
            return PendingRuntimeList(value)
        if isinstance(like, tuple) and len(like) == len(value):
            return tuple(map(conform, value, like))
    if isinstance(value, DetachedContainer) and isinstance(like, DetachedContainer):
        return DetachedContainer(value.kind, conform(value.contents, like.contents))
    if isinstance(value, dict) and isinstance(like, dict):
        return {key: conform(item, like.get(key)) for key, item in value.items()}
    return value


def list_type(contents: Any) -> ListType | None:
    """Returns the type of a run-time list with these contents, or None.

    There is none if the items differ in kind, or are no values.
    """
    if isinstance(contents, Value):
        return contents.type if isinstance(contents.type, ListType) else None
    items = contents.items if isinstance(contents, PendingRuntimeList) else contents
    if not isinstance(items, tuple):  # the list is lost
        return None
    joined: Type | None = UNDEFINED
    for item in items:
        type_ = _item_type(item)
        if type_ is None or joined is None:
            return None
        joined = join_types(joined, type_)
    return None if joined is None else ListType(joined)


def _item_type(item: Any) -> Type | None:
    if type(item) is tuple:
        types = [type_ for type_ in map(_item_type, item) if type_ is not None]
        return TupleType(tuple(types)) if len(types) == len(item) else None
    if isinstance(item, Value) and isinstance(item.type, ListType):
        return None  # an item would share the list with its name
    return type_of(item) if isinstance(item, (Value, *NUMBERS)) else None


def leaf_type(leaf: Any) -> Type | None:
    """Returns the type of a leaf, also of a list that is about to become a run-time list."""
    return list_type(leaf) if isinstance(leaf, PendingRuntimeList) else type_of(leaf)


def join_types(left: Type, right: Type) -> Type | None:
    """Joins types as ``types.join``, with the dtypes of arithmetic.

    A number becomes an array if it is joined with one, also in tuples and lists. The outcome has
    one dtype, whichever path was taken.
    """
    if isinstance(left, TupleType) and isinstance(right, TupleType) and left != right:
        if len(left.items) != len(right.items):
            return None
        items = [item for item in map(join_types, left.items, right.items) if item is not None]
        return TupleType(tuple(items)) if len(items) == len(left.items) else None
    if isinstance(left, ListType) and isinstance(right, ListType):
        item = join_types(left.item, right.item)
        return None if item is None else ListType(item)
    arrays = [type_ for type_ in (left, right) if isinstance(type_, ArrayType)]
    if not arrays or not all(isinstance(t, (ArrayType, ScalarType)) for t in (left, right)):
        return join(left, right)
    dtype = arithmetic_dtype((left, right))
    shapes = [getattr(type_, "shape", ()) for type_ in (left, right)]
    return join(*(ArrayType(dtype, shape) for shape in shapes))


def cast_to(operand: Any, type_: Type) -> AnyOperand:
    """Returns ``operand`` as an array of this dtype, or as a run-time list of such items.

    A value of another kind is returned as it is.
    """
    result: AnyOperand = operand
    if isinstance(operand, PendingRuntimeList):
        assert isinstance(type_, ListType)
        items = [cast_item_to(item, type_.item) for item in operand.items]
        result = current().make(make_list, items, {})
        return result
    have = type_of(operand)
    if isinstance(type_, ArrayType) and isinstance(have, ArrayType):
        if type_.dtype not in (have.dtype, None):
            result = cast(operand, dtype=type_.dtype)
    elif isinstance(type_, ArrayType) and isinstance(have, ScalarType):
        dtype = type_.dtype or "float64"
        if isinstance(operand, Value):
            result = cast(operand, dtype=dtype)
        else:
            result = full(shape=(), dtype=dtype, value=operand)
    elif isinstance(type_, ListType) and isinstance(have, ListType) and join(have, type_) is None:
        result = list_as(operand, type=str(type_.item))
    return result


def cast_item_to(item: Any, type_: Type) -> AnyOperand:
    if isinstance(item, tuple) and isinstance(type_, TupleType):
        return make_container([cast_item_to(x, t) for x, t in zip(item, type_.items)])
    return cast_to(item, type_)
