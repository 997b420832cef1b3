"""A compile-time value as one operand, as the generated source holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.frontend.values import (
    NUMBERS,
    Iteration,
    Perhaps,
    Poisoned,
    PoisonTouched,
    Ref,
    Unset,
    View,
)
from autodiff_compiler.ir.build import current
from autodiff_compiler.ir.nodes import AnyOperand, Value
from autodiff_compiler.operators.containers import make_dict, make_tuple


def pack(value: Any, heap: Mapping[Ref, Any]) -> AnyOperand:
    """One operand that holds a compile-time value, made with the active builder.

    Raises DTypeError for what generated source cannot hold (a function, a Cell).
    """
    if isinstance(value, Ref) and value.kind == "iterator" or isinstance(value, Iteration):
        raise DTypeError(
            "an iterator cannot be a value of the generated source", "return and pass a list of it"
        )
    if isinstance(value, Ref):
        value = heap[value]
    if isinstance(value, dict) and "__class__" in value:
        raise DTypeError(
            f"an object '{value['__class__'].__name__}' cannot be a value of the generated source",
            "return and pass its attributes, in a tuple or dict",
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
    if isinstance(value, Poisoned):
        raise PoisonTouched
    if isinstance(value, Perhaps):
        raise DTypeError(
            "this is None on one way and a value on the other, which no one type holds",
            "test it with 'is None', and give both ways a value",
        )
    if isinstance(value, View):
        raise DTypeError(
            f"the {value.kind}() of a dict cannot be a value of the generated source",
            f"return and pass a list of them: list(d.{value.kind}())",
        )
    raise DTypeError(
        f"a {type(value).__name__} cannot be a value of the generated source",
        "return and pass tensors, numbers, strings, None, and tuples, lists or dicts of these",
    )


def make_container(items: list[AnyOperand], keys: tuple[Any, ...] | None = None) -> Value:
    """A tuple, or with ``keys`` a dict, also where all items are literals."""
    opdef, attrs = (make_tuple, {}) if keys is None else (make_dict, {"keys": keys})
    return current().make(opdef, items, attrs)
