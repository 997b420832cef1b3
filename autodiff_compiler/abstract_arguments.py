"""Arguments for the compiler: their types, from values or strings, and their names."""

from __future__ import annotations

import inspect
from collections.abc import Container, Mapping
from typing import Any

import numpy as np

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.mutable import plain_kind
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.common.tensor_data import objection_to
from autodiff_compiler.errors import CallError
from autodiff_compiler.interface.compiled import ArraySlot, Slot, StaticSlot
from autodiff_compiler.ir.types import (
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    ArrayType,
    DictType,
    TupleType,
    Type,
    parse_type,
    type_of_array,
    type_of_literal,
)
from autodiff_compiler.ops.transforms.transformed import Transformed, unwrapped
from autodiff_compiler.runtime.arguments import holds

_NUMBERS = {int: INT, float: FLOAT, complex: COMPLEX}


def abstract(value: Any) -> Type | StaticSlot:
    """Returns the type of an argument, or the value itself if the compiler must know that.

    >>> print(abstract(np.ones((2, 3))), abstract(4), abstract("same"))
    f64[2,3] int StaticSlot(value='same')
    """
    if isinstance(value, Tensor):
        return type_of_array(value._data)
    if isinstance(value, (np.ndarray, np.generic)):
        if (objection := objection_to(value)) is not None:
            raise CallError(*objection)
        return type_of_array(value)
    if plain_kind(value) in _NUMBERS:
        return _NUMBERS[plain_kind(value)]
    return _container(value) if holds(value, Tensor, np.ndarray) else StaticSlot(value)


def _container(value: Any) -> Type:
    """Returns the type of a container of arrays. Other items are numbers, strings or None."""
    if isinstance(value, dict):
        return DictType(tuple(value), tuple(map(_item, value.values())))
    return TupleType(tuple(map(_item, value)))


def _item(value: Any) -> Type:
    type_ = abstract(value)
    if isinstance(type_, StaticSlot):
        try:
            return type_of_literal(type_.value)
        except TypeError:
            kind, numbers = type(value).__name__, holds(value, int, float, complex)
            raise CallError(
                f"a {kind} {'of numbers ' if numbers else ''}is in the same container as tensors",
                "make it an array: np.array(...)" if numbers else "pass it as a separate argument",
            ) from None
    return type_


def slot_of(given: Any) -> Type | StaticSlot:
    """Returns the slot of a value, of the text of a type, or of a ``StaticSlot``."""
    if isinstance(given, StaticSlot):
        return given
    if not isinstance(given, str):
        return abstract(given)
    try:
        type_ = parse_type(given)
    except ValueError as error:
        cure = "give a string argument its value with functools.partial(f, name='...')"
        raise ValueError(f"{error}; {cure}") from None
    return StaticSlot(None) if type_ == NONE else type_


def with_layout(slot: Slot, value: Any) -> Slot:
    """Returns a slot with the memory layout of the array that is passed in it.

    The layout is None if elements share memory, as those of ``np.broadcast_to`` do. The text
    ``f64[]`` stands for an array, not for a scalar of NumPy.
    """
    if isinstance(value, str) and isinstance(slot, ArrayType) and slot.ndim == 0:
        return ArraySlot(slot, "C")
    if not isinstance(slot, ArrayType) or not isinstance(value, np.ndarray):
        return slot
    if value.flags.c_contiguous or value.flags.f_contiguous:
        return ArraySlot(slot, "C" if value.flags.c_contiguous else "F")
    separate = all(stride and stride % value.itemsize == 0 for stride in value.strides)
    return ArraySlot(slot, value.strides if separate else None)


# ---- names of arguments


def _parameters(fn: Any) -> list[inspect.Parameter]:
    method = unwrapped(fn.construct if isinstance(fn, Cell) else fn)
    while isinstance(method, Transformed):
        if not method.takes_its_arguments:
            return []
        method = unwrapped(method.fn.construct if isinstance(method.fn, Cell) else method.fn)
    try:
        return [*inspect.signature(method).parameters.values()]
    except (TypeError, ValueError):
        return []  # written in C


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def required(fn: Any, keywords: Container[str] = ()) -> list[str]:
    """Returns the names of required positional arguments that ``keywords`` does not give."""
    return [
        p.name
        for p in _parameters(fn)
        if p.kind in _POSITIONAL and p.default is p.empty and p.name not in keywords
    ]


def missing_keywords(fn: Any, keywords: Mapping[str, Any]) -> list[str]:
    """Returns the names of required keyword-only arguments that ``keywords`` does not give."""
    return [
        p.name
        for p in _parameters(fn)
        if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name not in keywords
    ]


def argument_names(fn: Any, count: int | None = None) -> list[str]:
    """Returns the names of the positional arguments of ``fn``, or of the first ``count`` of them.

    Arguments that ``*args`` takes have numbers for names.
    """
    names = [p.name for p in _parameters(fn) if p.kind in _POSITIONAL]
    if count is None:
        return names
    return [*names, *(f"#{n}" for n in range(len(names), count))][:count]


def keyword_names(fn: Any) -> list[str]:
    """Returns the names of the keyword-only arguments of ``fn``."""
    return [p.name for p in _parameters(fn) if p.kind is p.KEYWORD_ONLY]


__all__ = [
    "abstract",
    "argument_names",
    "keyword_names",
    "missing_keywords",
    "required",
    "slot_of",
    "with_layout",
]
