"""Effects of a function: printing, asserting, raising.

The forward function has them, once and in order; the backward function never has. They have no
result, hence no derivative.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from typing import Any

from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import STR, Type
from autodiff_compiler.operators.core.declare import placeholders


def _nothing(types: Sequence[Type], **attrs: Any) -> tuple[()]:
    return ()


print_values = OpDef(
    "print",
    "Prints the operands, with print's sep and end.",
    operands=("*rest",),
    numpy=lambda types, *, settings: (
        f"print({', '.join(filter(None, (placeholders(types), settings)))})"
    ),
    result=_nothing,
    kind="effect",
    effect=True,
)

assert_true = OpDef(
    "assert",
    "Asserts the first operand; the second, if there is one, is the message.",
    operands=("*rest",),
    numpy=lambda types: f"assert {placeholders(types)}",
    result=_nothing,
    kind="effect",
    effect=True,
)

raise_error = OpDef(
    "raise",
    "Raises the built-in exception that the attribute error names, with the operands as arguments.",
    operands=("*rest",),
    numpy=lambda types, *, error: f"raise {error}({placeholders(types)})",
    result=_nothing,
    kind="effect",
    effect=True,
)

require = OpDef(
    "require",
    "Computes the operand, which may raise an exception; the result is not used.",
    operands=("x",),
    numpy="{x}",
    result=_nothing,
    kind="effect",
    effect=True,
)


def _text(types: Sequence[Type], *, pattern: str, sign: str) -> str:
    if not types:
        return repr(pattern.format()).replace("{", "{{").replace("}", "}}")
    quoted = repr(pattern).replace("{", "{{").replace("}", "}}")
    many = placeholders(types) + ("," if len(types) == 1 and sign == "%" else "")
    return f"{quoted} % ({many})" if sign == "%" else f"{quoted}.format({many})"


text = OpDef(
    "text",
    "A string with the operands in its placeholders, formatted by ``format`` or by %.",
    operands=("*rest",),
    numpy=_text,
    result=lambda types, *, pattern, sign: STR,
    kind="effect",
)


def _called_numpy(types: Sequence[Type], *, gives: Sequence[Type]) -> str:
    arguments = ", ".join(f"{{{position}}}" for position in range(1, len(types)))
    return f"{{0}}({arguments})"


def _called_type(types: Sequence[Type], *, gives: Sequence[Type]) -> Any:
    return gives[0] if len(gives) == 1 else tuple(gives)


python_hook = OpDef(
    "python_hook",
    "The result of a call of a Python function. The function is an input; the other operands "
    "are its arguments.",
    operands=("*rest",),
    numpy=_called_numpy,
    result=_called_type,
    kind="effect",
    effect=True,
    label="hooked",
)
