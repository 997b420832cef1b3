"""The NumPy calls that an operation consists of, each with operands, result and destination.

``template_calls`` reads the calls off the template. ``assign_buffers`` chooses the destinations.
Destination-passing style: each call gets the array that it writes to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Op, Value, type_of
from autodiff_compiler.ir.types import FLOAT, INT, ArrayType, Type
from autodiff_compiler.operators.core.declare import broadcast_shapes
from autodiff_compiler.operators.destination_ops import after_write, compute_into, empty
from autodiff_compiler.passes.destinations.template_calls import (
    IntermediateRef,
    Operand,
    TemplateCall,
    calls_of,
)

#: Functions that do not overwrite their operand: NumPy's loop is vectorised only where it writes to
#: other memory, and is nine times as fast there.
NOT_IN_PLACE = (np.sign,)
#: The Python types by which NumPy promotes numbers without a dtype.
WEAK: dict[Type, type] = {INT: int, FLOAT: float}
#: Kinds of operators whose single call may be given a destination.
FITTING = ("elementwise", "bilinear")


@dataclass(frozen=True)
class DestinationCall:
    """A NumPy call with its text, arguments and result.

    in_place       the call may overwrite an argument
    needs_memory   the destination must be allocated before the call, in a workspace or not
    """

    text: str
    arguments: tuple[AnyOperand, ...]
    result: Value
    in_place: bool
    needs_memory: bool = False


def destination_calls(op: Op) -> list[DestinationCall]:
    """Returns the calls that ``op`` consists of, or none if it does anything else as well."""
    calls = calls_of(op)
    results: list[DestinationCall] = []
    for number, call in enumerate(calls):
        arguments = tuple([_argument(each, op, results) for each in call.arguments])
        takes_type = call.ufunc is None or call.viewed_dtype
        type_ = op.result.type if takes_type else result_of(call, arguments)
        is_last = number == len(calls) - 1
        if type_ is None or is_last and type_ != op.result.type:
            return []
        result = op.result
        if not is_last:
            result = Value(type_, op.result.name, op.result.has_user_name)
        single = call.ufunc is not None or op.opdef.kind == "elementwise" and len(calls) == 1
        in_place = (single or call.is_scan) and call.ufunc not in NOT_IN_PLACE
        needs_memory = bool(call.viewed_dtype)
        results.append(DestinationCall(call.text, arguments, result, in_place, needs_memory))
    return results


def _argument(each: Any, op: Op, results: Sequence[DestinationCall]) -> AnyOperand:
    """Returns the value of an argument of a template's call, or the number that it is."""
    if isinstance(each, IntermediateRef):
        return results[each.number].result
    argument: AnyOperand = op.operands[each.place] if isinstance(each, Operand) else each
    return argument


def fill_in_place(op: Op, text: str, target: Value) -> list[Op]:
    """Returns the operations that fill ``target``, or the new array of ``text``, with a number."""
    type_, name, given = op.result.type, op.result.name, op.result.has_user_name
    array, written = Value(type_, name, given), Value(type_, name, given)
    allocate = replace(
        op, opdef=compute_into, operands=(target,), attrs={"text": text}, results=(array,)
    )
    fill = {"text": "{1}.fill({0})"}
    return [
        allocate,
        replace(allocate, operands=(op.attrs["value"], array), attrs=fill, results=(written,)),
        replace(op, opdef=after_write, operands=(written, array), attrs={}),
    ]


def allocate_text(type_: Type) -> str:
    """Returns the text of an array that is allocated where no buffer is given."""
    assert isinstance(type_, ArrayType)
    allocation = empty.template((), {"shape": type_.shape, "dtype": type_.dtype})
    return f"{allocation} if {{0}} is None else {{0}}"


def result_of(call: TemplateCall, arguments: Sequence[AnyOperand]) -> Type | None:
    """Returns the type that NumPy gives the result of a ufunc, or None where it is unknown."""
    dtypes: list[Any] = []
    shapes = []
    for argument in arguments:
        type_ = type_of(argument)
        if isinstance(type_, ArrayType) and type_.is_static:
            dtypes.append(np.dtype(type_.dtype))
            shapes.append(type_.shape)
        elif type_ in WEAK:
            dtypes.append(WEAK[type_])
        else:
            return None
    ufunc: Any = call.ufunc  # the stubs of NumPy 2.0 do not declare resolve_dtypes
    assert ufunc is not None
    try:
        result_dtype = ufunc.resolve_dtypes((*dtypes, None))[-1]
    except TypeError:
        return None
    shape = broadcast_shapes(shapes)
    return ArrayType(result_dtype.name, shape) if shape else None


def accepts_destination(op: Op) -> bool:
    """True if ``op`` is a single call that can write its result to a given array."""
    if op.opdef.views or op.opdef.kind not in FITTING:
        return False
    calls, type_ = calls_of(op), op.result.type
    if len(calls) != 1 or not isinstance(type_, ArrayType) or type_.dtype == "bfloat16":
        return False
    if not type_.shape:
        return False  # a row of an array without axes is a number, and no memory to write to
    return calls[0].ufunc is None or result_of(calls[0], _call_arguments(op)) == type_


def _call_arguments(op: Op) -> list[AnyOperand]:
    (call,) = calls_of(op)
    return [_argument(each, op, ()) for each in call.arguments]


def build_with_destination(
    builder: Builder, op: Op, target: Value, contiguous: bool = False
) -> Value:
    """Adds the call that writes the result of ``op`` to ``target``.

    Only ``contiguous`` says that the elements of the target follow one another in memory; else it
    may be a slice or a transpose.
    """
    text = calls_of(op)[0].text
    if not contiguous:
        text = without_order(text)
    with builder.at(op.span, op.role):
        builder.make(compute_into, (*_call_arguments(op), target), {"text": text})
    builder.ops[-1] = replace(builder.ops[-1], results=op.results)
    return op.result


def without_order(text: str) -> str:
    """Returns the text of a call that may write to a slice: ``np.dot`` writes to whole arrays."""
    return text.replace("np.dot(", "np.matmul(")
