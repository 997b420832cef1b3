"""The classes of things in compiled code: ``isinstance``, ``type`` and ``np.isscalar``."""

from __future__ import annotations

import functools
import types
from typing import Any, get_args

import numpy as np

from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import DTypeError
from autodiff_compiler.frontend.abstract.values import (
    Closure,
    ContainerMethod,
    DictView,
    HeapRef,
    InPlaceTensorMethod,
    LazyIterable,
    Partial,
    RuntimeRange,
    TensorMethod,
)
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.parameters import as_parameter
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import (
    SHAPE,
    STR,
    ArrayType,
    DictType,
    ListType,
    ScalarType,
    TupleType,
)

#: The Python classes of compile-time values.
PYTHON_CLASSES = {
    Closure: types.FunctionType,
    Partial: functools.partial,
    RuntimeRange: range,
    LazyIterable: object,
    TensorMethod: types.MethodType,
    InPlaceTensorMethod: types.MethodType,
    ContainerMethod: types.BuiltinMethodType,
}
#: Scalars of NumPy that an array without axes of an unknown dtype may stand for.
_ANY_SCALAR = (np.float64, np.float32, np.int64, np.bool_, np.complex128)


def _array_classes(low: Lowering, value: Value) -> tuple[type, ...]:
    """Returns the possible classes of an array of plain NumPy code. Without axes it is a NumPy
    scalar, unless it is known to be an array."""
    type_ = value.type
    assert isinstance(type_, ArrayType)
    memory = low.compilation.aliases
    stands = True if type_.ndim != 0 else memory.is_array(value)
    if stands:
        return (np.ndarray,)
    scalars = _ANY_SCALAR if type_.dtype is None else (np.dtype(type_.dtype).type,)
    return scalars if stands is False else (np.ndarray, *scalars)


def _classes_of(low: Lowering, value: Value) -> tuple[type, ...]:
    """Returns the possible classes of a run-time value."""
    if isinstance(value.type, ScalarType):
        return ({"int": int, "float": float, "bool": bool, "complex": complex}[value.type.kind],)
    if isinstance(value.type, (TupleType, ListType, DictType)):
        return ({TupleType: tuple, ListType: list, DictType: dict}[type(value.type)],)
    if value.type in (STR, SHAPE):
        return (str,) if value.type == STR else (tuple,)
    if low.compilation.numpy and isinstance(value.type, ArrayType):
        return _array_classes(low, value)
    if low.compilation.numpy:
        return (np.ndarray,)
    return (Parameter,) if as_parameter(low, value) is not None else (Tensor,)


def _single_answer(low: Lowering, answers: set[Any]) -> Any:
    """Returns the answer that holds for all possible classes of a value. Refuses several
    answers."""
    if len(answers) == 1:
        return answers.pop()
    raise low.fail(
        DTypeError,
        "whether this is a NumPy scalar or an array without axes is not known at compile time",
        "test np.ndim(x) == 0, or convert it first: float(x) or np.asarray(x)",
    )


def is_instance(low: Lowering, value: Any, kinds: Any) -> bool:
    """True if ``isinstance(value, kinds)``."""
    classes = kinds if isinstance(kinds, tuple) else (kinds,)
    while any(isinstance(kind, (tuple, types.UnionType)) for kind in classes):
        parts = (kind if isinstance(kind, tuple) else get_args(kind) for kind in classes)
        classes = tuple(one for kind, inner in zip(classes, parts) for one in inner or (kind,))
    if not all(isinstance(kind, type) for kind in classes):
        raise low.fail(
            DTypeError,
            "isinstance() takes a class, or a tuple of classes",
            "pass the class itself: isinstance(x, Tensor)",
        )
    if isinstance(value, Value):
        return bool(
            _single_answer(low, {issubclass(one, classes) for one in _classes_of(low, value)})
        )
    if isinstance(value, (HeapRef, DictView, *PYTHON_CLASSES)):
        return issubclass(class_of(low, value), classes)
    if isinstance(value, frozenset) and low.compilation.path(value) is None:
        answers = {issubclass(kind, classes) for kind in (set, frozenset)}
        if len(answers) == 2:
            raise low.fail(
                DTypeError,
                "compiled code does not distinguish a set from a frozenset",
                "test for both: isinstance(x, (set, frozenset))",
            )
    low.compilation.guard_type(value)
    return isinstance(value, classes)


def class_of(low: Lowering, value: Any) -> Any:
    """Returns ``type(value)``."""
    if isinstance(value, Value):
        return _single_answer(low, set(_classes_of(low, value)))
    if isinstance(value, HeapRef):
        kinds = {"list": list, "dict": dict, "iterator": type(iter(()))}
        return kinds.get(value.kind) or low.state.heap[value]["__class__"]
    if isinstance(value, LazyIterable):
        kinds = {"enumerate": enumerate, "zip": zip, "reversed": reversed}
        return kinds.get(value.kind, type(iter(())))
    if isinstance(value, DictView):
        return type(getattr({}, value.kind)())
    low.compilation.guard_type(value)
    return next(
        (kind for ours, kind in PYTHON_CLASSES.items() if isinstance(value, ours)), type(value)
    )


def is_scalar(low: Lowering, value: Any) -> bool:
    """True if ``np.isscalar(value)``."""
    kinds = (np.generic, bool, int, float, complex, str, bytes)
    return is_instance(low, value, kinds)
