"""Strings: known parts are joined at compile time, run-time parts by the generated function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gast

from autodiff_compiler.frontend.core.guards import PLAIN
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.expressions.arithmetic import binary_operation
from autodiff_compiler.frontend.expressions.attributes import printable
from autodiff_compiler.frontend.expressions.comparisons import is_text
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.operators.core.effects import text

#: The ``!r``, ``!s`` and ``!a`` of an f-string, by the parser's codes.
CONVERSIONS: dict[int, Callable[[Any], Any]] = {-1: lambda v: v, 115: str, 114: repr, 97: ascii}


def evaluate_joined_str(low: Lowering, node: Any) -> Any:
    pattern, known, operands = "", "", []
    for part in node.values:
        spec, value = _format_part(low, part)
        if isinstance(value, Value):
            operands.append(value)
            pattern += f"{{:{spec}}}" if spec else "{}"
        else:
            known += value
            pattern += _escaped(value)
    return text(*operands, pattern=pattern, sign="format") if operands else known


def _format_part(low: Lowering, part: Any) -> tuple[str, Any]:
    """Returns a part of an f-string: its format and its string or run-time value."""
    if not isinstance(part, gast.FormattedValue):
        return "", low.evaluate(part)
    value = low.evaluate(part.value)
    spec = ""
    if part.format_spec is not None:
        spec = low.static(low.evaluate(part.format_spec), "a format")
    if isinstance(value, Value) and part.conversion in (-1, 115):
        return spec, value
    shown = CONVERSIONS[part.conversion](printable(low, value))
    try:
        return spec, format(shown, spec)
    except (TypeError, ValueError) as error:
        raise low.translate(error, "this string formatting fails").meaning(error) from None


def string_operation(low: Lowering, sign: str, left: Any, right: Any) -> Any:
    """Returns ``left sign right`` for a string on the left: joined, or filled in by ``%``."""
    if sign == "Mod" and isinstance(left, str):
        items = right if isinstance(right, tuple) else (right,)
        if any(isinstance(item, Value) for item in items):
            return text(*(_as_text_operand(low, item) for item in items), pattern=left, sign="%")
        return binary_operation(low, sign, left, printable(low, right))
    known = isinstance(left, str) and isinstance(right, str)
    if sign == "Add" and is_text(left) and is_text(right) and not known:
        return concatenate_strings([left, right])
    return binary_operation(low, sign, left, right)


def format_string(low: Lowering, pattern: str, items: Sequence[Any]) -> Any:
    """Returns ``pattern.format(*items)``."""
    return text(*(_as_text_operand(low, item) for item in items), pattern=pattern, sign="format")


def _as_text_operand(low: Lowering, item: Any) -> Any:
    return item if isinstance(item, (Value, *PLAIN)) else str(printable(low, item))


def concatenate_strings(parts: Sequence[Any]) -> Value:
    """Returns the concatenation of known and run-time strings."""
    operands = [part for part in parts if not isinstance(part, str)]
    pattern = "".join(_escaped(part) if isinstance(part, str) else "{}" for part in parts)
    return text(*operands, pattern=pattern, sign="format")


def _escaped(known: str) -> str:
    """Returns a string as a pattern of ``str.format``."""
    return known.replace("{", "{{").replace("}", "}}")
