"""Texts: what is known of one is put together now, the rest by forward, where it is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gast

from autodiff_compiler.frontend.core.assumptions import PLAIN
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
        spec, value = _formatted(low, part)
        if isinstance(value, Value):
            operands.append(value)
            pattern += f"{{:{spec}}}" if spec else "{}"
        else:
            known += value
            pattern += _escaped(value)
    return text(*operands, pattern=pattern, sign="format") if operands else known


def _formatted(low: Lowering, part: Any) -> tuple[str, Any]:
    """A part of an f-string: its text, or its format and a run-time value."""
    if not isinstance(part, gast.FormattedValue):
        return "", low.evaluate(part)
    value = low.evaluate(part.value)
    spec = "" if part.format_spec is None else low.static(
        low.evaluate(part.format_spec), "a format")  # fmt: skip
    if isinstance(value, Value) and part.conversion in (-1, 115):
        return spec, value
    shown = CONVERSIONS[part.conversion](printable(low, value))
    try:
        return spec, format(shown, spec)
    except (TypeError, ValueError) as error:
        raise low.translate(error, "this string formatting fails").meaning(error) from None


def string_operation(low: Lowering, sign: str, left: Any, right: Any) -> Any:
    """Joins strings, and fills in ``%``; NotImplemented for other operands."""
    if sign == "Mod" and isinstance(left, str):
        items = right if isinstance(right, tuple) else (right,)
        if any(isinstance(item, Value) for item in items):
            return text(*(_filling(low, item) for item in items), pattern=left, sign="%")
        return binary_operation(low, sign, left, printable(low, right))
    known = isinstance(left, str) and isinstance(right, str)
    if sign == "Add" and is_text(left) and is_text(right) and not known:
        return joined([left, right])
    return NotImplemented


def format_string(low: Lowering, pattern: str, items: Sequence[Any]) -> Any:
    """``pattern.format(*items)``."""
    return text(*(_filling(low, item) for item in items), pattern=pattern, sign="format")


def _filling(low: Lowering, item: Any) -> Any:
    return item if isinstance(item, (Value, *PLAIN)) else str(printable(low, item))


def joined(parts: Sequence[Any]) -> Value:
    """Texts, known and not, one after another."""
    operands = [part for part in parts if not isinstance(part, str)]
    pattern = "".join(_escaped(part) if isinstance(part, str) else "{}" for part in parts)
    return text(*operands, pattern=pattern, sign="format")


def _escaped(known: str) -> str:
    return known.replace("{", "{{").replace("}", "}}")
