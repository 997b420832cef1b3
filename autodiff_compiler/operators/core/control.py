"""The operators with regions, and calls. The builder types them; the transforms handle them.

They are operator definitions so that every ``Op`` has one, and so that text and verifier know their
names.
"""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import BOOL, UNDEFINED, Type


def _typed_by_builder(types: Any, **attrs: Any) -> Any:
    raise AssertionError("control flow is typed where it is built")


def _control(name: str, doc: str, operands: tuple[str, ...]) -> OpDef:
    return OpDef(name, doc, operands, "", _typed_by_builder, kind="control")


if_ = _control("if", "Runs one of two regions; both yield the same number of values.", ("pred",))
for_ = _control(
    "for", "Runs a region for each index of a range. Ports as in nodes.Loop.", ("*rest",)
)
while_ = _control(
    "while", "Runs a region as long as a test holds. Ports as in nodes.Loop.", ("*rest",)
)
call = _control(
    "call",
    "Calls the function in the attribute callee. If the attribute recompute is present, "
    "backward rematerialises the forward values that it reads.",
    ("*rest",),
)
grad = _control(
    "grad",
    "The cotangents of some operands of a call. Attributes: callee; wrt, the positions of "
    "these operands; sens, True if the last operand is the cotangent of the output (otherwise "
    "ones); value, True if the results begin with the results of the callee; pull, optional, "
    "the number of the call that this pullback belongs to.",
    ("*rest",),
)

custom_rule = _control(
    "custom_rule",
    "Gives values a custom derivative. The results are the last operands, one each. "
    "Attributes: rule, a function from the other operands, the results and their cotangents to "
    "the cotangents of some operands; wrt, the positions of these operands.",
    ("*rest",),
)


jvp = _control(
    "jvp",
    "A call and its tangent: the results of the callee, and the tangents of the results in "
    "outputs. The operands are those of the call, followed by the tangents of the operands in "
    "wrt. Attributes: callee; wrt; outputs.",
    ("*rest",),
)


vmap = _control(
    "vmap",
    "Calls the callee for every example of a batch. Arrays of mapped operands, and of the "
    "results, have one more axis, the first, for the examples. Attributes: callee; mapped, a "
    "bool for each operand; size, the number of examples or None.",
    ("*rest",),
)


def _undefined(types: Any) -> Type:
    return UNDEFINED


undefined = OpDef(
    "undefined",
    "A variable that is not set yet.",
    operands=(),
    numpy="None",
    result=_undefined,
    kind="zero",
)

is_unset = OpDef(
    "is_unset",
    "True if a variable is unset on the path that was taken.",
    operands=("x",),
    numpy="{x} is None",
    result=lambda types: BOOL,
    kind="zero",
    label="{x}_is_unset",
)
