"""How two compile-time values become one where ways meet: the structure and the types of both.

A list of known items may meet one of another length; then both become lists of run-time length.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """A value that shows the structure of both, with run-time lists where their lists differ in
    length; None if there is none. ``is_list``: they are the contents of a list."""
    if has_same_structure(left, right):
        return left
    if (
        isinstance(left, DetachedContainer)
        and isinstance(right, DetachedContainer)
        and left.kind == right.kind
    ):
        inner = join_structure(left.contents, right.contents, left.kind == "list")
        return None if inner is None else DetachedContainer(left.kind, inner)
    if is_list:
        types = list_type(left), list_type(right)
        joined = None if None in types else join_types(*types)  # type: ignore[arg-type]
        return None if joined is None else Value(joined)
    if left is None or right is None or isinstance(left, MaybeNone) or isinstance(right, MaybeNone):
        bare = [side.value if isinstance(side, MaybeNone) else side for side in (left, right)]
        inner = (
            join_structure(*bare) if None not in bare else bare[1] if bare[0] is None else bare[0]
        )
        return MaybeNone(inner) if optional.can_be_optional(inner) else None
    keys: Sequence[Any] = ()
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        keys = range(len(left))
    elif isinstance(left, dict) and isinstance(right, dict) and list(left) == list(right):
        keys = list(left)
    items = {key: join_structure(left[key], right[key]) for key in keys}
    if not items or any(items[key] is None is not left[key] for key in keys):
        return None
    return items if isinstance(left, dict) else tuple(items.values())


def conform(value: Any, like: Any) -> Any:
    """``value`` with its lists ready to become run-time lists where ``like`` has such."""
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
    """The type of the contents of a list as a run-time list; None if the items differ in kind or
    are no values."""
    if isinstance(contents, Value):
        return contents.type if isinstance(contents.type, ListType) else None
    items = contents.items if isinstance(contents, PendingRuntimeList) else contents
    if not isinstance(items, tuple):  # lost on the way
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
        types = [_item_type(part) for part in item]
        return None if None in types else TupleType(tuple(types))  # type: ignore[arg-type]
    if isinstance(item, Value) and isinstance(item.type, ListType):
        return None  # two names of one list could not be told apart any more
    return type_of(item) if isinstance(item, (Value, *NUMBERS)) else None


def leaf_type(leaf: Any) -> Type | None:
    """The type of a leaf, also of a list that is about to become one of run-time length."""
    return list_type(leaf) if isinstance(leaf, PendingRuntimeList) else type_of(leaf)


def join_types(left: Type, right: Type) -> Type | None:
    """As ``types.join``, and dtypes join as in arithmetic: a number becomes an array if it meets
    one, also in tuples and lists. What is read after two ways meet has one dtype, whichever was
    taken."""
    if isinstance(left, TupleType) and isinstance(right, TupleType) and left != right:
        pairs = zip(left.items, right.items)
        items = [join_types(a, b) for a, b in pairs if len(left.items) == len(right.items)]
        return TupleType(tuple(items)) if items and None not in items else None  # type: ignore[arg-type]
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
    """``operand``, made an array of its dtype where ``type_`` is one, and a run-time list of known
    items, or of another's that are made such arrays."""
    if isinstance(operand, PendingRuntimeList):
        assert isinstance(type_, ListType)
        return current().make(make_list, [cast_item_to(x, type_.item) for x in operand.items], {})
    have = type_of(operand)
    if isinstance(type_, ArrayType) and isinstance(have, ArrayType):
        if type_.dtype not in (have.dtype, None):
            return cast(operand, dtype=type_.dtype)
        return operand
    if isinstance(type_, ArrayType) and isinstance(have, ScalarType):
        dtype = type_.dtype or "float64"
        if isinstance(operand, Value):
            return cast(operand, dtype=dtype)
        return full(shape=(), dtype=dtype, value=operand)
    if isinstance(type_, ListType) and isinstance(have, ListType) and join(have, type_) is None:
        return list_as(operand, type=str(type_.item))
    return operand


def cast_item_to(item: Any, type_: Type) -> AnyOperand:
    if isinstance(item, tuple) and isinstance(type_, TupleType):
        return make_container([cast_item_to(x, t) for x, t in zip(item, type_.items)])
    return cast_to(item, type_)
