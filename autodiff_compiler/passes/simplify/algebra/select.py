"""Rules for select (``where``) in a derivative.

Each branch of a choice gets its part of a cotangent, with zeros for the rest. Their sum is one
choice again. A factor of a choice between single numbers moves into the choice. Only the sign of a
zero that is added to another one may change. The user's own operations are not changed.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> before = parse_function('''
... func @f(%c: bool[8,9], %d: f32[]) -> (f32[8,9]) {
...   %a: f32[8,9] = where %c, %d, 0.0  # adjoint
...   %u: f32[8,9] = mul %a, 0.9  # adjoint
...   %b: f32[8,9] = where %c, 0.0, %d  # adjoint
...   %v: f32[8,9] = neg %b  # adjoint
...   %y: f32[8,9] = add %u, %v  # adjoint
...   return %y
... }
... ''')
>>> print(print_function(dce(simplify_algebra(before))), end='')
func @f(%c: bool[8,9], %d: f32[]) -> (f32[8,9]) {
  %scaled_d: f32[] = mul %d, 0.9                          # adjoint
  %minus_d: f32[] = neg %d                                # adjoint
  %y: f32[8,9] = where %c, %scaled_d, %minus_d            # adjoint
  return %y
}
"""

from __future__ import annotations

import math
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import AnyOperand, Op, Value, is_real_literal, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import ArrayType, is_floating
from autodiff_compiler.passes.core.patterns import Match, Rule


def _is_single(operand: AnyOperand) -> bool:
    """True if ``operand`` is a number, or an array without axes."""
    type_ = type_of(operand)
    return not isinstance(type_, ArrayType) or type_.shape == ()


def _is_factor(operand: AnyOperand) -> bool:
    """True if ``operand`` is a finite literal and not 0: only 0 times it is 0."""
    return is_real_literal(operand) and math.isfinite(operand) and operand != 0


def _is_zero(operand: AnyOperand) -> bool:
    return is_real_literal(operand) and operand == 0


def _choice(match: Match, operand: AnyOperand) -> Op | None:
    """Returns the choice between floats that made ``operand``, if nothing else reads it."""
    op = match.made_by(operand, "where")
    if op is None or match.uses.get(operand) != 1 or not is_floating(op.result.type):
        return None
    return op if getattr(type_of(op.operands[0]), "dtype", "") == "bool" else None


def _parts(match: Match, operand: AnyOperand, depth: int = 0) -> tuple[Any, Any, Any] | None:
    """Returns the condition and both branches of ``operand``, one of which is 0, or None."""
    if not isinstance(operand, Value) or match.uses.get(operand) != 1:
        return None
    if depth >= costs().choice_search_levels:
        return None
    if (op := _choice(match, operand)) is not None:
        condition, then, orelse = op.operands
        return (condition, then, orelse) if _is_zero(then) != _is_zero(orelse) else None
    if (op := match.made_by(operand, "neg")) is not None:
        parts = _parts(match, op.operands[0], depth + 1)
        return parts and _negative(parts)
    if (op := match.made_by(operand, "mul")) is not None:
        for inner, factor in (op.operands, op.operands[::-1]):
            parts = _parts(match, inner, depth + 1) if _is_factor(factor) else None
            if parts is not None:
                c, *branches = parts
                return (c, *[x * factor if isinstance(x, Value) else x for x in branches])
    return None


def _joined(match: Match) -> Any:
    """Returns ``where(c, a, b)`` for ``where(c, a, 0) + where(c, 0, b)``, perhaps times numbers."""
    type_ = match.op.result.type
    if match.op.role == "primal" or any(type_of(operand) != type_ for operand in match.operands):
        return None
    one, other = (_parts(match, operand) for operand in match.operands)
    if one is None or other is None or one[0] is not other[0]:
        return None
    if match.op.name == "sub":
        other = _negative(other)
    if not isinstance(one[1], Value):
        one, other = other, one
    c, a, b = one[0], one[1], other[2]
    return OPERATORS["where"](c, a, b) if isinstance(a, Value) and isinstance(b, Value) else None


def _negative(parts: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    c, *branches = parts
    return (c, *[-branch if isinstance(branch, Value) else branch for branch in branches])


def _within(match: Match) -> Any:
    """Returns ``where(c, k * a, k * b)`` for ``k * where(c, a, b)`` of single numbers."""
    if match.op.role == "primal":
        return None
    for operand in match.operands:
        op = _choice(match, operand)
        if op is None or op.result.type != match.op.result.type:
            continue
        c, *branches = op.operands
        others = [each for each in match.operands if each is not operand]
        if all(map(_is_single, branches)) and all(map(_is_factor, others)):
            return OPERATORS["where"](c, *[_times(branch, others) for branch in branches])
    return None


def _times(branch: Any, factors: list[Any]) -> Any:
    if _is_zero(branch):
        return branch  # not -0.0, which is no mask
    return branch * factors[0] if factors else -branch


SELECT = (
    Rule("choice of two parts", "add", _joined),
    Rule("choice less choice", "sub", _joined),
    Rule("number times choice", "mul", _within),
    Rule("sign of choice", "neg", _within),
)
