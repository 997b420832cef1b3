"""Which values are neither tiny nor huge: what may be multiplied in any order.

``1 / s / s`` overflows where s is tiny, though no step of ``x / s / s`` does if x is as tiny. Of
the root of a sum with a number, such as normalizations divide by, enough is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from typing import Any

from autodiff_compiler.ir.nodes import AnyOperand, Op, Region, Value

#: The least number that is added under such a root.
LEAST = 1e-12
MOVES = ("reshape", "expand_dims", "squeeze", "broadcast_to", "index", "neg", "copy", "reciprocal")


def safe_magnitude_values(
    body: Region, known: Set[Value] = frozenset(), most: float = math.inf
) -> frozenset[Value]:
    """The values in ``body`` that are the root of a sum with a number, ``most`` at most, one over
    it, or a part of it, and arrays of one number; ``known`` are some of those around.

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
    raised: set[Value] = set()
    found = set(known)
    numbers: dict[Value, float] = {}
    for op in body.walk():
        number = _number(op, numbers)
        if number is not None and LEAST <= abs(number) <= 1 / LEAST:
            numbers[op.result] = number
            found.add(op.result)
        if op.name == "add" and any(
            _is_number(o) and LEAST <= o <= most  # type: ignore[operator]
            for o in op.operands
        ):
            raised.update(op.results)
        elif _is_root(op) and op.operands[0] in raised or _keeps(op) and op.operands[-1] in found:
            found.update(op.results)
    return frozenset(found)


def _number(op: Op, numbers: Mapping[Value, float]) -> float | None:
    """The number that an array is filled with, or that arithmetic makes of such and of numbers."""
    if op.name in ("full", "full_like"):
        value = op.attrs["value"]
        return float(value) if _is_number(value) else None
    known: list[Any] = [numbers.get(o) if isinstance(o, Value) else o for o in op.operands]
    if op.name not in ("mul", "div", "neg") or not all(map(_is_number, known)):
        return None
    if op.name == "neg":
        return -float(known[0])
    a, b = map(float, known)
    return a * b if op.name == "mul" else a / b if b else None


def _is_number(operand: AnyOperand | None) -> bool:
    return isinstance(operand, (int, float)) and not isinstance(operand, bool)


def _is_root(op: Op) -> bool:
    return op.name in ("sqrt", "rsqrt") or op.name == "pow" and op.operands[1] in (0.5, -0.5)


def _keeps(op: Op) -> bool:
    """Whether the result is as moderate as the last operand."""
    only = len(op.operands) == 1 and op.name in MOVES
    return only or op.name == "div" and _is_number(op.operands[0])
