"""Eager execution of operators on the arrays inside tensors.

An operator definition's own type rule and NumPy template are used. A program therefore has the
same results and the same errors, compiled or not.
"""

from __future__ import annotations

__macro__ = True

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_compiler.common.tensor_data import cast, to_array
from autodiff_compiler.ir.opdef import PRECISION, OpDef, value_type
from autodiff_compiler.ir.types import (
    SHAPE,
    ArrayType,
    DictType,
    TupleType,
    Type,
    rounds_to_bfloat16,
)

#: The classes of Python's numbers. Of such an argument, a kernel's key has the class alone.
NUMBERS = frozenset((bool, int, float, complex))
#: The only operator between a tensor and a list; MindSpore refuses the others.
_CONVERTS_SEQUENCES = ("add",)


def apply(opdef: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Computes the result of ``opdef``: arrays, plain numbers, or containers of them."""
    if _is_arithmetic(opdef, operands):
        operands = _arithmetic_operands(opdef, operands)
    if any(isinstance(operand, np.ndarray) for operand in operands):
        raise _refused(opdef, operands)
    plain = [_unwrap(operand) for operand in operands]
    if "ml_dtypes" in sys.modules and opdef.rounds(types := tuple(map(operand_type, plain))):
        return _in_single(opdef, plain, types, attrs)
    return _computed(opdef, plain, attrs)


def _in_single(opdef: OpDef, plain: list, types: Sequence[Type], attrs: Mapping[str, Any]) -> Any:
    """Computes on bfloat16 operands in float32, and rounds the results."""
    wide = [
        value.astype(np.float32) if getattr(type_, "dtype", None) == "bfloat16" else value
        for value, type_ in zip(plain, types)
    ]
    wide_results = _computed(opdef, wide, attrs)

    def narrow(result: Any) -> Any:
        single = getattr(result, "dtype", None) == np.float32
        return result.astype("bfloat16") if single else result

    if not rounds_to_bfloat16(types):
        return wide_results
    return (
        tuple(map(narrow, wide_results))
        if isinstance(wide_results, tuple)
        else narrow(wide_results)
    )


def _computed(opdef: OpDef, plain: list, attrs: Mapping[str, Any]) -> Any:
    if opdef.promote is not None:
        wanted = opdef.promote(tuple(map(operand_type, plain)), **attrs)
        plain = [_promoted(value, name) for value, name in zip(plain, wanted, strict=True)]
    types = tuple(map(operand_type, plain))
    result_type = opdef.result_type(types, attrs)
    with np.errstate(all="ignore"):
        try:
            result = opdef.evaluate(*plain, types=types, **attrs)
        except OverflowError:
            # A Python int that does not fit wraps around, as it does for arrays.
            wrapped = [_wrapped_around(value, result_type) for value in plain]
            result = opdef.evaluate(*wrapped, types=types, **attrs)
    return copy_if_shared(result, plain)


def operand_type(value: Any) -> Type:
    """Returns the IR type of a plain value; a tuple of ints is a shape."""
    if isinstance(value, (tuple, list)):
        if isinstance(value, tuple) and all(type(item) is int for item in value):
            return SHAPE
        return TupleType(tuple(map(operand_type, value)))
    if isinstance(value, dict):
        return DictType(tuple(value), tuple(map(operand_type, value.values())))
    return value_type(value)


def _unwrap(operand: Any) -> Any:
    if hasattr(operand, "asnumpy"):
        array = operand.asnumpy()
        doubled = PRECISION.double and array.dtype == np.float32
        return array.astype(np.float64) if doubled else array
    if isinstance(operand, np.generic):
        return operand.item()
    if isinstance(operand, (int, float, complex)):
        return _plain_number(operand)
    if isinstance(operand, (tuple, list)):
        return type(operand)(map(_unwrap, operand))
    if isinstance(operand, dict):
        return {key: _unwrap(value) for key, value in operand.items()}
    return operand


def _plain_number(number: Any) -> Any:
    """Returns a number of Python's own class: NumPy takes one of a subclass for a float64 array."""
    if type(number) in NUMBERS:
        return number
    if isinstance(number, int):
        return int(number)
    return float(number) if isinstance(number, float) else complex(number)


def _promoted(value: Any, name: str | None) -> Any:
    return value if name is None or not isinstance(value, np.ndarray) else cast(value, name)


def _wrapped_around(value: Any, type_: Any) -> Any:
    if type(value) is int and isinstance(type_, ArrayType) and type_.dtype is not None:
        return np.array(value).astype(type_.dtype)
    return value


def copy_if_shared(result: Any, operands: Sequence[Any]) -> Any:
    """Copies ``result`` if it shares memory: a write to a result must never change an operand."""
    if isinstance(result, (tuple, list)):
        return type(result)(copy_if_shared(item, operands) for item in result)
    if not isinstance(result, np.ndarray):
        return result
    if not result.flags.writeable:
        return result.copy()
    for operand in operands:
        if isinstance(operand, np.ndarray) and np.may_share_memory(result, operand):
            return result.copy()
    return result


def _is_arithmetic(opdef: OpDef, operands: Sequence[Any]) -> bool:
    """True if both operands must be numbers: in products and in operators that promote them."""
    elementwise = opdef.kind in ("elementwise", "zero") and opdef.promote is not None
    return len(operands) == 2 and (elementwise or opdef.kind == "bilinear")


def _arithmetic_operands(opdef: OpDef, operands: Sequence[Any]) -> list[Any]:
    """Returns operands of arithmetic as tensors and numbers; raises TypeError for others."""
    numbers = []
    for operand in operands:
        if isinstance(operand, (list, tuple)) and opdef.name in _CONVERTS_SEQUENCES:
            numbers.append(_Array(to_array(operand)))
        elif hasattr(operand, "asnumpy") or isinstance(operand, (int, float, complex, np.generic)):
            numbers.append(operand)
        else:
            raise _refused(opdef, operands)
    return numbers


class _Array:
    """A tensor of a converted list; bare arrays are refused as operands."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def asnumpy(self) -> np.ndarray:
        return self.array


def _refused(opdef: OpDef, operands: Sequence[Any]) -> TypeError:
    title = opdef.name.title().replace("_", "")
    names = [opdef.operand_name(position) for position in range(len(operands))]
    if len(names) == 2:
        names = ["input", "other"]
    given = ", ".join(f"{name}={_kind(operand)}" for name, operand in zip(names, operands))
    return TypeError(
        f'Failed calling {title} with "{title}()({given})". '
        "An operand must be a Tensor or a number."
    )


def _kind(operand: Any) -> str:
    if hasattr(operand, "asnumpy"):
        return "Tensor"
    kinds = {str: "string", type(None): "None", np.ndarray: "numpy.ndarray"}
    return kinds.get(type(operand), type(operand).__name__)
