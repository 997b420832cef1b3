"""Rows for a softmax whose writer has seen to overflow: ``simplify_algebra`` applies them.

A softmax takes the largest of each row away by itself, and does not see what was taken away from
all of a row before. As one operator it has the short derivative: nothing flows through the largest.
The bits are the same.

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

from autodiff_compiler.ir.nodes import AnyOperand, Op, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.passes.core.patterns import Match, Rule


def less_largest(match: Match, operand: AnyOperand) -> Op | None:
    """The ``max`` of x where ``operand`` is x less that."""
    shifted = match.made_by(operand, "sub")
    largest = None if shifted is None else match.made_by(shifted.operands[1], "max")
    same = largest is not None and largest.operands[0] is shifted.operands[0]  # type: ignore[union-attr]
    return largest if same else None


def _axis(op: Op) -> int | None:
    """The one axis that ``op`` reduces and keeps."""
    axes, rank = op.attrs["axes"], getattr(op.types[0], "ndim", None)
    if not axes or len(axes) != 1 or not rank or not op.attrs["keepdims"]:
        return None
    return axes[0] % rank


def _of_shifted(match: Match) -> Any:
    largest = less_largest(match, match.operands[0])
    if largest is None or _axis(largest) is None:
        return None
    x, axis = largest.operands[0], match.op.attrs["axis"]
    return match.op.opdef(x, axis=axis) if _axis(largest) == axis % type_of(x).ndim else None  # type: ignore[attr-defined]


def _by_hand(match: Match) -> Any:
    power, total = match.made_by(match.operands[0], "exp"), match.made_by(match.operands[1], "sum")
    if power is None or total is None or total.operands[0] is not power.result:
        return None
    if match.uses.get(total.result) != 1:
        return None  # the exponentials are made for others anyway
    largest = less_largest(match, power.operands[0])
    if largest is None or _axis(total) is None or _axis(total) != _axis(largest):
        return None
    return OPERATORS["softmax"](largest.operands[0], axis=_axis(total))


SOFTMAX = (
    Rule("softmax of what is shifted", "softmax", _of_shifted),
    Rule("log_softmax of what is shifted", "log_softmax", _of_shifted),
    Rule("softmax by hand", "div", _by_hand),
)
