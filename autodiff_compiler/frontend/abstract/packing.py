"""Packing: a compile-time value as one operand, as the generated source holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.frontend.abstract.values import (
    NUMBERS,
    DictView,
    HeapRef,
    LazyIterable,
    MaybeNone,
    Poison,
    Unset,
    UsesPoison,
)
from autodiff_compiler.ir.builder import current
from autodiff_compiler.ir.nodes import AnyOperand, Value
from autodiff_compiler.operators.core.containers import make_dict, make_tuple


def pack(value: Any, heap: Mapping[HeapRef, Any]) -> AnyOperand:
    """Returns an operand that holds a compile-time value, made with the active builder.

    Raises DTypeError if generated source cannot hold the value (a function, a Cell).
    """
    if isinstance(value, HeapRef) and value.kind == "iterator" or isinstance(value, LazyIterable):
        raise DTypeError(
            "generated code cannot hold an iterator as a value",
            "use a list instead: list(iterator)",
        )
    if isinstance(value, HeapRef):
        value = heap[value]
    if isinstance(value, dict) and "__class__" in value:
        raise DTypeError(
            "generated code cannot hold an object of class "
            f"'{value['__class__'].__name__}' as a value",
            "return or pass its attributes, in a tuple or dict",
        )
    if isinstance(value, Value) or value is None or isinstance(value, (*NUMBERS, str)):
        return value
    if isinstance(value, (tuple, list)):
        return make_container([pack(item, heap) for item in value])
    if isinstance(value, dict):
        items = [pack(item, heap) for item in value.values()]
        return make_container(items, tuple(value))
    if isinstance(value, Unset):
        raise DTypeError(value.cause, value.cure)
    if isinstance(value, Poison):
        raise UsesPoison
    if isinstance(value, MaybeNone):
        raise DTypeError(
            "this is None in one branch and a value in the other",
            "test it with 'is None' first, or assign a value in both branches",
        )
    if isinstance(value, DictView):
        raise DTypeError(
            f"generated code cannot hold the {value.kind}() of a dict as a value",
            f"use a list instead: list(d.{value.kind}())",
        )
    raise DTypeError(
        f"generated code cannot hold a {type(value).__name__} as a value",
        "return or pass tensors, numbers, strings, None, or tuples, lists and dicts of these",
    )


def make_container(items: list[AnyOperand], keys: tuple[Any, ...] | None = None) -> Value:
    """Returns a tuple, or with ``keys`` a dict, also where all items are literals."""
    opdef, attrs = (make_tuple, {}) if keys is None else (make_dict, {"keys": keys})
    container: Value = current().make(opdef, items, attrs)
    return container
