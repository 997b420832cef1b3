"""Tuples, dicts and lists of values. A cotangent has its primal's structure."""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from typing import Any

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.ir.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    STR,
    UNDEFINED,
    ArrayType,
    DictType,
    ListType,
    TupleType,
    Type,
    carries_cotangent,
    join,
)
from autodiff_compiler.operators.core.declare import placeholders, same_type, zero_gradient
from autodiff_compiler.operators.core.structure import zeros_like


def _tuple_text(types: Sequence[Type]) -> str:
    return f"({placeholders(types)},)" if len(types) == 1 else f"({placeholders(types)})"


make_tuple = OpDef(
    "make_tuple",
    "A tuple of the operands.",
    operands=("*rest",),
    numpy=_tuple_text,
    result=lambda types: TupleType(tuple(types)),
    kind="container",
)

make_dict = OpDef(
    "make_dict",
    "A dict of the operands under the attribute keys.",
    operands=("*rest",),
    numpy=lambda types, *, keys: (
        "{{" + ", ".join(f"{key!r}: {{{position}}}" for position, key in enumerate(keys)) + "}}"
    ),
    result=lambda types, *, keys: DictType(tuple(keys), tuple(types)),
    kind="container",
)


def _item_type(types: Sequence[Type], *, key: Any) -> Type:
    (container,) = types
    if isinstance(container, TupleType):
        return container.items[key]
    if isinstance(container, DictType):
        return container.items[container.keys.index(key)]
    raise DTypeError(f"a value of type {container} has no items")


item = OpDef(
    "item",
    "The item of a tuple or dict under a compile-time key.",
    operands=("x",),
    numpy="{x}[{key}]",
    result=_item_type,
    kind="container",
    label="{x}_{key} item",
)


def _list_type(types: Sequence[Type]) -> Type:
    joined: Type | None = UNDEFINED
    for type_ in types:
        joined = None if joined is None else join(joined, type_)
    if joined is None:
        raise DTypeError(
            "a list whose length is known only when the function runs must hold items of one type"
        )
    return ListType(joined)


make_list = OpDef(
    "make_list",
    "A list of run-time length with the given first items.",
    operands=("*rest",),
    numpy=lambda types: f"[{placeholders(types)}]",
    result=_list_type,
    kind="container",
    linear_in=("*rest",),
)


def _item_of(types: Sequence[Type]) -> Type:
    if not isinstance(types[0], ListType):
        raise DTypeError(f"indexing needs a list, not a {types[0]}")
    return types[0].item


list_item = OpDef(
    "list_item",
    "The item of a list at a run-time position.",
    operands=("x", "at"),
    numpy="{x}[{at}]",
    result=_item_of,
    kind="general",
    linear_in=("x",),
    adjoint={"x": lambda ct, x, at: OPERATORS["list_add_at"](list_zeros(x), ct, at)},
    label="{x}_item",
    batch="items",
)

list_length = zero_gradient(
    "list_length",
    "The number of items of a list.",
    numpy="len({x})",
    result=lambda types: INT,
    batch="items",
)

list_zeros: OpDef = zero_gradient(
    "list_zeros",
    "The zero cotangent of a list.",
    numpy=lambda types: zero_text(types[0], "{x}"),
    result=same_type,
    batch="items",
)

list_add = OpDef(
    "list_add",
    "The elementwise sum of two lists of equal length.",
    operands=("a", "b"),
    numpy=lambda types: add_text(types[0], "{a}", "{b}"),
    result=same_type,
    kind="general",
    adjoint={"a": lambda ct: ct, "b": lambda ct: ct},
    linear_in=("a", "b"),
    batch="items",
)


#: The zeros of numbers and strings. Shapes and None have no zero, and stay.
NUMBER_ZEROS: dict[Type, str] = {BOOL: "False", INT: "0", FLOAT: "0.0", COMPLEX: "0j", STR: "''"}


def zero_text(type_: Type, text: str, depth: int = 0, unset: bool = False) -> str:
    """Returns the NumPy text of the zero cotangent of the value that ``text`` names.

    With ``unset`` the items of a list, and their parts, may be None. Their zeros then have no
    shape.
    """

    def inner(type_: Type, text: str, depth: int) -> str:
        zero = zero_text(type_, text, depth, unset)
        return f"{zero} if {text} is not None else {shapeless_text(type_)}" if unset else zero

    if isinstance(type_, ListType):
        name = "abcdefgh"[depth]
        return f"[{inner(type_.item, name, depth + 1)} for {name} in {text}]"
    if isinstance(type_, (TupleType, DictType)):
        keys = type_.keys if isinstance(type_, DictType) else range(len(type_.items))
        parts = [inner(t, f"{text}[{k!r}]", depth) for k, t in zip(keys, type_.items)]
        return like_text(type_, parts)
    if isinstance(type_, ArrayType):
        return f"np.zeros_like({text})"
    return NUMBER_ZEROS.get(type_, text)


def like_text(type_: TupleType | DictType, parts: Sequence[str]) -> str:
    """Returns the text of a tuple or dict of these parts."""
    if isinstance(type_, DictType):
        return "{{" + ", ".join(f"{k!r}: {p}" for k, p in zip(type_.keys, parts)) + "}}"
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def shapeless_text(type_: Type) -> str:
    """Returns the text of a zero for a value that is not set.

    It is never part of a result, but it may be added to another value. Its dtype is the smallest,
    so that the sum keeps the other one's.
    """
    if isinstance(type_, (TupleType, DictType)):
        return like_text(type_, [shapeless_text(item) for item in type_.items])
    return "[]" if isinstance(type_, ListType) else "np.int8(0)"


def add_text(type_: Type, left: str, right: str, depth: int = 0) -> str:
    """Returns the NumPy text of the sum of two cotangents of one structure."""
    if isinstance(type_, ListType):
        a, b = f"a{depth or ''}", f"b{depth or ''}"
        inner = add_text(type_.item, a, b, depth + 1)
        return f"[{inner} for {a}, {b} in zip({left}, {right})]"
    if isinstance(type_, (TupleType, DictType)):
        keys = type_.keys if isinstance(type_, DictType) else range(len(type_.items))
        parts = [
            add_text(t, f"{left}[{k!r}]", f"{right}[{k!r}]", depth)
            for k, t in zip(keys, type_.items)
        ]
        return like_text(type_, parts)
    return f"{left} + {right}" if carries_cotangent(type_) else left


def zero_of(value: Any) -> Any:
    """Returns the zero cotangent of a value of any structure."""
    type_ = value.type if isinstance(value, Value) else None
    if isinstance(type_, TupleType):
        return make_tuple(*(zero_of(item(value, key=k)) for k in range(len(type_.items))))
    if isinstance(type_, DictType):
        return make_dict(*(zero_of(item(value, key=k)) for k in type_.keys), keys=type_.keys)
    if isinstance(type_, ListType):
        return list_zeros(value)
    return zeros_like(value)


def add_cotangents(left: Any, right: Any) -> Any:
    """Returns the sum of two cotangents of one array, number or list."""
    if isinstance(left, Value) and isinstance(left.type, ListType):
        return list_add(left, right)
    return left + right
