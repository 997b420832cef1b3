"""Recognition of masks: a product with a mask is a choice, as the mask's zeros discard elements."""

from __future__ import annotations

from autodiff_compiler.ir.nodes import AnyOperand, Op, Value
from autodiff_compiler.ir.rewrite import Producers
from autodiff_compiler.ir.types import ArrayType


def has_mask(op: Op, makers: Producers) -> bool:
    """True if ``op`` is a product with a mask."""
    masks = op.name == "relu" or any(is_mask(each, makers) for each in op.operands)
    return masks and op.name in ("relu", "mul")


def is_mask(operand: AnyOperand, makers: Producers) -> bool:
    """True if ``operand`` holds only zeros and ones, from a comparison."""
    if not isinstance(operand, Value) or not isinstance(operand.type, ArrayType):
        return False
    op = makers.get(operand)
    if operand.type.dtype == "bool":
        return True
    moves = ("cast", "reshape", "expand_dims", "broadcast_to", "copy")
    return op is not None and op.name in moves and is_mask(op.operands[0], makers)
