"""What the compiler is told of an argument: the type of a value, or the type that a text names."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_compiler.common.mutable import plain_kind
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.common.tensor_data import objection_to
from autodiff_compiler.errors import CallError
from autodiff_compiler.interface import Laid, Slot, StaticSlot
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
from autodiff_compiler.runtime.arguments import holds

_NUMBERS = {int: INT, float: FLOAT, complex: COMPLEX}


def abstract(value: Any) -> Type | StaticSlot:
    """What the compiler is told of an argument: a type, or the value where that must be known.

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
    """The type of a container with arrays in it; other items must be numbers, strings or None."""
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
    """Return what ``abstract`` does; a string is the text of a type, and a ``StaticSlot`` stays."""
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


def laid(slot: Slot, value: Any) -> Slot:
    """Return a slot with the layout of the array that stands there: None where elements of it
    share memory, as those of ``np.broadcast_to`` do. The text ``f64[]`` stands for an array, and
    for no scalar of NumPy's."""
    if isinstance(value, str) and isinstance(slot, ArrayType) and slot.ndim == 0:
        return Laid(slot, "C")
    if not isinstance(slot, ArrayType) or not isinstance(value, np.ndarray):
        return slot
    if value.flags.c_contiguous or value.flags.f_contiguous:
        return Laid(slot, "C" if value.flags.c_contiguous else "F")
    whole = all(stride and stride % value.itemsize == 0 for stride in value.strides)
    return Laid(slot, value.strides if whole else None)


__all__ = ["abstract", "laid", "slot_of"]
