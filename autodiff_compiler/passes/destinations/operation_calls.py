"""The calls that an operation is made of, each of which can be told where to put its result.

What they are is read off the template (``template_calls``). ``assign_buffers`` says where each of
them puts what it makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autodiff_compiler.ir.nodes import AnyOperand, Op, Value, type_of
from autodiff_compiler.ir.types import FLOAT, INT, ArrayType, Type
from autodiff_compiler.operators.core.declare import broadcast_shapes
from autodiff_compiler.operators.destination_ops import empty, filled, into
from autodiff_compiler.passes.destinations.template_calls import (
    IntermediateRef,
    Operand,
    TemplateCall,
    calls_of,
)

#: What is not written over its own operand: NumPy's loop takes several numbers at a time only where
#: it writes to other memory, and is nine times as fast there.
ALONE = (np.sign,)
WEAK: dict[Type, type] = {INT: int, FLOAT: float}


@dataclass(frozen=True)
class DestinationCall:
    """One call: its text, arguments and result; if it is done ``in_place`` it may write over an
    argument, and where it needs ``memory`` that must be there, lent or not."""

    text: str
    arguments: tuple[AnyOperand, ...]
    result: Value
    in_place: bool
    memory: bool = False


def destination_calls(op: Op) -> list[DestinationCall]:
    """The calls that ``op`` is made of, if it is made of such calls alone."""
    plan = calls_of(op)
    made: list[DestinationCall] = []
    for number, step in enumerate(plan):
        arguments = tuple(
            made[a.number].result if isinstance(a, IntermediateRef)
            else op.operands[a.place] if isinstance(a, Operand) else a
            for a in step.arguments
        )  # fmt: skip
        bare = step.ufunc is None or step.floats
        type_ = op.result.type if bare else result_of(step, arguments)
        last = number == len(plan) - 1
        if type_ is None or last and type_ != op.result.type:
            return []
        result = op.result if last else Value(type_, op.result.name, op.result.has_user_name)
        single = step.ufunc is not None or op.opdef.kind == "elementwise" and len(plan) == 1
        in_place = (single or step.runs) and step.ufunc not in ALONE
        made.append(DestinationCall(step.text, arguments, result, in_place, bool(step.floats)))
    return made


def fill_in_place(op: Op, text: str, target: Value) -> list[Op]:
    """An array of one number, in memory that is there, or made anew by ``text``."""
    type_, name, given = op.result.type, op.result.name, op.result.has_user_name
    whole, done = Value(type_, name, given), Value(type_, name, given)
    begun = replace(op, opdef=into, operands=(target,), attrs={"text": text}, results=(whole,))
    fill = {"text": "{1}.fill({0})"}
    return [
        begun,
        replace(begun, operands=(op.attrs["value"], whole), attrs=fill, results=(done,)),
        replace(op, opdef=filled, operands=(done, whole), attrs={}),
    ]


def allocate_text(type_: Type) -> str:
    """The text of an array that is made anew where none is lent."""
    assert isinstance(type_, ArrayType)
    made = empty.template((), {"shape": type_.shape, "dtype": type_.dtype})
    return f"{made} if {{0}} is None else {{0}}"


def result_of(step: TemplateCall, arguments: Sequence[AnyOperand]) -> Type | None:
    """The type that NumPy gives the result of a ufunc, where it is sure."""
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
    ufunc: Any = step.ufunc  # the stubs of NumPy 2.0 do not declare resolve_dtypes
    assert ufunc is not None
    try:
        found = ufunc.resolve_dtypes((*dtypes, None))[-1]
    except TypeError:
        return None
    shape = broadcast_shapes(shapes)
    return ArrayType(found.name, shape) if shape else None
