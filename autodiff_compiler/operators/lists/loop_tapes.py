"""Lists that loops write and read, and the arrays whose rows they are.

The reverse of a loop that reads a list or an array collects a list of cotangents. These operators
give it the length and kind of the value that was read. They are each other's adjoints.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Hashable, Sequence
from typing import Any

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.ir.builder import read_type
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import SHAPE, ArrayType, DictType, Dim, ListType, TupleType, Type
from autodiff_compiler.operators.core.containers import item, shapeless_text, zero_text
from autodiff_compiler.operators.core.declare import same_type, zero_gradient
from autodiff_compiler.operators.core.structure import transpose


def _item(type_: Type) -> Type:
    if not isinstance(type_, ListType):
        raise DTypeError(f"a tape is a list, not a {type_}")
    return type_.item


list_pad = OpDef(
    "list_pad",
    "The list v, extended with zeros like the remaining items of the list or array x.",
    operands=("v", "x"),
    numpy=lambda types: (
        f"{{v}} + [{zero_text(_item(types[0]), 'a', 1)} for a in {{x}}[len({{v}}):]]"
    ),
    result=same_type,
    adjoint={"v": lambda ct, v: list_trim(ct, v), "x": lambda: None},
    linear_in=("v",),
    label="{v}",
)

list_trim: OpDef = OpDef(
    "list_trim",
    "The first items of the list x, as many as v has.",
    operands=("x", "v"),
    numpy="{x}[:len({v})]",
    result=same_type,
    adjoint={"x": lambda ct, x: list_pad(ct, x), "v": lambda: None},
    linear_in=("x",),
    label="{x}",
)


def _stack_rows_numpy(types: Sequence[Type], *, length: Dim) -> str:
    return "np.stack({v})" if len(types) == 1 else "np.stack({v}) if {v} else np.zeros_like({1})"


def _stack_rows_type(types: Sequence[Type], *, length: Dim) -> Type:
    row = _item(types[0])
    if not isinstance(row, ArrayType):
        raise DTypeError(f"a {row} is not a row of an array")
    return ArrayType(row.dtype, None if row.shape is None else (length, *row.shape))


stack_rows: OpDef = OpDef(
    "stack_rows",
    "The array whose rows are the items of v. The second operand, an array of that shape, is "
    "the result if there are no rows.",
    operands=("v", "*rest"),
    numpy=_stack_rows_numpy,
    result=_stack_rows_type,
    adjoint={"v": lambda ct: list_rows(ct), "*rest": lambda: None},
    linear_in=("v",),
    label="{v}_stacked",
    batch=lambda v, rest, length: None if rest else _swapped(stack_rows(v, length=length)),
)

list_rows: OpDef = OpDef(
    "list_rows",
    "The rows of an array, as a list.",
    operands=("x",),
    numpy="list({x})",
    result=lambda types: ListType(read_type(types[0])),
    adjoint={"x": lambda ct, x: rows_like(ct, x)},
    linear_in=("x",),
    label="{x}_rows",
    batch=lambda x: list_rows(_swapped(x)),
)


def _swapped(x: Value) -> Value:
    """Returns the first two axes exchanged: the examples' and the rows'."""
    assert isinstance(x.type, ArrayType) and x.type.shape is not None
    return transpose(x, perm=(1, 0, *range(2, len(x.type.shape))))


def rows_like(rows: Value, x: Value) -> Value:
    """Returns the array with these rows, in the shape of ``x`` even if there are none."""
    assert isinstance(x.type, ArrayType)
    length = x.type.shape[0] if x.type.shape else None
    rest = () if isinstance(length, int) and length > 0 else (x,)
    return stack_rows(rows, *rest, length=length)


def _part_type(types: Sequence[Type], *, path: Sequence[Hashable]) -> Type:
    type_ = types[0]
    for key in path:
        type_ = item.result((type_,), key=key)
    return type_


def _zeros_if_set_numpy(types: Sequence[Type], *, path: Sequence[Hashable]) -> str:
    type_ = _part_type(types, path=path)
    if type_ == SHAPE:
        return "()"
    steps = ["{x}"]
    for key in path:
        steps.append(f"{steps[-1]}[{key!r}]")
    is_set = " and ".join(f"{step} is not None" for step in steps)
    zero = zero_text(type_, steps[-1], unset=True)
    return f"{zero} if {is_set} else {shapeless_text(type_)}"


zeros_if_set = zero_gradient(
    "zeros_if_set",
    "The zero cotangent of the part of a value at path; a plain zero if it is unset.",
    numpy=_zeros_if_set_numpy,
    result=_part_type,
)


def ones_text(type_: Type, text: str, depth: int = 0) -> str:
    """Returns the NumPy text of a sensitivity of ones for the value that ``text`` names."""
    if isinstance(type_, ListType):
        name = "abcdefgh"[depth]
        return f"[{ones_text(type_.item, name, depth + 1)} for {name} in {text}]"
    if isinstance(type_, (TupleType, DictType)):
        keys: Sequence[Any] = type_.keys if isinstance(type_, DictType) else range(len(type_.items))
        parts = [ones_text(t, f"{text}[{k!r}]", depth) for k, t in zip(keys, type_.items)]
        if isinstance(type_, DictType):
            return "{{" + ", ".join(f"{k!r}: {p}" for k, p in zip(keys, parts)) + "}}"
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    return f"np.ones_like({text})" if isinstance(type_, ArrayType) else "1.0"


list_ones = zero_gradient(
    "list_ones",
    "Ones for every item of a list: the sensitivity of an output that is a list.",
    numpy=lambda types: ones_text(types[0], "{x}"),
    result=same_type,
    batch="items",
)
