"""Magnitude analysis: values that are neither tiny nor huge, so that products may be reordered.

``1 / s / s`` overflows if s is tiny, although no step of ``x / s / s`` does if x is as tiny. The
root of a sum with a number, the divisor of normalizations, has a safe magnitude.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from typing import Any

from autodiff_compiler.ir.nodes import Op, Region, Value, is_real_literal

#: The least number that is added under such a root.
LEAST = 1e-12
MOVES = ("reshape", "expand_dims", "squeeze", "broadcast_to", "index", "neg", "copy", "reciprocal")


def safe_magnitude_values(
    body: Region, known: Set[Value] = frozenset(), most: float = math.inf
) -> frozenset[Value]:
    """Collects the values in ``body`` of safe magnitude; ``known`` are some from outside.

    These are arrays filled with one number, and roots of a sum with a number of at most ``most``.
    Reciprocals and parts of these roots count, too.

    >>> import autodiff_compiler.operators
    >>> from autodiff_compiler.ir.parser import parse_function
    >>> made = parse_function('''
    ... func @f(%x: f32[2]) -> (f32[2]) {
    ...   %v: f32[2] = add %x, 0.1
    ...   %s: f32[2] = sqrt %v
    ...   %r: f32[2] = div 1, %s
    ...   %y: f32[2] = div %x, %s
    ...   return %r
    ... }
    ... ''')
    >>> sorted(value.name for value in safe_magnitude_values(made.body))
    ['r', 's']
    """
    guarded: set[Value] = set()
    safe = set(known)
    numbers: dict[Value, float] = {}
    for op in body.walk():
        number = _number(op, numbers)
        if number is not None and LEAST <= abs(number) <= 1 / LEAST:
            numbers[op.result] = number
            safe.add(op.result)
        added = [operand for operand in op.operands if is_real_literal(operand)]
        if op.name == "add" and any(LEAST <= number <= most for number in added):
            guarded.update(op.results)
        elif (
            _is_root(op)
            and op.operands[0] in guarded
            or _keeps_magnitude(op)
            and op.operands[-1] in safe
        ):
            safe.update(op.results)
    return frozenset(safe)


def _number(op: Op, numbers: Mapping[Value, float]) -> float | None:
    """Returns the number that fills an array, perhaps after arithmetic with numbers; else None."""
    if op.name in ("full", "full_like"):
        value = op.attrs["value"]
        return float(value) if is_real_literal(value) else None
    known: list[Any] = [numbers.get(o) if isinstance(o, Value) else o for o in op.operands]
    if op.name not in ("mul", "div", "neg") or not all(map(is_real_literal, known)):
        return None
    if op.name == "neg":
        return -float(known[0])
    a, b = map(float, known)
    return a * b if op.name == "mul" else a / b if b else None


def _is_root(op: Op) -> bool:
    return op.name in ("sqrt", "rsqrt") or op.name == "pow" and op.operands[1] in (0.5, -0.5)


def _keeps_magnitude(op: Op) -> bool:
    """True if the result has a safe magnitude if the last operand has."""
    only = len(op.operands) == 1 and op.name in MOVES
    return only or op.name == "div" and is_real_literal(op.operands[0])
