"""Idiom recognition: a softmax whose source subtracts the maximum of each row.

The operator subtracts the maximum by itself. Its result does not depend on a number that is
subtracted from a whole row. As one operator it has the short derivative: no gradient flows through
the maximum. The bits of the result are the same.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> before = parse_function('''
... func @f(%x: f32[8,9]) -> (f32[8,9]) {
...   %m: f32[8,1] = max %x {axes=(1,), first=True, keepdims=True}
...   %z: f32[8,9] = sub %x, %m
...   %e: f32[8,9] = exp %z
...   %t: f32[8,1] = sum %e {axes=(1,), keepdims=True}
...   %y!: f32[8,9] = div %e, %t
...   return %y
... }
... ''')
>>> print(print_function(dce(simplify_algebra(before))), end='')
func @f(%x: f32[8,9]) -> (f32[8,9]) {
  %y!: f32[8,9] = softmax %x {axis=1}
  return %y
}
"""

from __future__ import annotations

from typing import Any

from autodiff_compiler.ir.nodes import AnyOperand, Op, array_type
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.passes.core.patterns import Match, Rule


def subtracted_max(match: Match, operand: AnyOperand) -> Op | None:
    """Returns the ``max`` of x if ``operand`` is ``x - max(x)``, else None."""
    shifted = match.made_by(operand, "sub")
    largest = None if shifted is None else match.made_by(shifted.operands[1], "max")
    if shifted is None or largest is None or largest.operands[0] is not shifted.operands[0]:
        return None
    return largest


def _axis(op: Op) -> int | None:
    """Returns the single axis that ``op`` reduces and keeps, else None."""
    axes, rank = op.attrs["axes"], getattr(op.types[0], "ndim", None)
    if not axes or len(axes) != 1 or not rank or not op.attrs["keepdims"]:
        return None
    axis: int = axes[0] % rank
    return axis


def _of_shifted(match: Match) -> Any:
    largest = subtracted_max(match, match.operands[0])
    if largest is None or (max_axis := _axis(largest)) is None:
        return None
    x, axis = largest.operands[0], match.op.attrs["axis"]
    return match.op.opdef(x, axis=axis) if max_axis == axis % len(array_type(x).dims) else None


def _by_hand(match: Match) -> Any:
    power, total = match.made_by(match.operands[0], "exp"), match.made_by(match.operands[1], "sum")
    if power is None or total is None or total.operands[0] is not power.result:
        return None
    if match.uses.get(total.result) != 1:
        return None  # the exponentials are computed in any case
    largest = subtracted_max(match, power.operands[0])
    if largest is None or _axis(total) is None or _axis(total) != _axis(largest):
        return None
    return OPERATORS["softmax"](largest.operands[0], axis=_axis(total))


SOFTMAX = (
    Rule("softmax of shifted", "softmax", _of_shifted),
    Rule("log_softmax of shifted", "log_softmax", _of_shifted),
    Rule("softmax by hand", "div", _by_hand),
)
